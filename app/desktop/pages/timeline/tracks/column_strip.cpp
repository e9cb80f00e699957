#include "app/desktop/pages/timeline/tracks/column_strip.h"

#include "app/desktop/models/format.h"

#include <algorithm>
#include <cmath>

namespace shardscope::desktop {
namespace {

/// Of a column: less cannot be made out in a picture.
constexpr double kFaint = 0.3;

double faintOnly(double covered) {
    return covered > 0 && covered < kFaint ? 0.75 : 0;
}

using namespace Qt::StringLiterals;

/// Up to the template's or the call's bracket; an operator's name may begin with one.
qsizetype endOfName(const QString& name) {
    qsizetype end = name.size();
    for (const QChar bracket : {u'<', u'('}) {
        const qsizetype at = name.indexOf(bracket, 1);
        if (at > 0) end = std::min(end, at);
    }
    return end;
}

/// "threading.py(1016): wait", "<built-in method wait of ...>", "nn.Module: Linear_3"
QString pythonName(const QString& name) {
    if (const qsizetype colon = name.indexOf("): "_L1); colon > 0) return name.mid(colon + 3);
    if (name.startsWith("nn.Module: "_L1)) return name.mid(11);
    if (!name.startsWith("<built-in "_L1)) return {};
    const QString rest = name.mid(10).section(u' ', 1, 1);
    return rest.endsWith(u'>') ? rest.chopped(1) : rest;
}

}  // namespace

ColumnStrip::ColumnStrip(int width, Mix mix, double fine)
    : m_width(std::max(1, width)),
      m_mix(mix),
      m_fine(fine),
      m_columns(static_cast<std::size_t>(std::ceil(m_width * fine))) {
    m_first = columns();
}

void ColumnStrip::addTo(Column& column, float weight, QRgb colour) {
    column.covered += weight;
    if (column.weights[0] <= 0 || column.colours[0] == colour) {
        column.colours[0] = colour;
        column.weights[0] += weight;
        return;
    }
    std::size_t at = 1;
    while (at + 1 < kColours && column.weights[at] > 0 && column.colours[at] != colour) ++at;
    // where there are more colours than places, the last one stands for the rest
    if (column.weights[at] <= 0) column.colours[at] = colour;
    column.weights[at] += weight;
}

void ColumnStrip::add(double left, double right, double share, QRgb colour) {
    left = std::max(left * m_fine, 0.0);
    right = std::min(right * m_fine, static_cast<double>(columns()));
    if (right <= left || share <= 0) return;
    const int first = static_cast<int>(left);
    const int end = std::min(columns(), static_cast<int>(std::ceil(right)));
    m_first = std::min(m_first, first);
    m_end = std::max(m_end, end);
    const auto addPart = [&](int x) {
        const double part = std::min(right, x + 1.0) - std::max(left, static_cast<double>(x));
        addTo(m_columns[static_cast<std::size_t>(x)], static_cast<float>(part * share), colour);
    };
    addPart(first);
    for (int x = first + 1; x < end - 1; ++x)
        addTo(m_columns[static_cast<std::size_t>(x)], static_cast<float>(share), colour);
    if (end - 1 > first) addPart(end - 1);
}

void ColumnStrip::clear() {
    if (!empty()) std::fill(m_columns.begin() + m_first, m_columns.begin() + m_end, Column{});
    m_first = columns();
    m_end = 0;
}

double ColumnStrip::coverage(int column) const {
    return std::min(1.0F, m_columns[static_cast<std::size_t>(column)].covered);
}

QRgb ColumnStrip::colour(int at) const {
    const Column& column = m_columns[static_cast<std::size_t>(at)];
    if (column.weights[1] <= 0) return column.colours[0];
    if (m_mix == Mix::kDominant) {
        const auto most = std::max_element(column.weights.begin(), column.weights.end());
        return column.colours[static_cast<std::size_t>(most - column.weights.begin())];
    }
    float red = 0, green = 0, blue = 0, sum = 0;
    for (std::size_t i = 0; i < kColours; ++i) {
        red += column.weights[i] * static_cast<float>(qRed(column.colours[i]));
        green += column.weights[i] * static_cast<float>(qGreen(column.colours[i]));
        blue += column.weights[i] * static_cast<float>(qBlue(column.colours[i]));
        sum += column.weights[i];
    }
    return qRgb(static_cast<int>(red / sum), static_cast<int>(green / sum),
                static_cast<int>(blue / sum));
}

QImage ColumnStrip::row(double (*strength)(double)) const {
    QImage image(m_end - m_first, 1, QImage::Format_ARGB32_Premultiplied);
    auto* pixels = reinterpret_cast<QRgb*>(image.scanLine(0));  // NOLINT: what QImage is made of
    for (int x = m_first; x < m_end; ++x) {
        const auto alpha = static_cast<int>(std::lround(strength(coverage(x)) * 255));
        QRgb& pixel = pixels[x - m_first];
        pixel = 0;
        if (alpha == 0) continue;
        const QRgb at = colour(x);
        pixel = alpha == 255 ? at | 0xff00'0000U
                             : qPremultiply(qRgba(qRed(at), qGreen(at), qBlue(at), alpha));
    }
    return image;
}

void ColumnStrip::paintRow(QPainter& painter, const QRectF& area,
                           double (*strength)(double)) const {
    if (empty()) return;
    painter.drawImage(QRectF(area.left() + m_first / m_fine, area.top(), (m_end - m_first) / m_fine,
                             area.height()),
                      row(strength));
}

void ColumnStrip::paint(QPainter& painter, const QRectF& area) const {
    paintRow(painter, area, [](double covered) { return covered; });
}

void ColumnStrip::paintTraces(QPainter& painter, const QRectF& area) const {
    paintRow(painter, area, faintOnly);
}

QString shortName(const QString& given) {
    const QString name = wholeName(given);
    if (const QString python = pythonName(name); !python.isEmpty()) return python;
    if (name.startsWith(u'<') || name.contains(": "_L1)) return name;
    // a sentence is not a signature
    const bool template_ = name.contains(u'<') || name.contains("::"_L1);
    const bool call = name.endsWith(u')') && name.contains(u'(');
    if (!template_ && !call) return name;
    const bool hasReturn = name.startsWith("void "_L1);
    if (!hasReturn && name.section(u'(', 0, 0).section(u'<', 0, 0).contains(u' ')) return name;
    QString function = name.left(endOfName(name));
    function = function.mid(function.lastIndexOf("::"_L1) + (function.contains("::"_L1) ? 2 : 1));
    if (hasReturn && function.startsWith("void "_L1)) function.remove(0, 5);
    function = function.trimmed();
    return function.isEmpty() ? name : function;
}

std::vector<QString> namesLongestFirst(const QString& name) {
    const QString whole = wholeName(name), brief = shortName(whole);
    if (brief == whole) return {whole};
    return {whole, brief};
}

}  // namespace shardscope::desktop
