#include "app/desktop/models/format.h"

#include <QLocale>
#include <array>
#include <cmath>
#include <cstdlib>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr QChar kMinus{u'\u2212'};
constexpr QChar kThinSpace{u'\u2009'};

QLocale screenLocale() {
    return {QLocale::English, QLocale::UnitedStates};
}

QString withMinus(QString text) {
    return text.replace(u'-', kMinus);
}

struct Scale {
    double factor;
    const char16_t* unit;
};

template <std::size_t N>
ValueText scaled(double value, const std::array<Scale, N>& scales) {
    const double magnitude = std::abs(value);
    for (const Scale& scale : scales) {
        // 999.6 must become "1.00 s", not "1,000 ms"
        if (magnitude >= scale.factor * 0.9995 || &scale == &scales.back()) {
            return {formatNumber(value / scale.factor), QString::fromUtf16(scale.unit)};
        }
    }
    return {};
}

}  // namespace

QString ValueText::joined() const {
    return unit.isEmpty() ? number : number + kThinSpace + unit;
}

QString formatNumber(double value, int significant) {
    if (!std::isfinite(value)) return unknownText();
    if (value == 0.0) return u"0"_s;
    // the exponent after rounding: 0.9999 has one digit before the point, as 1.00
    const QString rounded = QString::number(value, 'e', significant - 1);
    const int exponent = rounded.section(u'e', 1).toInt();
    const int decimals = std::max(0, significant - 1 - exponent);
    if (decimals > 9) return withMinus(screenLocale().toString(value, 'e', significant - 1));
    return withMinus(screenLocale().toString(value, 'f', decimals));
}

QString formatTick(double value, double step) {
    if (value == 0.0) return u"0"_s;
    int decimals = 0;
    for (double unit = std::abs(step); decimals < 9 && unit > 0 && unit < 0.9999; unit *= 10)
        ++decimals;
    return withMinus(screenLocale().toString(value, 'f', decimals));
}

QString formatCount(std::int64_t count) {
    return withMinus(screenLocale().toString(static_cast<qlonglong>(count)));
}

ValueText durationText(Duration duration) {
    static constexpr std::array<Scale, 4> kScales{
        {{1e9, u"s"}, {1e6, u"ms"}, {1e3, u"µs"}, {1, u"ns"}}};
    if (duration.ns == 0) return {u"0"_s, u"ms"_s};
    return scaled(static_cast<double>(duration.ns), kScales);
}

QString formatDuration(Duration duration) {
    return durationText(duration).joined();
}

ValueText bytesText(Bytes bytes) {
    static constexpr std::array<Scale, 5> kScales{{{1099511627776.0, u"TiB"},
                                                   {1073741824.0, u"GiB"},
                                                   {1048576.0, u"MiB"},
                                                   {1024.0, u"KiB"},
                                                   {1.0, u"B"}}};
    if (bytes.count == 0) return {u"0"_s, u"MiB"_s};
    return scaled(static_cast<double>(bytes.count), kScales);
}

QString formatBytes(Bytes bytes) {
    return bytesText(bytes).joined();
}

ValueText siText(double value, const QString& unit) {
    static constexpr std::array<Scale, 8> kScales{{{1e15, u"P"},
                                                   {1e12, u"T"},
                                                   {1e9, u"G"},
                                                   {1e6, u"M"},
                                                   {1e3, u"k"},
                                                   {1, u""},
                                                   {1e-3, u"m"},
                                                   {1e-6, u"µ"}}};
    if (value == 0.0) return {u"0"_s, unit};
    ValueText text = scaled(value, kScales);
    text.unit += unit;
    return text;
}

QString formatSi(double value, const QString& unit) {
    return siText(value, unit).joined();
}

QString formatCounter(double value, const QString& unit) {
    if (unit == u"bytes") return formatBytes({std::llround(value)});
    if (unit == u"ns") return formatDuration({std::llround(value)});
    if (unit == u"1") return formatPercent(value);
    if (unit == u"degC") return ValueText{formatNumber(value), u"°C"_s}.joined();
    if (unit == u"bytes/s") return formatSi(value, u"B/s"_s);
    if (unit == u"Hz" || unit == u"W" || unit == u"J") return formatSi(value, unit);
    return ValueText{formatNumber(value), unit}.joined();
}

QString formatPercent(double fraction) {
    const double percent = std::abs(fraction) * 100;
    if (percent > 0 && percent < 0.01) return u"< "_s + ValueText{u"0.01"_s, u"%"_s}.joined();
    if (percent < 1)
        return ValueText{
            withMinus(screenLocale().toString(fraction * 100, 'f', percent > 0 ? 2 : 0)), u"%"_s}
            .joined();
    return ValueText{formatNumber(fraction * 100), u"%"_s}.joined();
}

QString formatSignedPercent(double fraction) {
    const double percent = std::round(fraction * 1000) / 10;
    if (percent == 0.0) return ValueText{u"0"_s, u"%"_s}.joined();
    const QString number = withMinus(screenLocale().toString(percent, 'f', 1));
    return ValueText{percent > 0 ? u'+' + number : number, u"%"_s}.joined();
}

QString formatInstant(Timestamp time, Duration resolution) {
    int decimals = 0;
    for (double step = 1e9; decimals < 9 && static_cast<double>(resolution.ns) < step; step /= 10) {
        ++decimals;
    }
    return ValueText{withMinus(QString::number(time.seconds(), 'f', decimals)), u"s"_s}.joined();
}

QString formatLayer(LayerIndex layer) {
    if (layer == kNoLayer) return unknownText();
    if (layer == kRootLayer) return u"embedding and head"_s;
    return u"block %1"_s.arg(layer.value);
}

QString unknownText() {
    return u"–"_s;
}

QString fromUtf8(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

}  // namespace shardscope::desktop
