#include "storage/interchange/decimal.h"

#include <algorithm>
#include <charconv>

namespace shardscope::interchange {
namespace {

/// The year 2043 in Unix time.
constexpr std::int64_t kLimit = (std::int64_t{1} << 61) - 1;
/// Beyond it a number is zero or out of range, whatever its digits.
constexpr int kMostExponent = 10'000;

bool isDigit(char c) {
    return c >= '0' && c <= '9';
}

std::string_view takeDigits(std::string_view& text) {
    std::size_t count = 0;
    while (count < text.size() && isDigit(text[count])) ++count;
    const std::string_view digits = text.substr(0, count);
    text.remove_prefix(count);
    return digits;
}

/// "e-3" and the like; nothing when it is none.
std::optional<int> exponentOf(std::string_view text) {
    if (text.front() != 'e' && text.front() != 'E') return std::nullopt;
    text.remove_prefix(1);
    if (text.starts_with('+')) text.remove_prefix(1);
    int exponent = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return std::clamp(exponent, -kMostExponent, kMostExponent);
}

struct Digits {
    std::string_view whole;
    std::string_view fraction;
    [[nodiscard]] std::int64_t count() const {
        return static_cast<std::int64_t>(whole.size() + fraction.size());
    }
    [[nodiscard]] int at(std::int64_t index) const {
        const auto i = static_cast<std::size_t>(index);
        if (index < 0 || index >= count()) return 0;
        return (i < whole.size() ? whole[i] : fraction[i - whole.size()]) - '0';
    }
};

/// The digits with the decimal point before digit `point`.
std::optional<Nanoseconds> toInteger(const Digits& digits, std::int64_t point) {
    Nanoseconds result;
    for (std::int64_t i = 0; i < point; ++i) {
        if (result.value > kLimit / 10) return std::nullopt;
        result.value = result.value * 10 + digits.at(i);
        if (result.value == 0 && i >= digits.count()) break;
    }
    for (std::int64_t i = std::max<std::int64_t>(point, 0); i < digits.count(); ++i)
        result.rounded = result.rounded || digits.at(i) != 0;
    if (digits.at(point) >= 5) ++result.value;
    if (result.value > kLimit) return std::nullopt;
    return result;
}

/// Microseconds with up to three decimals, as profilers write them; nothing for anything else.
std::optional<Nanoseconds> parsePlain(std::string_view text) {
    constexpr std::size_t kMostWhole = 15;
    constexpr std::size_t kPlaces = 3;
    std::int64_t value = 0;
    std::size_t at = 0;
    const auto takeAll = [&](std::size_t most) {
        const std::size_t from = at;
        for (; at < text.size() && isDigit(text[at]) && at - from <= most; ++at)
            value = value * 10 + (text[at] - '0');
        return at - from;
    };
    const std::size_t whole = takeAll(kMostWhole);
    if (whole == 0 || whole > kMostWhole) return std::nullopt;
    std::size_t places = 0;
    if (at < text.size()) {
        if (text[at++] != '.') return std::nullopt;
        places = takeAll(kPlaces);
        if (places == 0 || places > kPlaces || at < text.size()) return std::nullopt;
    }
    for (; places < kPlaces; ++places) value *= 10;
    return Nanoseconds{value, false};
}

}  // namespace

std::optional<Nanoseconds> parseMicroseconds(std::string_view text) {
    if (const auto plain = parsePlain(text)) return plain;
    const bool negative = text.starts_with('-');
    if (negative) text.remove_prefix(1);
    Digits digits;
    digits.whole = takeDigits(text);
    if (digits.whole.empty()) return std::nullopt;
    if (text.starts_with('.')) {
        text.remove_prefix(1);
        digits.fraction = takeDigits(text);
        if (digits.fraction.empty()) return std::nullopt;
    }
    std::optional<int> exponent = 0;
    if (!text.empty()) exponent = exponentOf(text);
    if (!exponent) return std::nullopt;
    constexpr std::int64_t kNanosecondDigits = 3;
    auto result = toInteger(
        digits, static_cast<std::int64_t>(digits.whole.size()) + *exponent + kNanosecondDigits);
    if (result && negative) result->value = -result->value;
    return result;
}

std::optional<std::int64_t> parseInteger(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

}  // namespace shardscope::interchange
