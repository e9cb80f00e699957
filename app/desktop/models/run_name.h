// What the user calls a run, as one printable line. Pure.
#pragma once

#include "storage/model/run_facts.h"

#include <QString>
#include <vector>

namespace shardscope::desktop {

/// Empty: it has no name.
[[nodiscard]] QString runName(const std::vector<FactRow>& facts);
/// Its tags as one text; empty: it has none.
[[nodiscard]] QString runTags(const std::vector<FactRow>& facts);

}  // namespace shardscope::desktop
