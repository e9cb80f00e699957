// What people write to name a part of a recording: steps, and stretches of time.
#pragma once

#include "storage/model/result.h"
#include "storage/model/units.h"

#include <string>

namespace shardscope::cli {

/// "BEGIN:END" on the recording's clock, like "1.5:2" or "200ms:350ms"; seconds without a unit (s,
/// ms, us, ns). kUsage with a sentence.
[[nodiscard]] Result<TimeRange> parseTimeRange(const std::string& text);

}  // namespace shardscope::cli
