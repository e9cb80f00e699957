// `shardscope export --format json`: a report as a file.
#pragma once

#include "app/cli/open_recording.h"
#include "storage/interchange/export.h"

#include <array>
#include <string>

namespace shardscope::cli {

inline constexpr std::array kReports{"overview", "info", "verification"};

/// Of the recording at `place` that `reader` reads. `report` is "overview" (what `report --json`
/// prints), "info" or "verification" (what `info --json` prints, without and with --verify). kUsage
/// for another, and for a part: reports are of whole recordings.
[[nodiscard]] Result<interchange::ExportAccount> exportReport(
    const RecordingPlace& place, const OpenedRecording& recording, const std::string& report,
    const interchange::ExportOptions& options);

}  // namespace shardscope::cli
