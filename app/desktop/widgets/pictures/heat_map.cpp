#include "app/desktop/widgets/pictures/heat_map.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/time_scale.h"
#include "app/desktop/widgets/painting.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kLabels = 64;  ///< left of the plot
constexpr int kBelow = 36;   ///< ticks and title
constexpr int kScaleRoom = 72;
constexpr double kRowRoom = 20;
constexpr double kColumnRoom = 48;
constexpr double kLowestRow = 3, kHighestRow = kRowRoom;

/// Which of `count` cells a pixel of `pixels` begins with.
std::size_t firstOf(int pixel, int pixels, std::size_t count) {
    return static_cast<std::size_t>(pixel) * count / static_cast<std::size_t>(pixels);
}

QImage imageOf(const HeatData& map, QSize size) {
    const std::size_t rows = map.rows.size(), columns = map.columns.size();
    const int high = std::min(static_cast<int>(rows), std::max(1, size.height()));
    const int wide = std::min(static_cast<int>(columns), std::max(1, size.width()));
    QImage image(std::max(1, wide), std::max(1, high), QImage::Format_ARGB32);
    image.fill(Qt::transparent);
    for (int y = 0; y < high && rows > 0; ++y) {
        for (int x = 0; x < wide && columns > 0; ++x) {
            float highest = -1;
            for (std::size_t r = firstOf(y, high, rows); r < firstOf(y + 1, high, rows); ++r)
                for (std::size_t c = firstOf(x, wide, columns); c < firstOf(x + 1, wide, columns);
                     ++c)
                    highest = std::max(highest, map.at(r, c));
            if (highest >= 0)
                image.setPixelColor(x, y, heatColour(static_cast<double>(highest / map.maximum)));
        }
    }
    return image;
}

}  // namespace

QColor heatColour(double share) {
    // viridis at equal distances (matplotlib, CC0)
    static constexpr std::array<QRgb, 9> kStops{0xff440154, 0xff472d7b, 0xff3b528b,
                                                0xff2c728e, 0xff21918c, 0xff28ae80,
                                                0xff5ec962, 0xffaddc30, 0xfffde725};
    const double place = std::clamp(share, 0.0, 1.0) * (kStops.size() - 1);
    const auto low = std::min(static_cast<std::size_t>(place), kStops.size() - 2);
    const double part = place - static_cast<double>(low);
    const auto mix = [&](int a, int b) {
        return static_cast<int>(std::lround(a + (b - a) * part));
    };
    const QRgb from = kStops[low], to = kStops[low + 1];
    return {mix(qRed(from), qRed(to)), mix(qGreen(from), qGreen(to)), mix(qBlue(from), qBlue(to))};
}

HeatMap::HeatMap(QWidget* parent) : Picture(parent, Qt::Horizontal, Cursor::kOfKeys) {}

void HeatMap::setMap(HeatData map) {
    m_map = std::move(map);
    const double row = std::clamp(
        480.0 / static_cast<double>(std::max<std::size_t>(1, m_map.rows.size())), 0.5, kHighestRow);
    setFixedHeight(
        static_cast<int>(std::ceil(std::max(row, m_map.rows.size() < 200 ? kLowestRow : row) *
                                   static_cast<double>(m_map.rows.size()))) +
        kBelow + 8);
    const auto most = std::max_element(m_map.values.begin(), m_map.values.end());
    const bool known = most != m_map.values.end() && *most >= 0;
    describe(tr("%1 by %2 and %3: %4 rows, %5 columns")
                 .arg(m_valueTitle, m_rowTitle, m_columnTitle)
                 .arg(m_map.rows.size())
                 .arg(columns()),
             known ? tr("highest: %1").arg(textOf(static_cast<int>(most - m_map.values.begin())))
                   : QString());
    m_image = {};
}

void HeatMap::setTitles(const QString& columns, const QString& rows, const QString& values) {
    m_columnTitle = columns;
    m_rowTitle = rows;
    m_valueTitle = values;
}

QRectF HeatMap::plot() const {
    return QRectF(rect()).adjusted(kLabels, 4, -kScaleRoom, -kBelow);
}

int HeatMap::itemAt(QPointF at) const {
    const QRectF area = plot();
    if (!area.contains(at) || m_map.values.empty()) return -1;
    const auto place = [](double share, std::size_t of) {
        return static_cast<int>(
            std::min(share * static_cast<double>(of), static_cast<double>(of) - 1));
    };
    return place((at.y() - area.top()) / area.height(), m_map.rows.size()) * columns() +
           place((at.x() - area.left()) / area.width(), m_map.columns.size());
}

QRectF HeatMap::placeOf(int cell) const {
    const QRectF area = plot();
    const double wide = area.width() / columns();
    const double high = area.height() / static_cast<double>(m_map.rows.size());
    return {area.left() + cell % columns() * wide, area.top() + cell / columns() * high,
            std::max(wide, 3.0), std::max(high, 3.0)};
}

