#include "app/desktop/widgets/chart_panel.h"

#include "app/desktop/models/format.h"
#include "app/desktop/widgets/painting.h"

#include <QEvent>
#include <QPainter>
#include <QRegularExpression>
#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr double kHeader = 18;
constexpr double kCompactHeader = 2;

const QPointF* nearest(const QVector<QPointF>& points, double x) {
    if (points.isEmpty()) return nullptr;
    const auto after =
        std::lower_bound(points.begin(), points.end(), x,
                         [](const QPointF& point, double value) { return point.x() < value; });
    if (after == points.begin()) return &*after;
    const auto before = std::prev(after);
    if (after == points.end() || x - before->x() < after->x() - x) return &*before;
    return &*after;
}

/// The points of a stretch and one more at either side, so that lines reach the edge.
QVector<QPointF> within(const QVector<QPointF>& points, const AxisRange& range) {
    const auto byX = [](const QPointF& point, double value) { return point.x() < value; };
    auto first = std::lower_bound(points.begin(), points.end(), range.low, byX);
    auto last = std::lower_bound(first, points.end(), range.high, byX);
    if (first != points.begin()) --first;
    if (last != points.end()) ++last;
    if (last != points.end()) ++last;
    return {first, last};
}

struct Extent {
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();
    void add(double value, bool positive = false) {
        if (!std::isfinite(value) || (positive && value <= 0)) return;
        low = std::min(low, value);
        high = std::max(high, value);
    }
    [[nodiscard]] bool empty() const { return low > high; }
};

/// Powers of two, at most so many, evenly far from each other: 8 B, 128 B, 2 KiB ...
std::vector<double> kibibyteTicks(const AxisRange& range, int most) {
    const double low = std::ceil(std::log2(range.low)), high = std::floor(std::log2(range.high));
    const double every = std::max(1.0, std::ceil((high - low + 1) / std::max(1, most)));
    std::vector<double> ticks;
    for (double power = low; power <= high; power += every) ticks.push_back(std::exp2(power));
    return ticks;
}

QString kibibyteText(double kibibytes) {
    QString text = formatBytes({std::llround(kibibytes * 1024)});
    static const QRegularExpression kZeros(QStringLiteral("\\.0+(?=\\D|$)"));
    return text.remove(kZeros);
}

}  // namespace

