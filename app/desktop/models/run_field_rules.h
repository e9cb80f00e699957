// Which fields of a run mean something beside the others. Pure.
#pragma once

#include "engine/control/run_config.h"

#include <QString>
#include <string_view>

namespace shardscope::desktop {

/// Why a field does not apply, in a few words: "HSDP only"; empty: it does.
[[nodiscard]] QString whyNot(const control::RunConfig& config, std::string_view key);

/// `config` with what does not apply as it is by itself, where it would be refused otherwise, and
/// else as in `base`: what cannot be chosen is not asked for.
[[nodiscard]] control::RunConfig settled(control::RunConfig config, const control::RunConfig& base);

}  // namespace shardscope::desktop
