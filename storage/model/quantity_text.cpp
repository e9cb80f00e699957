#include "storage/model/quantity_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace shardscope {
namespace {

/// The largest first.
struct Scale {
    double factor;
    const char* unit;
    int decimals;  ///< in text
};
constexpr double kKibi = 1024, kMebi = kKibi * kKibi;
constexpr Scale kTimes[] = {{1e9, "s", 2}, {1e6, "ms", 2}, {1e3, "µs", 1}, {1, "ns", 0}};
constexpr Scale kBinary[] = {
    {kMebi * kMebi, "TiB", 1},
    {kMebi * kKibi, "GiB", 1},
    {kMebi, "MiB", 1},
    {kKibi, "KiB", 1},
    {1, "B", 0},
};
constexpr Scale kPrefixes[] = {
    {1e15, "P", 2}, {1e12, "T", 2}, {1e9, "G", 2},  {1e6, "M", 2},  {1e3, "k", 2},
    {1, "", 2},     {1e-3, "m", 2}, {1e-6, "µ", 2}, {1e-9, "n", 2},
};

/// Of groups of three: "1234567.5" -> "1,234,567.5".
std::string withCommas(std::string number) {
    const std::size_t sign = number.starts_with('-') ? 1 : 0;
    for (std::size_t at = std::min(number.find('.'), number.size()); at > sign + 3; at -= 3)
        number.insert(at - 3, 1, ',');
    return number;
}

/// In the largest unit of which there is one at least, as far as its digits show: 999.6 ms is
/// "1.00 s" on the screen, not "1,000 ms".
const Scale& scaleOf(double value, std::span<const Scale> scales, Digits digits) {
    const double size = std::abs(value) / (digits == Digits::kScreen ? 0.9995 : 0.99995);
    return *std::find_if(scales.begin(), scales.end() - 1,
                         [size](const Scale& each) { return size >= each.factor; });
}

QuantityText scaled(double value, std::span<const Scale> scales, Digits digits) {
    const Scale& scale = scaleOf(value, scales, digits);
    const double number = value / scale.factor;
    return {digits == Digits::kScreen ? significantText(number)
                                      : fmt::format("{:.{}f}", number, scale.decimals),
            scale.unit};
}

QuantityText timeText(double ns, Digits digits) {
    if (ns == 0 && digits == Digits::kScreen) return {"0", "ms"};
    return scaled(ns, kTimes, digits);
}

QuantityText binaryText(double bytes, Digits digits) {
    if (bytes == 0 && digits == Digits::kScreen) return {"0", "MiB"};
    return scaled(bytes, kBinary, digits);
}

/// The screen says of little that it is some, without digits that nobody reads.
QuantityText percentText(double percent, Digits digits) {
    if (digits == Digits::kText) return {fmt::format("{:.2f}", percent), "%"};
    const double size = std::abs(percent);
    if (size > 0 && size < 0.01) return {"< 0.01", "%"};
    if (size < 1) return {fmt::format("{:.{}f}", percent, size > 0 ? 2 : 0), "%"};
    return {significantText(percent), "%"};
}

/// "x 12.3", for people who would otherwise count the digits of a percentage; of a base that is
/// next to nothing the factor says no more than that.
QuantityText growthText(double factor) {
    constexpr double kMost = 1000;
    if (factor > kMost) return {"> x 1,000", ""};
    return {"x " + significantText(factor), ""};
}

QuantityText changeText(double percent, Digits digits) {
    constexpr double kLargest = 1000;
    if (percent > kLargest) return growthText(1 + percent / 100);
    if (digits == Digits::kText) return {fmt::format("{:+.2f}", percent), "%"};
    const double rounded = std::round(percent * 10) / 10;
    return {rounded == 0 ? "0" : fmt::format("{:+.1f}", rounded), "%"};
}

/// With a plus before what is more than nothing; in text before nothing too.
QuantityText withSign(QuantityText text, double value, Digits digits) {
    if (value > 0 || (value == 0 && digits == Digits::kText)) text.number.insert(0, 1, '+');
    return text;
}

std::string plainNumber(double value, Digits digits) {
    return digits == Digits::kText ? fmt::format("{:.4g}", value) : significantText(value);
}

}  // namespace

