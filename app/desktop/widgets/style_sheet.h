// The style sheet of standard controls: flat fields and buttons in the theme's colours.
#pragma once

#include <QString>

#include "app/desktop/widgets/theme.h"

namespace shardscope::desktop {

[[nodiscard]] QString themeStyleSheet(const Theme& theme);

}  // namespace shardscope::desktop
