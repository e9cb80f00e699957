// The pages of the window, in the rail's order. A new page has its folder here and its line in
// pages.cpp.
#pragma once

#include "app/desktop/pages/page.h"

#include <QStringList>
#include <vector>

namespace shardscope::desktop {

/// As many have a digit as their key; the palette leads to the others.
inline constexpr int kPageKeys = 9;

/// With their names in the language of now.
[[nodiscard]] std::vector<PageEntry> allPages();
[[nodiscard]] QStringList pageIds();

}  // namespace shardscope::desktop