std::string QuantityText::joined() const {
    return unit.empty() ? number : number + ' ' + unit;
}

QuantityText quantityText(double value, Unit unit, Digits digits) {
    constexpr double kMicrosecond = 1000;
    switch (unit) {
        case Unit::kNanoseconds:
            return timeText(value, digits);
        case Unit::kMicroseconds:
            return timeText(value * kMicrosecond, digits);
        case Unit::kSignedNanoseconds:
            return withSign(timeText(value, digits), value, digits);
        case Unit::kBytes:
            return binaryText(value, digits);
        case Unit::kSignedBytes:
            return withSign(binaryText(value, digits), value, digits);
        case Unit::kDecimalBytes:
            if (digits == Digits::kScreen) return siText(value, "B", digits);
            if (value == 0) return {"0", "B"};
            return value < 1e9 ? QuantityText{fmt::format("{:.5g}", value * 1e-6), "MB"}
                               : QuantityText{fmt::format("{:.5g}", value * 1e-9), "GB"};
        case Unit::kPercent:
        case Unit::kOfPeak:
            return percentText(value, digits);
        case Unit::kChange:
            return changeText(value, digits);
        case Unit::kBytesPerSecond:
            return siText(value, "B/s", digits);
        case Unit::kFlops:
            return siText(value, "FLOP/s", digits);
        case Unit::kFlop:
            return siText(value, "FLOP", digits);
        case Unit::kJoules:
            return siText(value, "J", digits);
        case Unit::kTokensPerSecond:
            if (digits == Digits::kScreen) return {significantText(value), "tok/s"};
            return {fmt::format("{:.0f}", value), "tokens/s"};
        case Unit::kCount:
            if (digits == Digits::kScreen) return {grouped(std::llround(value)), ""};
            break;
        case Unit::kNone:
        case Unit::kOfRow:
            break;
    }
    return {plainNumber(value, digits), ""};
}

QuantityText siText(double value, std::string_view unit, Digits digits) {
    if (value == 0 && digits == Digits::kScreen) return {"0", std::string(unit)};
    // nothing has no prefix
    QuantityText text = value == 0 ? QuantityText{"0.00", ""} : scaled(value, kPrefixes, digits);
    text.unit += unit;
    return text;
}

std::string bytesText(Bytes bytes) {
    return binaryText(static_cast<double>(bytes.count), Digits::kText).joined();
}

std::string durationText(Duration duration) {
    return timeText(static_cast<double>(duration.ns), Digits::kText).joined();
}

std::string decimalBytesText(double bytes) {
    return quantityText(bytes, Unit::kDecimalBytes).joined();
}

std::string sizeText(Bytes size) {
    const auto value = static_cast<double>(size.count);
    if (size.count == 0) return "0 B";
    const Scale& scale = scaleOf(value, kPrefixes, Digits::kScreen);
    return fmt::format("{:.3g} {}B", value / scale.factor, scale.unit);
}

std::string shareText(double part, double whole) {
    return whole == 0 ? "–" : fmt::format("{:.1f} %", 100 * part / whole);
}

std::string significantText(double value, int digits) {
    constexpr int kMostDecimals = 9;
    if (!std::isfinite(value)) return "–";
    if (value == 0) return "0";
    // the exponent after rounding: 0.9999 has one digit before the point, as 1.00
    const std::string rounded = fmt::format("{:.{}e}", value, digits - 1);
    const int exponent = std::stoi(rounded.substr(rounded.find('e') + 1));
    const int decimals = std::max(0, digits - 1 - exponent);
    if (decimals > kMostDecimals) return rounded;
    return withCommas(fmt::format("{:.{}f}", value, decimals));
}

std::string grouped(std::int64_t number) {
    return withCommas(std::to_string(number));
}

}  // namespace shardscope
