#include "app/desktop/widgets/pictures/column_chart.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/time_scale.h"
#include "app/desktop/widgets/painting.h"

#include <algorithm>
#include <cmath>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr double kBetweenGroups = 0.8;  ///< columns
constexpr double kWidestColumn = 36;    ///< of groups
constexpr int kTickRoom = 64;           ///< of a name under the index

}  // namespace

ColumnChart::ColumnChart(QWidget* parent)
    : Picture(parent, Qt::Horizontal, Cursor::kFollowsPointer) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
}

void ColumnChart::setColumns(std::vector<StackedBar> columns) {
    m_overIndex = true;
    m_groups.clear();
    if (!columns.empty()) m_groups.push_back({{}, std::move(columns)});
    layOut();
}

void ColumnChart::setGroups(std::vector<ColumnGroup> groups) {
    m_overIndex = false;
    m_groups = std::move(groups);
    layOut();
}

void ColumnChart::layOut() {
    const double between = m_overIndex ? 0 : kBetweenGroups;
    m_slots.clear();
    double place = between / 2;
    for (std::size_t g = 0; g < m_groups.size(); ++g) {
        for (std::size_t c = 0; c < m_groups[g].columns.size(); ++c, ++place)
            m_slots.push_back({static_cast<int>(g), static_cast<int>(c), place, place + 1});
        place += between;
    }
    m_length = std::max(1.0, place - between / 2);
    describeAll();
}

void ColumnChart::describeAll() {
    double highest = 0;
    const Slot* most = nullptr;
    for (const Slot& slot : m_slots) {
        if (most == nullptr || bar(slot).sum() > bar(*most).sum()) most = &slot;
        highest = std::max(highest, bar(slot).sum());
    }
    QStringList summary;
    if (most != nullptr) summary << tr("highest: %1").arg(headOf(*most));
    for (const ChartMark& mark : m_marks) {
        summary << mark.text;
        highest = std::max(highest, mark.value);
    }
    m_range = {0, highest > 0 ? highest * 1.05 : 1};
    describe(tr("%1 by %2: %3 columns").arg(m_leftTitle, m_bottomTitle).arg(count()),
             summary.join(u"; "_s));
}

void ColumnChart::setMarks(std::vector<ChartMark> marks) {
    m_marks = std::move(marks);
    describeAll();
}

void ColumnChart::setTitles(const QString& left, const QString& bottom) {
    m_leftTitle = left;
    m_bottomTitle = bottom;
    describeAll();
}

void ColumnChart::setModelled(bool modelled) {
    m_modelled = modelled;
    update();
}

QRectF ColumnChart::plot() const {
    return QRectF(rect()).adjusted(m_overIndex ? 72 : 64, 24, -8, -40);
}

const ColumnChart::Slot& ColumnChart::slot(int item) const {
    return m_slots[static_cast<std::size_t>(item)];
}

const StackedBar& ColumnChart::bar(const Slot& slot) const {
    return m_groups[static_cast<std::size_t>(slot.group)]
        .columns[static_cast<std::size_t>(slot.column)];
}

double ColumnChart::pitch() const {
    const double filled = plot().width() / m_length;
    return m_overIndex ? filled : std::min(filled, kWidestColumn);
}

QRectF ColumnChart::areaOf(const Slot& slot, double value) const {
    const QRectF area = plot();
    const double wide = pitch();
    const double left = std::round(area.left() + slot.begin * wide);
    const double right = std::round(area.left() + slot.end * wide);
    const double gap = m_overIndex && wide > 6 ? 2 : wide > (m_overIndex ? 3 : 4) ? 1 : 0;
    const double top = area.bottom() - m_range.position(value, area.height());
    return {QPointF(left, top), QPointF(std::max(right - gap, left + 1), area.bottom())};
}

QRectF ColumnChart::placeOf(int item) const {
    return areaOf(slot(item), bar(slot(item)).sum());
}

QRectF ColumnChart::columnAt(std::size_t group, std::size_t column) const {
    for (int item = 0; item < count(); ++item)
        if (slot(item).group == static_cast<int>(group) &&
            slot(item).column == static_cast<int>(column))
            return placeOf(item);
    return {};
}

/// All of the height above a column is its own.
int ColumnChart::itemAt(QPointF at) const {
    const double place = (at.x() - plot().left()) / pitch();
    const auto found = std::find_if(m_slots.begin(), m_slots.end(), [place](const Slot& each) {
        return each.begin <= place && place < each.end;
    });
    return found == m_slots.end() ? -1 : static_cast<int>(found - m_slots.begin());
}

