// The pages of the window, in the rail's order. A new page has its folder here and its line in
// pages.cpp.
#pragma once

#include "app/desktop/pages/page.h"

#include <QStringList>
#include <vector>

namespace shardscope::desktop {

[[nodiscard]] const std::vector<PageEntry>& allPages();
[[nodiscard]] QStringList pageIds();

}  // namespace shardscope::desktop
