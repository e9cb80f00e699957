// Quantities as text for people: which unit a value is shown in and with how many digits is decided
// here, for the command line, for sentences of findings and for the window alike.
//
// Pure functions. JSON and CSV have values as they are, in the unit that a column's key says.
#pragma once

#include "storage/model/units.h"

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace shardscope {

/// Of a value as it is computed and stored; people see it scaled.
enum class Unit : std::uint8_t {
    kNone,   ///< texts, and numbers without a unit: a rank, a step, a factor
    kCount,  ///< how many
    kNanoseconds,
    kMicroseconds,
    kBytes,         ///< shown in powers of 1024
    kDecimalBytes,  ///< as papers and data sheets have them: powers of 1000
    kPercent,       ///< 0 to 100 of what the definition says
    /// Percent of a peak or of another run, stated or measured: beyond 100 of a peak one is wrong.
    kOfPeak,
    kBytesPerSecond,
    kTokensPerSecond,
    kFlops,  ///< per second
    kFlop,   ///< how many
    kJoules,
    kChange,             ///< percent, with its sign; a factor of what has grown beyond 1,000 %
    kSignedNanoseconds,  ///< a difference
    kSignedBytes,
    kOfRow,  ///< said by the row's cell in the column "unit": "ns", "bytes", "tokens/s"
};

/// How many digits.
enum class Digits : std::uint8_t {
    kText,    ///< as many decimals as the unit has in text, so that columns align
    kScreen,  ///< three that are significant: cards and axes have little room
};

/// A number and its unit apart, so that each can be set on its own.
struct QuantityText {
    std::string number;
    std::string unit;
    /// "12.1 ms"; just the number without a unit.
    [[nodiscard]] std::string joined() const;
};

[[nodiscard]] QuantityText quantityText(double value, Unit unit, Digits digits = Digits::kText);
/// With an SI prefix from n to P: 4.1e10, "B/s" -> "41.00 GB/s".
[[nodiscard]] QuantityText siText(double value, std::string_view unit,
                                  Digits digits = Digits::kText);

/// "12.3 MiB"
[[nodiscard]] std::string bytesText(Bytes bytes);
/// "4.56 ms"
[[nodiscard]] std::string durationText(Duration duration);
/// "26.25 GB": powers of 1000, in five figures, as plans are compared.
[[nodiscard]] std::string decimalBytesText(double bytes);
/// "200 MB", "2.4 GB": the same in three figures, as people write sizes.
[[nodiscard]] std::string sizeText(Bytes size);
/// "12.3 %"; a dash where there is no whole.
[[nodiscard]] std::string shareText(double part, double whole);
/// "2,074", "83.4", "0.0123": so many significant digits, all of a whole number from 1,000 on.
[[nodiscard]] std::string significantText(double value, int digits = 3);

/// "-1,234,567"
[[nodiscard]] std::string grouped(std::int64_t number);
template <std::integral Number>
[[nodiscard]] std::string countText(Number count) {
    return grouped(static_cast<std::int64_t>(count));
}
/// "1 step", "1,200 steps"; of nouns whose plural ends in s.
template <std::integral Number>
[[nodiscard]] std::string counted(Number count, std::string_view what) {
    return countText(count).append(" ").append(what).append(count == 1 ? "" : "s");
}

}  // namespace shardscope