QString ColumnChart::headOf(const Slot& slot) const {
    const StackedBar& column = bar(slot);
    return (m_overIndex ? m_bottomTitle + u' ' : QString()) + column.label + u": "_s + column.total;
}

QString ColumnChart::textOf(int item) const {
    QStringList parts{headOf(slot(item))};
    for (const BarSegment& segment : bar(slot(item)).segments)
        parts << u"%1 %2"_s.arg(segment.name, segment.text);
    return parts.join(u" · "_s);
}

void ColumnChart::activate(int item) {
    Picture::activate(item);
    Q_EMIT columnActivated(slot(item).group, slot(item).column);
}

void ColumnChart::paintColumn(QPainter& painter, const Slot& slot) const {
    const Theme& theme = Theme::of(this);
    const StackedBar& column = bar(slot);
    double below = 0;
    for (const BarSegment& segment : column.segments) {
        const double bottom = areaOf(slot, below).top();
        below += segment.value;
        QRectF area = areaOf(slot, below);
        area.setBottom(bottom);
        painter.setOpacity((segment.pale ? kPale : 1) * (column.emphasised ? 1 : 0.4));
        paintFill(painter, area, theme.fill(segment.meaning), theme);
    }
    painter.setOpacity(1);
    if (!m_modelled || areaOf(slot, below).width() < 4) return;
    painter.setPen(QPen(theme.text, 1, Qt::DotLine));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(areaOf(slot, below).adjusted(0.5, 0.5, -0.5, -0.5));
}

/// The names of columns at round numbers.
void ColumnChart::paintIndex(QPainter& painter) const {
    const QRectF area = plot();
    const auto& columns = m_groups.front().columns;
    const int most = std::max(2, static_cast<int>(area.width() / kTickRoom));
    const auto step = static_cast<int>(std::max(1.0, niceStep(m_length, most)));
    std::vector<double> ticks;
    for (std::size_t i = 0; i < columns.size(); ++i)
        if (columns[i].label.toInt() % step == 0) ticks.push_back(static_cast<double>(i) + 0.5);
    const auto text = [&](double at) { return columns[static_cast<std::size_t>(at)].label; };
    paintBottomAxis(painter, area, {0, m_length}, ticks, text, m_bottomTitle, QRectF(rect()),
                    Theme::of(this));
}

void ColumnChart::paintNames(QPainter& painter) const {
    std::vector<double> ticks(m_groups.size(), 0);
    for (const Slot& slot : m_slots) {
        const auto columns = m_groups[static_cast<std::size_t>(slot.group)].columns.size();
        ticks[static_cast<std::size_t>(slot.group)] +=
            (slot.begin + slot.end) / 2 / static_cast<double>(columns);
    }
    const QRectF area = plot();
    const AxisRange columns{0, area.width() / pitch()};
    const auto text = [&](double at) {
        const auto found = std::find(ticks.begin(), ticks.end(), at);
        return m_groups[static_cast<std::size_t>(found - ticks.begin())].label;
    };
    paintBottomAxis(painter, area, columns, ticks, text, m_bottomTitle, QRectF(rect()),
                    Theme::of(this));
}

/// The word stands at the right end, over the line.
void ColumnChart::paintMarks(QPainter& painter) const {
    const Theme& theme = Theme::of(this);
    const QRectF area = plot();
    painter.setFont(textFont(kSmallPixels - 1));
    for (const ChartMark& mark : m_marks) {
        const double y =
            std::round(area.bottom() - m_range.position(mark.value, area.height())) - 0.5;
        painter.setPen(QPen(theme.text, 1, mark.dashed ? Qt::DashLine : Qt::SolidLine));
        painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
        painter.setPen(theme.quietText);
        drawTabular(painter, QRectF(area.left(), y - 14, area.width(), 12), Qt::AlignRight,
                    mark.text);
    }
}

void ColumnChart::paint(QPainter& painter) {
    if (m_slots.empty()) return;
    const auto levels = niceTicks(0, m_range.high, 4);
    paintLeftAxis(
        painter, plot(), m_range, levels,
        [step = tickStep(levels)](double value) { return formatTick(value, step); }, m_leftTitle,
        Theme::of(this));
    for (const Slot& slot : m_slots) paintColumn(painter, slot);
    paintMarks(painter);
    if (m_overIndex)
        paintIndex(painter);
    else
        paintNames(painter);
}

}  // namespace shardscope::desktop
