// `shardscope report --dashboard`: drawn by shardscope-desktop, which knows Qt.
#pragma once

#include "app/cli/open_recording.h"

#include <string>

namespace shardscope::cli {

struct DashboardOptions {
    std::string output;  ///< .png, .svg or .pdf; empty: none is asked for
    std::string paper, size, theme;
    bool force = false;  ///< replaces a picture of the same kind
};

/// Runs the shardscope-desktop beside this program and waits for it. Its exit status; kFailure with
/// a sentence where there is none, or it cannot start.
[[nodiscard]] int drawDashboard(const RecordingPlace& place, const DashboardOptions& options);

}  // namespace shardscope::cli
