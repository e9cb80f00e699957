// What the dashboard is made of. Loader thread.
#pragma once

#include "app/desktop/pages/dashboard/dashboard_model.h"
#include "storage/recording/read/recording_reader.h"

namespace shardscope::desktop {

/// Of the selected part, and of a typical step of its first rank. Reads that step's events.
Result<DashboardPtr> loadDashboard(storage::RecordingReader& reader, const PartPtr& part,
                                   const Targets& targets);

}  // namespace shardscope::desktop
