// The dashboard drawn for paper and files: the window's composition, at another size. GUI thread;
// needs no display.
#pragma once

#include "app/desktop/pages/dashboard/dashboard_model.h"
#include "app/desktop/widgets/picture_file.h"

#include <QSize>

namespace shardscope::desktop {

/// As large as it fits into `size`, on the theme's background.
[[nodiscard]] DrawnPicture drawDashboard(const DashboardPtr& dashboard, QSize size, bool dark);

}  // namespace shardscope::desktop
