// Where keys lead a cursor that stands on one of several bars, columns or times. Pure.
#pragma once

#include <QtCore/qnamespace.h>

#include <optional>

namespace shardscope::desktop {

/// From place `from` of `count` (-1: nowhere yet) to the one before or after it by Left and Right,
/// or Up and Down, `stride` places on, and to the ends by Home and End; nullopt: `key` leads
/// nowhere.
[[nodiscard]] std::optional<int> movedCursor(int key, int from, int count,
                                             Qt::Orientation orientation, int stride = 1);

/// Enter or Space: does what a click there does.
[[nodiscard]] bool isActivation(int key);

}  // namespace shardscope::desktop
