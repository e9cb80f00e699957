// How a function on a stack reads, for flame graphs, details and exports alike.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace shardscope {

/// "nn/modules/linear.py(134): forward": without the folder that packages are installed in, as
/// Kineto names functions of Python. Only the name where the file is not known.
[[nodiscard]] std::string frameText(std::string_view file, std::int64_t line,
                                    std::string_view name);

}  // namespace shardscope
