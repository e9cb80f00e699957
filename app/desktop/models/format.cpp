#include "app/desktop/models/format.h"

#include "storage/model/plain_text.h"

#include <QLocale>
#include <cmath>

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

/// As the screen sets it.
ValueText shown(const QuantityText& text) {
    return {withMinus(fromUtf8(text.number)), fromUtf8(text.unit)};
}

ValueText shown(double value, Unit unit) {
    return shown(quantityText(value, unit, Digits::kScreen));
}

}  // namespace

QString ValueText::joined() const {
    return unit.isEmpty() ? number : number + kThinSpace + unit;
}

QString formatNumber(double value, int significant) {
    return withMinus(fromUtf8(significantText(value, significant)));
}

QString formatQuantity(double value, Unit unit) {
    return shown(value, unit).joined();
}

QString formatTick(double value, double step) {
    if (value == 0.0) return u"0"_s;
    int decimals = 0;
    for (double unit = std::abs(step); decimals < 9 && unit > 0 && unit < 0.9999; unit *= 10)
        ++decimals;
    return withMinus(screenLocale().toString(value, 'f', decimals));
}

QString formatCounted(std::int64_t count, std::string_view what) {
    return fromUtf8(counted(count, what));
}

QString formatCount(std::int64_t count) {
    return withMinus(fromUtf8(countText(count)));
}

ValueText durationParts(Duration duration) {
    return shown(static_cast<double>(duration.ns), Unit::kNanoseconds);
}

QString formatDuration(Duration duration) {
    return durationParts(duration).joined();
}

QString formatLongTime(Duration duration) {
    const auto whole = std::llround(static_cast<double>(duration.ns) / 1e9);
    if (whole < 100) return u"%1 s"_s.arg(whole);
    if (whole < 3600) return u"%1 min %2 s"_s.arg(whole / 60).arg(whole % 60);
    return u"%1 h %2 min"_s.arg(formatCount(whole / 3600)).arg(whole % 3600 / 60);
}

QString formatSignedDuration(Duration duration) {
    return (duration.ns > 0 ? u"+"_s : QString()) + formatDuration(duration);
}

ValueText bytesParts(Bytes bytes) {
    return shown(static_cast<double>(bytes.count), Unit::kBytes);
}

QString formatBytes(Bytes bytes) {
    return bytesParts(bytes).joined();
}

ValueText siText(double value, const QString& unit) {
    return shown(shardscope::siText(value, unit.toStdString(), Digits::kScreen));
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
    return formatQuantity(fraction * 100, Unit::kPercent);
}

QString formatSignedPercent(double fraction) {
    return formatQuantity(fraction * 100, Unit::kChange);
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

QString wholeName(const QString& name) {
    return name.startsWith(u"_Z"_s) ? fromUtf8(demangled(name.toStdString())) : name;
}

QString unknownText() {
    return u"–"_s;
}

QString fromUtf8(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

}  // namespace shardscope::desktop
