#include "app/desktop/widgets/grouped_columns.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/time_scale.h"
#include "app/desktop/widgets/cursor_keys.h"
#include "app/desktop/widgets/painting.h"
#include "app/desktop/widgets/theme.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr double kBetweenGroups = 0.8;  ///< columns
constexpr double kWidestColumn = 36;
constexpr double kGapBetween = 1;

}  // namespace

GroupedColumns::GroupedColumns(QWidget* parent) : QWidget(parent) {
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
}

void GroupedColumns::setGroups(std::vector<ColumnGroup> groups) {
    const std::size_t before = m_slots.size();
    m_groups = std::move(groups);
    m_slots.clear();
    double place = kBetweenGroups / 2;
    for (std::size_t g = 0; g < m_groups.size(); ++g) {
        for (std::size_t c = 0; c < m_groups[g].columns.size(); ++c) {
            m_slots.push_back({static_cast<int>(g), static_cast<int>(c), place, place + 1});
            place += 1;
        }
        place += kBetweenGroups;
    }
    // the same columns in another light: one goes on from where one is
    if (m_slots.size() != before) m_cursor = -1;
    m_length = std::max(1.0, place - kBetweenGroups / 2);
    fitRange();
    describe();
    update();
}

void GroupedColumns::describe() {
    m_spoken.setName(tr("%1 by %2: %3 columns")
                         .arg(m_leftTitle, m_bottomTitle)
                         .arg(static_cast<int>(m_slots.size())));
    const int most = highest();
    QStringList summary;
    if (most >= 0) summary << tr("highest: %1").arg(textOf(most));
    for (const ChartMark& mark : m_marks) summary << mark.text;
    m_spoken.setSummary(summary.join(u"; "_s));
    m_spoken.setCurrent(cursorText());
}

/// -1: there is none.
int GroupedColumns::highest() const {
    int most = -1;
    for (int i = 0; i < static_cast<int>(m_slots.size()); ++i) {
        const auto sumOf = [this](int slot) {
            return bar(m_slots[static_cast<std::size_t>(slot)]).sum();
        };
        if (most < 0 || sumOf(i) > sumOf(most)) most = i;
    }
    return most;
}

void GroupedColumns::fitRange() {
    double highest = 0;
    for (const Slot& slot : m_slots) highest = std::max(highest, bar(slot).sum());
    for (const ChartMark& mark : m_marks) highest = std::max(highest, mark.value);
    m_range = {0, highest > 0 ? highest * 1.05 : 1};
}

void GroupedColumns::setMarks(std::vector<ChartMark> marks) {
    m_marks = std::move(marks);
    fitRange();
    describe();
    update();
}

void GroupedColumns::setTitles(const QString& left, const QString& bottom) {
    m_leftTitle = left;
    m_bottomTitle = bottom;
    describe();
    update();
}

void GroupedColumns::setModelled(bool modelled) {
    m_modelled = modelled;
    update();
}

QRectF GroupedColumns::plot() const {
    return QRectF(rect()).adjusted(64, 24, -8, -40);
}

const StackedBar& GroupedColumns::bar(const Slot& slot) const {
    return m_groups[static_cast<std::size_t>(slot.group)]
        .columns[static_cast<std::size_t>(slot.column)];
}

double GroupedColumns::pitch() const {
    return std::min(plot().width() / m_length, kWidestColumn);
}

QRectF GroupedColumns::areaOf(const Slot& slot, double value) const {
    const QRectF area = plot();
    const double left = std::round(area.left() + slot.begin * pitch());
    const double right = std::round(area.left() + slot.end * pitch());
    const double gap = right - left > 4 ? kGapBetween : 0;
    const double top = area.bottom() - m_range.position(value, area.height());
    return {QPointF(left, top), QPointF(std::max(right - gap, left + 1), area.bottom())};
}

QRectF GroupedColumns::columnAt(std::size_t group, std::size_t column) const {
    for (const Slot& slot : m_slots)
        if (slot.group == static_cast<int>(group) && slot.column == static_cast<int>(column))
            return areaOf(slot, bar(slot).sum());
    return {};
}

