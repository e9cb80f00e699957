// The style sheet of standard controls: flat fields and buttons in the theme's colours.
#pragma once

#include "app/desktop/widgets/theme.h"

#include <QString>

namespace shardscope::desktop {

[[nodiscard]] QString themeStyleSheet(const Theme& theme);

}  // namespace shardscope::desktop