ChartPanel::ChartPanel(QWidget* parent)
    : QWidget(parent), m_emptyText(tr("No value was reported.")) {
    setMouseTracking(true);
    setLayoutDirection(Qt::LeftToRight);  // as it is painted, in every language
    setFocusPolicy(Qt::StrongFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

void ChartPanel::setTitles(const QString& title, const QString& unit, const QString& bottomTitle) {
    m_title = title;
    m_unit = unit;
    m_bottomTitle = bottomTitle;
    rebuild();
}

void ChartPanel::setDefinition(const QString& definition) {
    m_definition = definition;
    describe();
    update();
}

void ChartPanel::setSeries(std::vector<LineSeries> series) {
    m_content.lines = std::move(series);
    rebuild();
}

void ChartPanel::setBands(std::vector<BandSeries> bands) {
    m_content.bands = std::move(bands);
    rebuild();
}

void ChartPanel::setHistogram(std::optional<Histogram> histogram) {
    m_content.histogram = std::move(histogram);
    rebuild();
}

void ChartPanel::setMarks(std::vector<ChartMark> vertical, std::vector<ChartMark> horizontal) {
    m_verticalMarks = std::move(vertical);
    m_horizontalMarks = std::move(horizontal);
    rebuild();
}

void ChartPanel::setRange(double low, double high) {
    m_range = AxisRange{low, high};
    rebuild();
}

void ChartPanel::setStartsAtZero(bool zero) {
    m_startsAtZero = zero;
    rebuild();
}

void ChartPanel::setLogarithmic(bool horizontal, bool vertical) {
    m_logX = horizontal;
    m_logY = vertical;
    rebuild();
}

void ChartPanel::setKibibytes(bool kibibytes) {
    m_kibibytes = kibibytes;
    rebuild();
}

void ChartPanel::setWholeNumbers(bool whole) {
    m_whole = whole;
    rebuild();
}

void ChartPanel::setCompact(bool compact) {
    m_compact = compact;
    setFocusPolicy(compact ? Qt::NoFocus : Qt::StrongFocus);
    setSizePolicy(QSizePolicy::Expanding, compact ? QSizePolicy::Fixed : QSizePolicy::Expanding);
    rebuild();
}

void ChartPanel::setNamed(bool named) {
    m_named = named;
    update();
}

void ChartPanel::setHighlight(std::optional<AxisRange> range) {
    m_highlight = range;
    update();
}

void ChartPanel::setEmptyText(const QString& text) {
    m_emptyText = text;
    describe();
    update();
}

void ChartPanel::rebuild() {
    m_stale = true;
    m_all = horizontalOfAll();
    m_vertical = verticalOf(horizontal());
    describe();
    update();
}

bool ChartPanel::isEmpty() const {
    const auto noPoints = [](const LineSeries& line) { return line.points.isEmpty(); };
    return std::all_of(m_content.lines.begin(), m_content.lines.end(), noPoints) &&
           m_content.bands.empty() && !m_content.histogram;
}

QRectF ChartPanel::plot() const {
    if (m_compact) return QRectF(rect()).adjusted(64, kCompactHeader, -12, -18);
    return QRectF(rect()).adjusted(64, kHeader + 14, -12, -40);
}

AxisRange ChartPanel::horizontalOfAll() const {
    Extent extent;
    for (const LineSeries& line : m_content.lines)
        for (const QPointF& point : line.points) extent.add(point.x(), m_logX);
    for (const BandSeries& band : m_content.bands)
        for (const QPointF& point : band.low) extent.add(point.x(), m_logX);
    if (m_content.histogram) {
        extent.add(m_content.histogram->low);
        extent.add(m_content.histogram->high());
        for (const ChartMark& mark : m_verticalMarks) extent.add(mark.value);
    }
    if (m_range) extent = {m_range->low, m_range->high};
    if (extent.empty()) extent = {m_logX ? 1.0 : 0.0, m_logX ? 10.0 : 1.0};
    if (m_logX) return {extent.low / 1.3, extent.high * 1.3, true};
    if (extent.high <= extent.low) extent.high = extent.low + 1;
    return {extent.low, extent.high};
}

AxisRange ChartPanel::verticalOf(const AxisRange& seen) const {
    Extent extent;
    for (const LineSeries& line : m_content.lines)
        for (const QPointF& point : within(line.points, seen)) extent.add(point.y(), m_logY);
    for (const BandSeries& band : m_content.bands) {
        for (const QPointF& point : within(band.low, seen)) extent.add(point.y(), m_logY);
        for (const QPointF& point : within(band.high, seen)) extent.add(point.y(), m_logY);
    }
    if (m_content.histogram)
        for (const double count : m_content.histogram->counts) extent.add(count);
    for (const ChartMark& mark : m_horizontalMarks) extent.add(mark.value, m_logY);
    if (extent.empty()) extent = {m_logY ? 1.0 : 0.0, m_logY ? 10.0 : 1.0};
    if (m_logY) return {extent.low / 1.1, extent.high * 1.1, true};
    const bool zero = m_startsAtZero || m_content.histogram;
    if (zero) extent.add(0);
    // Nothing but zeros: a scale that people read, not one of rounding errors.
    const double size = extent.high == 0 ? 1 : std::max(std::abs(extent.high), 1e-9);
    const double span = extent.high > extent.low ? extent.high - extent.low : size;
    return {zero ? extent.low : extent.low - span * 0.06, extent.high + span * 0.08};
}

double ChartPanel::valueAt(double x) const {
    const QRectF area = plot();
    return horizontal().value(x - area.left(), area.width());
}

void ChartPanel::preparePlot() {
    if (!m_stale && m_plotSize == plot().size()) return;
    const AxisRange seen = horizontal();
    // the lowest and the highest of every two columns: no peak is lost, and Qt Charts strokes a
    // line for 5 us a point
    const int limit = std::clamp(static_cast<int>(plot().width()), 64, kChartPointLimit);
    ChartContent drawn{m_content.bands, m_content.histogram, m_content.stack, false, {}};
    m_drawnPoints = 0;
    for (const LineSeries& line : m_content.lines) {
        LineSeries thinned = line;
        thinned.points = decimated(within(line.points, seen), limit);
        m_drawnPoints += static_cast<int>(thinned.points.size());
        drawn.lines.push_back(std::move(thinned));
    }
    m_plot.set(drawn, seen, vertical(), Theme::of(this));
    m_plotSize = plot().size();
    m_stale = false;
}

QString ChartPanel::textOfX(double x) const {
    return m_kibibytes ? kibibyteText(x) : formatNumber(x);
}

QString ChartPanel::cursorText() const {
    if (!m_cursor) return {};
    // "MiB, largest rank" and "% of the step" are in MiB and in %
    const QString unit = m_unit.section(u',', 0, 0).section(u' ', 0, 0);
    const QString across = m_bottomTitle.section(u", "_s, 0, 0);
    const auto valueText = [&unit](double value) {
        return ValueText{formatNumber(value), unit}.joined();
    };
    if (m_content.histogram) {
        const Histogram& bars = *m_content.histogram;
        const double place = std::floor((*m_cursor - bars.low) / bars.width);
        if (place < 0 || place >= static_cast<double>(bars.counts.size())) return {};
        const double low = bars.low + place * bars.width;
        return tr("%1 to %2: %3")
            .arg(formatNumber(low), formatNumber(low + bars.width),
                 formatCount(static_cast<int>(bars.counts[static_cast<std::size_t>(place)])));
    }
    std::optional<double> at;
    QStringList values;
    const int named = static_cast<int>(m_content.lines.size());
    for (const LineSeries& line : m_content.lines) {
        const QPointF* point = nearest(line.points, at.value_or(*m_cursor));
        if (point == nullptr || (line.pale && named > 1)) continue;
        if (at && std::abs(point->x() - *at) > 0.5 && m_whole) continue;
        if (!line.joined && std::abs(point->x() - *m_cursor) > 0.5) continue;
        if (!at) at = point->x();
        values << (named > 1 ? u"%1 %2"_s.arg(line.name, valueText(point->y()))
                             : valueText(point->y()));
    }
    if (!at) return {};
    const ValueText where{m_whole ? formatTick(*at, 1) : textOfX(*at),
                          m_bottomTitle.section(u", "_s, 1)};
    return u"%1 %2: %3"_s.arg(across, where.joined(), values.join(u", "_s));
}

void ChartPanel::describe() {
    QString name = m_unit.isEmpty() ? tr("%1 over %2").arg(m_title, m_bottomTitle)
                                    : tr("%1 in %2 over %3").arg(m_title, m_unit, m_bottomTitle);
    for (const LineSeries& line : m_content.lines) {
        if (line.points.isEmpty() || line.pale) continue;
        const QPointF& last = line.points.back();
        name += tr(", %1 last %2 at %3").arg(line.name, formatNumber(last.y()), textOfX(last.x()));
    }
    m_spoken.setName(name);
    m_spoken.setSummary(summary());
}

/// In what stretch, and the extremes of each line in all of it.
QString ChartPanel::summary() const {
    if (isEmpty()) return m_emptyText;
    const AxisRange seen = horizontal();
    QStringList parts{
        tr("%1 from %2 to %3").arg(m_bottomTitle, textOfX(seen.low), textOfX(seen.high))};
    for (const LineSeries& line : m_content.lines) {
        if (line.points.isEmpty() || line.pale) continue;
        const auto [low, high] =
            std::minmax_element(line.points.begin(), line.points.end(),
                                [](const QPointF& a, const QPointF& b) { return a.y() < b.y(); });
        parts << tr("%1 lowest %2 at %3, highest %4 at %5")
                     .arg(line.name, formatNumber(low->y()), formatNumber(low->x()),
                          formatNumber(high->y()), formatNumber(high->x()));
    }
    if (m_content.histogram && !m_content.histogram->counts.empty()) {
        const auto& counts = m_content.histogram->counts;
        const auto most = std::max_element(counts.begin(), counts.end());
        const double low = m_content.histogram->low +
                           m_content.histogram->width * static_cast<double>(most - counts.begin());
        parts << tr("most from %1 to %2: %3")
                     .arg(formatNumber(low), formatNumber(low + m_content.histogram->width),
                          formatCount(static_cast<std::int64_t>(*most)));
    }
    for (const auto* marks : {&m_verticalMarks, &m_horizontalMarks})
        for (const ChartMark& mark : *marks) parts << mark.text;
    if (!m_definition.isEmpty()) parts << m_definition;
    return parts.join(u"; "_s);
}

ChartPanel::Header ChartPanel::header() const {
    const QFont font = textFont(kSmallPixels);
    const QFontMetricsF metrics(font);
    Header header;
    header.cursor = cursorText();
    header.behind = m_definition.isEmpty() ? m_unit : m_unit + u"  ?"_s;
    header.title = QFontMetricsF(textFont(kTextPixels, QFont::DemiBold)).horizontalAdvance(m_title);
    const auto left = [&] {
        return header.title + 8 + metrics.horizontalAdvance(header.behind) + 16;
    };
    const double right = width() - 12, wide = tabularWidth(font, header.cursor);
    // values under the pointer have their unit with them
    if (!header.cursor.isEmpty() && left() + wide > right) header.behind.clear();
    header.free = left();
    header.isCut = !header.cursor.isEmpty() && header.free + wide > right;
    return header;
}

void ChartPanel::paintHeader(QPainter& painter) const {
    const Theme& theme = Theme::of(this);
    const Header header = this->header();
    painter.setFont(textFont(kTextPixels, QFont::DemiBold));
    painter.setPen(theme.text);
    painter.drawText(QRectF(0, 0, width(), kHeader), Qt::AlignLeft | Qt::AlignVCenter, m_title);
    painter.setFont(textFont(kSmallPixels));
    painter.setPen(theme.quietText);
    painter.drawText(QRectF(header.title + 8, 0, width() - header.title, kHeader),
                     Qt::AlignLeft | Qt::AlignVCenter, header.behind);
    if (header.cursor.isEmpty()) {
        paintLegend(painter, header.free);
        return;
    }
    painter.setPen(theme.text);
    const double room = std::max(width() - 12 - header.free, 0.0);
    const QString text =
        QFontMetricsF(painter.font()).elidedText(header.cursor, Qt::ElideRight, room);
    drawTabular(painter, QRectF(header.free, 0, room, kHeader), Qt::AlignRight, text);
}

void ChartPanel::paintLegend(QPainter& painter, double left) const {
    const auto shown = [](const LineSeries& line) { return !line.points.isEmpty() && !line.pale; };
    if (!m_named || std::ranges::count_if(m_content.lines, shown) < 2) return;
    const Theme& theme = Theme::of(this);
    double right = width() - 12;
    double needed = 0;
    for (const LineSeries& line : m_content.lines)
        if (shown(line)) needed += QFontMetricsF(painter.font()).horizontalAdvance(line.name) + 36;
    if (right - needed + 16 < left) return;
    for (const auto& line : std::views::reverse(m_content.lines)) {
        if (!shown(line)) continue;
        const double wide = QFontMetricsF(painter.font()).horizontalAdvance(line.name);
        painter.setPen(theme.quietText);
        painter.drawText(QRectF(right - wide, 0, wide + 1, kHeader), Qt::AlignVCenter, line.name);
        painter.setPen(
            QPen(lineColour(theme, line.meaning), 2, line.dashed ? Qt::DashLine : Qt::SolidLine));
        if (line.joined) {
            painter.drawLine(QPointF(right - wide - 20, 9.5), QPointF(right - wide - 6, 9.5));
        } else {
            painter.setBrush(lineColour(theme, line.meaning));
            painter.drawEllipse(QPointF(right - wide - 12, 9.5), 2.5, 2.5);
        }
        right -= wide + 36;
    }
}

void ChartPanel::paintStretch(QPainter& painter, const AxisRange& stretch, bool strong) const {
    const QRectF area = plot();
    const AxisRange h = horizontal();
    QColor tint = Theme::of(this).accent;
    tint.setAlphaF(strong ? 0.22F : 0.14F);
    const double left = area.left() + h.position(stretch.low, area.width());
    const double right = area.left() + h.position(stretch.high, area.width());
    const QRectF band(left, area.top(), std::max(right - left, 2.0), area.height());
    painter.fillRect(band.intersected(area), tint);
}

void ChartPanel::paintAxes(QPainter& painter) const {
    const Theme& theme = Theme::of(this);
    const QRectF area = plot();
    const AxisRange h = horizontal(), v = vertical();
    if (!m_compact) {
        const auto levels = axisTicks(v, std::max(3, static_cast<int>(area.height() / 32)));
        const auto text = [&](double value) { return axisTickText(v, levels, value); };
        paintLeftAxis(painter, area, v, levels, text, {}, theme);
    }
    const int most = std::max(2, static_cast<int>(area.width() / 72));
    auto ticks = m_kibibytes ? kibibyteTicks(h, most) : axisTicks(h, most);
    if (m_whole) std::erase_if(ticks, [](double tick) { return tick != std::round(tick); });
    const auto text = [&](double value) {
        if (m_kibibytes) return kibibyteText(value);
        return m_whole ? formatTick(value, 1) : axisTickText(h, ticks, value);
    };
    paintBottomAxis(painter, area, h, ticks, text, m_compact ? QString() : m_bottomTitle,
                    QRectF(rect()), theme);
}

void ChartPanel::paintMarks(QPainter& painter) const {
    const Theme& theme = Theme::of(this);
    const QRectF area = plot();
    const AxisRange h = horizontal(), v = vertical();
    painter.setFont(textFont(kSmallPixels - 1));
    std::vector<WordPlace> places;
    std::vector<QString> words;
    for (const ChartMark& mark : m_verticalMarks) {
        const double x = std::round(area.left() + h.position(mark.value, area.width())) + 0.5;
        if (x < area.left() - 1 || x > area.right() + 1.5) continue;
        painter.setPen(QPen(theme.text, 1, mark.dashed ? Qt::DashLine : Qt::SolidLine));
        painter.drawLine(QPointF(x, area.top() - 2), QPointF(x, area.bottom()));
        const double wide = tabularWidth(painter.font(), mark.text);
        places.push_back({x - wide / 2, wide});
        words.push_back(mark.text);
    }
    spreadWords(places, area.left(), width() - 1);
    painter.setPen(theme.quietText);
    for (std::size_t i = 0; i < places.size(); ++i)
        drawTabular(painter, QRectF(places[i].left, area.top() - 13, places[i].width, 12),
                    Qt::AlignLeft, words[i]);
    for (const ChartMark& mark : m_horizontalMarks) {
        const double y = std::round(area.bottom() - v.position(mark.value, area.height())) - 0.5;
        if (y < area.top() - 1 || y > area.bottom() + 1) continue;
        painter.setPen(QPen(theme.text, 1, mark.dashed ? Qt::DashLine : Qt::SolidLine));
        painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
        painter.setPen(theme.quietText);
        const double wide = tabularWidth(painter.font(), mark.text);
        const QRectF word(area.right() - wide, y - 14, wide, 12);
        // a curve that comes here does not strike it through
        QColor ground = theme.window;
        ground.setAlphaF(0.8F);
        painter.fillRect(word.adjusted(-2, 0, 0, 0), ground);
        drawTabular(painter, word, Qt::AlignRight, mark.text);
    }
}

void ChartPanel::paintCursor(QPainter& painter) const {
    if (!m_cursor || m_compact) return;
    const Theme& theme = Theme::of(this);
    const QRectF area = plot();
    const AxisRange h = horizontal(), v = vertical();
    double at = *m_cursor;
    if (!m_content.lines.empty())
        if (const QPointF* point = nearest(m_content.lines.front().points, at)) at = point->x();
    const double x = std::round(area.left() + h.position(at, area.width())) + 0.5;
    if (x < area.left() - 1 || x > area.right() + 1.5) return;
    painter.setPen(QPen(theme.accent, 1));
    painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
    painter.setRenderHint(QPainter::Antialiasing);
    for (const LineSeries& line : m_content.lines) {
        const QPointF* point = nearest(line.points, at);
        if (point == nullptr || line.pale || std::abs(point->x() - at) > 0.5) continue;
        const double y = area.bottom() - v.position(point->y(), area.height());
        painter.setBrush(theme.window);
        painter.setPen(QPen(lineColour(theme, line.meaning), 1.6));
        painter.drawEllipse(QPointF(x, y), 3, 3);
    }
    painter.setRenderHint(QPainter::Antialiasing, false);
}

void ChartPanel::paintEvent(QPaintEvent*) {
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    if (!m_compact) paintHeader(painter);
    const QRectF area = plot();
    if (area.width() < 8 || area.height() < 8) return;
    if (isEmpty()) {
        painter.setPen(theme.quietText);
        painter.setFont(textFont(kSmallPixels));
        painter.drawText(area, Qt::AlignCenter | Qt::TextWordWrap, m_emptyText);
        return;
    }
    preparePlot();
    if (m_highlight) paintStretch(painter, *m_highlight, false);
    if (m_dragged) paintStretch(painter, *m_dragged, true);
    paintAxes(painter);
    m_plot.paint(painter, area);
    paintMarks(painter);
    paintCursor(painter);
    if (hasFocus()) paintFocus(painter, area.adjusted(-0.5, -0.5, 0.5, 0.5), theme);
}

}  // namespace shardscope::desktop
