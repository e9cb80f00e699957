// Whole numbers of a line of /proc. Internal to collectors/host.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace shardscope::collectors {

/// The first `kCount`, with blanks between them; nothing where there are fewer.
template <std::size_t kCount>
[[nodiscard]] std::optional<std::array<std::int64_t, kCount>> numbersIn(std::string_view line) {
    std::array<std::int64_t, kCount> numbers{};
    for (std::int64_t& number : numbers) {
        const std::size_t begin = line.find_first_not_of(' ');
        if (begin == std::string_view::npos) return std::nullopt;
        line.remove_prefix(begin);
        const auto read = std::from_chars(line.data(), line.data() + line.size(), number);
        if (read.ec != std::errc{}) return std::nullopt;
        line.remove_prefix(static_cast<std::size_t>(read.ptr - line.data()));
    }
    return numbers;
}

}  // namespace shardscope::collectors
