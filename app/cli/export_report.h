// `shardscope export --format json`: a report as a file.
#pragma once

#include "storage/interchange/export.h"

#include <string>

namespace shardscope::cli {

/// `report` is "overview" (what `report --json` prints), "info" or "verification" (what
/// `info --json` prints, without and with --verify). kUsage for another, and for a part: reports
/// are of whole recordings.
[[nodiscard]] Result<interchange::ExportAccount> exportReport(
    const std::string& recording, const std::string& report,
    const interchange::ExportOptions& options);

}  // namespace shardscope::cli