QString HeatMap::textOf(int cell) const {
    const auto row = static_cast<std::size_t>(cell / columns());
    const auto column = static_cast<std::size_t>(cell % columns());
    const float value = m_map.at(row, column);
    return u"%1 · %2 %3: %4 %5"_s.arg(
        m_map.rows[row], m_columnTitle, m_map.columns[column],
        value < 0 ? unknownText() : formatPercent(static_cast<double>(value)), m_valueTitle);
}

/// From no cell to the first one; at an edge it stays.
std::optional<int> HeatMap::itemByKey(int key) const {
    const bool isAcross = key == Qt::Key_Left || key == Qt::Key_Right;
    if (count() == 0 || (!isAcross && key != Qt::Key_Up && key != Qt::Key_Down))
        return std::nullopt;
    if (cursor() < 0) return 0;
    const int row = cursor() / columns(), column = cursor() % columns();
    if (isAcross) return row * columns() + *movedCursor(key, column, columns(), Qt::Horizontal);
    const auto rows = static_cast<int>(m_map.rows.size());
    return *movedCursor(key, row, rows, Qt::Vertical) * columns() + column;
}

void HeatMap::activate(int cell) {
    Picture::activate(cell);
    Q_EMIT cellActivated(cell / columns(), cell % columns());
}

/// In the text's colour: the accent is lost among those of the map.
void HeatMap::paintCursor(QPainter& painter, const QRectF& place) const {
    const Theme& theme = Theme::of(this);
    paintFocus(painter, frame(), theme);
    painter.setPen(QPen(theme.text, 2));
    painter.drawRect(place);
}

void HeatMap::paintAxes(QPainter& painter, const QRectF& area) const {
    const Theme& theme = Theme::of(this);
    painter.setFont(textFont(kSmallPixels - 1));
    painter.setPen(theme.quietText);
    const auto rows = static_cast<double>(m_map.rows.size());
    const auto columns = static_cast<double>(m_map.columns.size());
    const int rowTicks = std::max(1, static_cast<int>(area.height() / kRowRoom));
    const auto rowStep = static_cast<std::size_t>(std::max(1.0, niceStep(rows, rowTicks)));
    for (std::size_t row = 0; row < m_map.rows.size(); row += rowStep) {
        const double y = area.top() + (static_cast<double>(row) + 0.5) * area.height() / rows;
        drawTabular(painter, QRectF(0, y - 8, kLabels - 8, 16), Qt::AlignRight | Qt::AlignVCenter,
                    m_map.rows[row]);
    }
    const int columnTicks = std::max(1, static_cast<int>(area.width() / kColumnRoom));
    const auto columnStep = static_cast<std::size_t>(std::max(1.0, niceStep(columns, columnTicks)));
    for (std::size_t column = 0; column < m_map.columns.size(); column += columnStep) {
        const double x = area.left() + (static_cast<double>(column) + 0.5) * area.width() / columns;
        drawTabular(painter, QRectF(x - 30, area.bottom() + 2, 60, 16), Qt::AlignHCenter,
                    m_map.columns[column]);
    }
    drawTabular(painter, QRectF(area.left(), area.bottom() + 18, area.width(), 16),
                Qt::AlignHCenter, m_columnTitle);
}

void HeatMap::paintScale(QPainter& painter, const QRectF& area) const {
    const QRectF bar(area.right() + 16, area.top(), 8, std::min(120.0, area.height()));
    for (int y = 0; y < static_cast<int>(bar.height()); ++y)
        painter.fillRect(QRectF(bar.left(), bar.bottom() - y - 1, bar.width(), 1),
                         heatColour(y / std::max(1.0, bar.height() - 1)));
    painter.setPen(Theme::of(this).quietText);
    const QRectF top(bar.right() + 4, bar.top() - 4, 44, 16);
    drawTabular(painter, top, Qt::AlignLeft, formatPercent(static_cast<double>(m_map.maximum)));
    if (bar.height() > 32)
        drawTabular(painter, QRectF(bar.right() + 4, bar.bottom() - 12, 44, 16), Qt::AlignLeft,
                    formatPercent(0));
}

/// Over the columns that do not stand out.
void HeatMap::paintVeil(QPainter& painter, const QRectF& area) const {
    if (m_map.shownTo <= m_map.shownFrom) return;
    const double wide = area.width() / columns();
    const double left = area.left() + wide * static_cast<double>(m_map.shownFrom);
    const double right = area.left() + wide * static_cast<double>(m_map.shownTo);
    QColor veil = Theme::of(this).window;
    veil.setAlphaF(0.6F);
    painter.fillRect(QRectF(area.topLeft(), QPointF(left, area.bottom())), veil);
    painter.fillRect(QRectF(QPointF(right, area.top()), area.bottomRight()), veil);
}

void HeatMap::paint(QPainter& painter) {
    if (m_map.values.empty()) return;
    const QRectF area = plot();
    const QSize pixels = (area.size() * painter.device()->devicePixelRatioF()).toSize();
    if (m_image.isNull() || m_imageFor != pixels) m_image = imageOf(m_map, pixels);
    m_imageFor = pixels;
    painter.drawImage(area, m_image);
    paintVeil(painter, area);
    paintAxes(painter, area);
    paintScale(painter, area);
}

}  // namespace shardscope::desktop