int GroupedColumns::slotAt(double x) const {
    const double place = (x - plot().left()) / pitch();
    for (std::size_t i = 0; i < m_slots.size(); ++i)
        if (m_slots[i].begin <= place && place < m_slots[i].end) return static_cast<int>(i);
    return -1;
}

QString GroupedColumns::textOf(int slot) const {
    if (slot < 0) return {};
    const StackedBar& column = bar(m_slots[static_cast<std::size_t>(slot)]);
    QStringList parts{u"%1: %2"_s.arg(column.label, column.total)};
    for (const BarSegment& segment : column.segments)
        parts << u"%1 %2"_s.arg(segment.name, segment.text);
    return parts.join(u" · "_s);
}

void GroupedColumns::paintColumn(QPainter& painter, const Slot& slot) const {
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

void GroupedColumns::paintNames(QPainter& painter) const {
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
void GroupedColumns::paintMarks(QPainter& painter) const {
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

void GroupedColumns::paintEvent(QPaintEvent*) {
    if (m_slots.empty()) return;
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    const auto levels = niceTicks(0, m_range.high, 4);
    paintLeftAxis(
        painter, plot(), m_range, levels,
        [step = tickStep(levels)](double value) { return formatTick(value, step); }, m_leftTitle,
        theme);
    for (const Slot& slot : m_slots) paintColumn(painter, slot);
    paintMarks(painter);
    paintNames(painter);
    if (m_cursor >= 0) {
        const Slot& slot = m_slots[static_cast<std::size_t>(m_cursor)];
        painter.setPen(QPen(hasFocus() ? theme.accent : theme.text, hasFocus() ? 2 : 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(areaOf(slot, bar(slot).sum()).adjusted(-1.5, -1.5, 0.5, 0.5));
    } else if (hasFocus()) {
        painter.setPen(QPen(theme.accent, 1));
        painter.drawRect(plot().adjusted(-0.5, -0.5, 0.5, 0.5));
    }
}

void GroupedColumns::moveCursor(int slot, QPoint tipAt) {
    if (slot == m_cursor) return;
    m_cursor = slot;
    const QString text = cursorText();
    m_spoken.setCurrent(text);
    if (text.isEmpty())
        QToolTip::hideText();
    else
        QToolTip::showText(tipAt, QString(text).replace(u" · "_s, u"\n"_s), this);
    Q_EMIT columnHovered(text);
    update();
}

void GroupedColumns::activate() {
    if (m_cursor < 0) return;
    const Slot& slot = m_slots[static_cast<std::size_t>(m_cursor)];
    Q_EMIT columnActivated(slot.group, slot.column);
}

void GroupedColumns::mouseMoveEvent(QMouseEvent* event) {
    moveCursor(slotAt(event->position().x()), event->globalPosition().toPoint());
}

void GroupedColumns::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) return QWidget::mousePressEvent(event);
    moveCursor(slotAt(event->position().x()), event->globalPosition().toPoint());
    activate();
}

void GroupedColumns::leaveEvent(QEvent*) {
    if (!hasFocus()) moveCursor(-1, {});
}

void GroupedColumns::keyPressEvent(QKeyEvent* event) {
    if (isActivation(event->key())) return activate();
    const auto wanted =
        movedCursor(event->key(), m_cursor, static_cast<int>(m_slots.size()), Qt::Horizontal);
    if (!wanted) return QWidget::keyPressEvent(event);
    const Slot& slot = m_slots[static_cast<std::size_t>(*wanted)];
    moveCursor(*wanted, mapToGlobal(areaOf(slot, 0).bottomLeft().toPoint()));
}

void GroupedColumns::focusInEvent(QFocusEvent* event) {
    QWidget::focusInEvent(event);
    update();
}

void GroupedColumns::focusOutEvent(QFocusEvent* event) {
    QWidget::focusOutEvent(event);
    moveCursor(-1, {});
    update();
}

}  // namespace shardscope::desktop
