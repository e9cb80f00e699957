// Sizes the timeline's parts agree on.
#pragma once

namespace shardscope::desktop {

inline constexpr int kLabelWidth = 136;      ///< names of lanes, at least
inline constexpr int kMostLabelWidth = 264;  ///< longer names are elided
inline constexpr int kRulerHeight = 40;      ///< time above, steps below
inline constexpr int kScrollStep = 48;       ///< of a notch of the wheel
inline constexpr double kZoomStep = 0.7;     ///< of a key or a notch
inline constexpr double kPanStep = 0.15;     ///< of what is in sight

}  // namespace shardscope::desktop
