// What people write to name a part of a recording: steps, and stretches of time.
#pragma once

#include "profiler/questions/question.h"
#include "profiler/questions/selection.h"
#include "storage/model/result.h"
#include "storage/model/units.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope::cli {

/// "BEGIN:END" on the recording's clock, like "1.5:2" or "200ms:350ms"; seconds without a unit (s,
/// ms, us, ns). kUsage with a sentence.
[[nodiscard]] Result<TimeRange> parseTimeRange(const std::string& text);

/// "500ms", "10s"; seconds without a unit. kUsage with a sentence that names the flag.
[[nodiscard]] Result<Duration> parseDuration(const std::string& text, const std::string& flag);

/// Of what follows --range, --steps ("2-5,9") and --ranks; empty: not given. kUsage with a
/// sentence.
[[nodiscard]] Result<questions::Selection> parseSelection(const std::string& range,
                                                          const std::string& steps,
                                                          const std::vector<std::uint32_t>& ranks);

/// What follows --faster: "link=2", "rank 1=1.3", "backward=1.2". kUsage with a sentence.
[[nodiscard]] Result<std::vector<questions::SpeedUp>> parseSpeedUps(
    const std::vector<std::string>& texts);

}  // namespace shardscope::cli
