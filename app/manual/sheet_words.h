// Words of a dashboard's options, which both programs take: `shardscope report` hands them on to
// shardscope-desktop.
#pragma once

#include <array>

namespace shardscope::manual {

inline constexpr std::array kPapers{"a4", "a3", "letter"};  ///< the first unless said otherwise
inline constexpr std::array kThemes{"light", "dark"};

}  // namespace shardscope::manual
