// Numbers as the screen sets them: a thin space before the unit and U+2212 for minus, of what
// storage/model/quantity_text.h says in three significant figures. Pure.
#pragma once

#include "storage/model/ids.h"
#include "storage/model/quantity_text.h"
#include "storage/model/units.h"

#include <QString>
#include <cstdint>
#include <optional>
#include <string_view>

namespace shardscope::desktop {

/// A number and its unit apart, so that cards can set them in different sizes.
struct ValueText {
    QString number;
    QString unit;
    /// "12.1 ms"; just the number without a unit.
    [[nodiscard]] QString joined() const;
};

/// "2,074", "83.4", "0.0123"; whole numbers from 1,000 on.
[[nodiscard]] QString formatNumber(double value, int significant = 3);
/// A value of an answer: "12.1 ms".
[[nodiscard]] QString formatQuantity(double value, Unit unit);
/// A tick of an axis whose ticks are `step` apart: as many decimals as the step needs.
[[nodiscard]] QString formatTick(double value, double step);
/// "214,306"
[[nodiscard]] QString formatCount(std::int64_t count);
/// "1 step", "1,200 steps"; of nouns whose plural ends in s.
[[nodiscard]] QString formatCounted(std::int64_t count, std::string_view what);
/// The unit follows the size: ns, µs, ms, s.
[[nodiscard]] ValueText durationParts(Duration duration);
[[nodiscard]] QString formatDuration(Duration duration);
/// "42 s", "10 min 21 s", "2 h 5 min": of what one waits for.
[[nodiscard]] QString formatLongTime(Duration duration);
/// "+1.20 s", "−302 ms", "0 ns"
[[nodiscard]] QString formatSignedDuration(Duration duration);
[[nodiscard]] ValueText bytesParts(Bytes bytes);
[[nodiscard]] QString formatBytes(Bytes bytes);
/// With an SI prefix from n to P: 4.1e10, "B/s" -> "41.0 GB/s".
[[nodiscard]] ValueText siText(double value, const QString& unit);
[[nodiscard]] QString formatSi(double value, const QString& unit);
/// A sample of a counter lane, by the lane's unit: "312 W", "1.98 GHz", "64 °C", "83.1 %".
[[nodiscard]] QString formatCounter(double value, const QString& unit);
/// 0.831 -> "83.1 %"
[[nodiscard]] QString formatPercent(double fraction);
/// "+0.8 %", "−3.1 %"
[[nodiscard]] QString formatSignedPercent(double fraction);
/// An instant with as many decimals as `resolution` can distinguish: "13.391204 s".
[[nodiscard]] QString formatInstant(Timestamp time, Duration resolution);
/// "block 3", "embedding and head", "–"
[[nodiscard]] QString formatLayer(LayerIndex layer);
/// Of a mangled name of C++ what it stands for; others as they are.
[[nodiscard]] QString wholeName(const QString& name);
/// An unknown value.
[[nodiscard]] QString unknownText();
[[nodiscard]] QString fromUtf8(std::string_view text);

}  // namespace shardscope::desktop
