// Whole numbers as text for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace shardscope {

/// "-1,234,567"
[[nodiscard]] inline std::string grouped(std::int64_t number) {
    std::string text = std::to_string(number);
    const std::size_t sign = number < 0 ? 1 : 0;
    for (std::size_t at = text.size(); at > sign + 3; at -= 3) text.insert(at - 3, 1, ',');
    return text;
}

}  // namespace shardscope
