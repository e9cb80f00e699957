// Decimal numbers of a trace, exactly: microseconds to nanoseconds without a double in between.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace shardscope::interchange {

struct Nanoseconds {
    std::int64_t value = 0;
    bool rounded = false;  ///< the text had digits below a nanosecond
};
/// A JSON number in microseconds ("4458676522690.655", "1.5e3"). Digits below a nanosecond are
/// rounded half away from zero. Nothing: no number, or 2^61 ns or beyond either way.
[[nodiscard]] std::optional<Nanoseconds> parseMicroseconds(std::string_view text);

/// A JSON integer; nothing when it has a fraction, an exponent, or does not fit.
[[nodiscard]] std::optional<std::int64_t> parseInteger(std::string_view text);

}  // namespace shardscope::interchange
