#include "app/desktop/widgets/pictures/flame_graph.h"

#include "app/desktop/models/format.h"
#include "app/desktop/widgets/key_places.h"
#include "app/desktop/widgets/painting.h"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr double kRow = 18;
constexpr std::size_t kMostRows = 44, kFewestRows = 4;
constexpr int kEdge = 1;               ///< above and below
constexpr double kLabelRoom = 30;      ///< narrower cells have no name
constexpr double kLeast = 0.75;        ///< narrower ones share a pixel
constexpr double kNearest = 1e-6;      ///< of the whole, that fills the width at most
constexpr std::size_t kRowsAbove = 3;  ///< that stay seen of what encloses a deep cell
constexpr double kDragged = 4;

QString elided(const QString& name, qsizetype letters) {
    if (name.size() <= letters) return name;
    const qsizetype front = (letters - 1) / 2 + (letters - 1) % 2;
    return name.left(front) + QChar(0x2026) + name.right(letters - 1 - front);
}

QColor mixed(const QColor& a, const QColor& b, double share) {
    const auto mix = [share](int from, int to) {
        return static_cast<int>(std::lround(from + (to - from) * share));
    };
    return {mix(a.red(), b.red()), mix(a.green(), b.green()), mix(a.blue(), b.blue())};
}

}  // namespace

FlameGraph::FlameGraph(QWidget* parent) : QWidget(parent) {
    setMouseTracking(true);
    setLayoutDirection(Qt::LeftToRight);  // as it is painted, in every language
    setFocusPolicy(Qt::StrongFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setMinimumWidth(240);
    setFixedHeight(static_cast<int>(kFewestRows * kRow) + 2 * kEdge);
}

void FlameGraph::setData(std::shared_ptr<const FlameData> cells, const QString& what) {
    m_data = std::move(cells);
    m_what = what;
    m_begin = 0;
    m_end = m_data->whole();
    m_zoomed = 0;
    m_selected.reset();
    m_hovered.reset();
    m_match = findInFlame(*m_data, m_search);
    const std::size_t rows = std::clamp(m_data->rowCount(), kFewestRows, kMostRows);
    setFixedHeight(static_cast<int>(static_cast<double>(rows) * kRow) + 2 * kEdge);
    refresh();
    describe();
    Q_EMIT zoomChanged();
}

void FlameGraph::setIcicle(bool icicle) {
    m_icicle = icicle;
    refresh();
}

void FlameGraph::setSearch(const QString& text) {
    m_search = text;
    m_match = findInFlame(*m_data, m_search);
    refresh();
    describe();
}

void FlameGraph::zoomTo(std::size_t cell) {
    if (cell >= m_data->cells.size()) return;
    m_zoomed = cell;
    const FlameCell& shown = m_data->cells[cell];
    setView(shown.begin, shown.end());
}

void FlameGraph::selectCell(std::optional<std::size_t> cell) {
    m_selected = cell;
    describe();
    update();
}

/// Deep below the zoomed cell is what one looks for; little of what is above it.
std::size_t FlameGraph::firstRow() const {
    if (m_data->rowCount() <= shownRows()) return 0;
    const std::size_t row = m_data->rowOf(m_zoomed);
    const std::size_t above = row > kRowsAbove ? row - kRowsAbove : 0;
    return std::min(above, m_data->rowCount() - shownRows());
}

std::size_t FlameGraph::shownRows() const {
    return static_cast<std::size_t>((height() - 2 * kEdge) / kRow);
}

std::size_t FlameGraph::hiddenRows() const {
    const std::size_t end = firstRow() + shownRows();
    return m_data->rowCount() > end ? m_data->rowCount() - end : 0;
}

QRectF FlameGraph::rowArea(std::size_t row) const {
    const double at = (static_cast<double>(row) - static_cast<double>(firstRow())) * kRow;
    const double top = m_icicle ? kEdge + at : height() - kEdge - at - kRow;
    return {0, top, static_cast<double>(width()), kRow - 1};
}

double FlameGraph::xOf(double place) const {
    return m_end > m_begin ? (place - m_begin) / (m_end - m_begin) * width() : 0;
}

double FlameGraph::placeAt(double x) const {
    return m_begin + x / std::max(1, width()) * (m_end - m_begin);
}

QRectF FlameGraph::areaOf(std::size_t cell) const {
    if (cell >= m_data->cells.size()) return {};
    const std::size_t row = m_data->rowOf(cell);
    if (row < firstRow() || row >= firstRow() + shownRows()) return {};
    const FlameCell& shown = m_data->cells[cell];
    const double left = std::max(0.0, xOf(shown.begin));
    const double right = std::min<double>(width(), xOf(shown.end()));
    if (right <= left) return {};
    const QRectF area = rowArea(row);
    return {left, area.top(), right - left, area.height()};
}

std::optional<std::size_t> FlameGraph::cellAt(QPointF at) const {
    const double from = m_icicle ? at.y() - kEdge : height() - kEdge - at.y();
    if (from < 0 || m_data->empty()) return std::nullopt;
    const std::size_t row = firstRow() + static_cast<std::size_t>(from / kRow);
    return m_data->cellAt(row, placeAt(at.x()));
}

QColor FlameGraph::colourOf(const FlameCell& cell, const Theme& theme) const {
    if (cell.change) {
        const double strength = std::min(1.0, std::abs(static_cast<double>(*cell.change)));
        return mixed(theme.neutral, *cell.change > 0 ? theme.bad : theme.good, strength);
    }
    const QColor base = theme.fill(cell.meaning).colour;
    if (!base.isValid() || cell.meaning == Meaning::kIdle) return theme.neutral;
    return shadeFor(base, m_data->names[static_cast<qsizetype>(cell.name)]);
}

void FlameGraph::paintCell(QPainter& painter, const QRectF& area, std::size_t at,
                           const Theme& theme) const {
    const FlameCell& cell = m_data->cells[at];
    QColor colour = at == 0 ? theme.neutral : colourOf(cell, theme);
    const bool pale = !m_search.isEmpty() && !m_match.names[cell.name];
    if (pale) colour = mixed(colour, theme.window, 0.72);
    painter.fillRect(area, colour);
    if (area.width() < kLabelRoom) return;
    const double letter = QFontMetricsF(painter.font()).horizontalAdvance(u'm');
    QString name = m_data->nameOf(at);
    if (cell.change)
        name = (*cell.change > 0 ? u"▲ "_s : *cell.change < 0 ? u"▼ "_s : QString()) + name;
    painter.setPen(Theme::textOn(colour));
    painter.drawText(area.adjusted(4, 0, -2, 0), Qt::AlignLeft | Qt::AlignVCenter,
                     elided(name, static_cast<qsizetype>((area.width() - 6) / letter)));
}

/// Cells narrower than a pixel share one, which the first of them colours; the rest are skipped.
void FlameGraph::paintRow(QPainter& painter, std::size_t row, const Theme& theme) const {
    const QRectF area = rowArea(row);
    const auto first = m_data->cells.begin() + static_cast<std::ptrdiff_t>(m_data->rows[row]);
    const auto last = m_data->cells.begin() + static_cast<std::ptrdiff_t>(m_data->rows[row + 1]);
    const auto beyond = [&](auto from, double place) {
        return std::partition_point(from, last,
                                    [place](const FlameCell& cell) { return cell.end() <= place; });
    };
    for (auto cell = beyond(first, m_begin); cell != last && cell->begin < m_end;) {
        const double left = std::max(0.0, xOf(cell->begin));
        const double right = std::min<double>(width(), xOf(cell->end()));
        const auto at = static_cast<std::size_t>(cell - m_data->cells.begin());
        if (right - left >= kLeast) {
            const double gap = right - left > 3 ? 1 : 0;
            paintCell(painter, {left, area.top(), right - left - gap, area.height()}, at, theme);
            ++cell;
            continue;
        }
        const double pixel = std::floor(left) + 1;
        paintCell(painter, {pixel - 1, area.top(), 1, area.height()}, at, theme);
        cell = beyond(cell + 1, placeAt(pixel));
    }
}

QPixmap FlameGraph::render() const {
    const double ratio = devicePixelRatioF();
    QPixmap picture((QSizeF(size()) * ratio).toSize().expandedTo({1, 1}));
    picture.setDevicePixelRatio(ratio);
    picture.fill(Qt::transparent);
    QPainter painter(&picture);
    painter.setFont(codeFont(kSmallPixels - 1));
    const Theme& theme = Theme::of(this);
    const std::size_t end = std::min(m_data->rowCount(), firstRow() + shownRows());
    for (std::size_t row = firstRow(); row < end; ++row) paintRow(painter, row, theme);
    return picture;
}

void FlameGraph::paintOutline(QPainter& painter, std::size_t cell, const Theme& theme) const {
    const QRectF area = areaOf(cell);
    if (area.isEmpty()) return;
    painter.setBrush(Qt::NoBrush);
    const QRectF shown = area.width() < 3 ? area.adjusted(-1, 0, 1, 0) : area;
    painter.setPen(QPen(theme.window, 3));
    painter.drawRect(shown.adjusted(0.5, 0.5, -1, -0.5));
    painter.setPen(QPen(theme.accent, 2));
    painter.drawRect(shown.adjusted(0.5, 0.5, -1, -0.5));
}

void FlameGraph::paintEvent(QPaintEvent*) {
    if (m_picture.isNull()) m_picture = render();
    QPainter painter(this);
    painter.drawPixmap(0, 0, m_picture);
    const Theme& theme = Theme::of(this);
    if (m_hovered) {
        painter.setPen(QPen(theme.text, 1));
        painter.drawRect(areaOf(*m_hovered).adjusted(0.5, 0.5, -1.5, -0.5));
    }
    if (m_selected) paintOutline(painter, *m_selected, theme);
    if (hasFocus()) paintFocus(painter, QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), theme);
}

void FlameGraph::refresh() {
    m_picture = {};
    update();
}

void FlameGraph::describe() {
    const std::size_t cells = m_data->cells.empty() ? 0 : m_data->cells.size() - 1;
    m_spoken.setName(tr("%1 of %2: %3 cells in %4 rows")
                         .arg(m_icicle ? tr("Icicle") : tr("Flame graph"), m_what)
                         .arg(cells)
                         .arg(m_data->rowCount()));
    QString text = cells > 0 ? flameText(*m_data, m_selected.value_or(0)) : QString();
    if (!m_search.isEmpty())
        text += tr(" %1 cells match, %2 of the time.")
                    .arg(m_match.cells)
                    .arg(formatPercent(m_match.share));
    m_spoken.setCurrent(text.trimmed());
}

void FlameGraph::setView(double begin, double end) {
    const double whole = m_data->whole();
    const double wide = std::clamp(end - begin, whole * kNearest, whole);
    m_begin = std::clamp(begin, 0.0, whole - wide);
    m_end = m_begin + wide;
    refresh();
    Q_EMIT zoomChanged();
}

/// `anchor`: the place that stays where it is.
void FlameGraph::zoomBy(double factor, double anchor) {
    setView(anchor - (anchor - m_begin) * factor, anchor + (m_end - anchor) * factor);
}

void FlameGraph::pick(std::size_t cell, bool zoom) {
    m_selected = cell;
    if (zoom) zoomTo(cell);
    describe();
    update();
    Q_EMIT cellPicked(cell);
}

void FlameGraph::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) return QWidget::mousePressEvent(event);
    m_pressed = event->position();
    m_pressedBegin = m_begin;
    m_pressedEnd = m_end;
    m_dragged = false;
}

void FlameGraph::mouseMoveEvent(QMouseEvent* event) {
    if (m_pressed) {
        const double by = event->position().x() - m_pressed->x();
        m_dragged = m_dragged || std::abs(by) > kDragged;
        if (m_dragged) {
            const double moved = by / std::max(1, width()) * (m_pressedEnd - m_pressedBegin);
            setView(m_pressedBegin - moved, m_pressedEnd - moved);
        }
        return;
    }
    const auto cell = cellAt(event->position());
    if (cell != m_hovered) {
        m_hovered = cell;
        update();
    }
    const QString text = cell ? flameText(*m_data, *cell) : QString();
    Q_EMIT hovered(text);
    QToolTip::showText(event->globalPosition().toPoint() + QPoint(12, 12), text, this);
}

void FlameGraph::mouseReleaseEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton || !std::exchange(m_pressed, std::nullopt)) return;
    const auto cell = cellAt(event->position());
    if (!m_dragged && cell) pick(*cell, true);
}

void FlameGraph::leaveEvent(QEvent*) {
    m_hovered.reset();
    update();
    Q_EMIT hovered({});
}

void FlameGraph::wheelEvent(QWheelEvent* event) {
    if (!event->modifiers().testFlag(Qt::ControlModifier) || m_data->empty())
        return event->ignore();  // the page scrolls
    const double turned = event->angleDelta().y() / 120.0;
    zoomBy(std::pow(0.8, turned), placeAt(event->position().x()));
    event->accept();
}

void FlameGraph::keyPressEvent(QKeyEvent* event) {
    if (m_data->empty() || (event->modifiers() & (Qt::ControlModifier | Qt::AltModifier)) != 0)
        return QWidget::keyPressEvent(event);
    switch (event->key()) {
        case Qt::Key_Left:
        case Qt::Key_Right:
        case Qt::Key_Up:
        case Qt::Key_Down:
            return step(event->key());
        case Qt::Key_Return:
        case Qt::Key_Enter:
            return m_selected ? zoomTo(*m_selected) : QWidget::keyPressEvent(event);
        default:
            if (!handleZoomKey(keyOfBlock(event->key(), event->nativeScanCode())))
                QWidget::keyPressEvent(event);
    }
}

bool FlameGraph::handleZoomKey(int key) {
    const double middle = (m_begin + m_end) / 2, tenth = (m_end - m_begin) / 10;
    const bool isAll = m_begin <= 0 && m_end >= m_data->whole();
    switch (key) {
        case Qt::Key_W:
            zoomBy(0.8, middle);
            return true;
        case Qt::Key_S:
            zoomBy(1.25, middle);
            return true;
        case Qt::Key_A:
            setView(m_begin - tenth, m_end - tenth);
            return true;
        case Qt::Key_D:
            setView(m_begin + tenth, m_end + tenth);
            return true;
        case Qt::Key_Home:
            zoomTo(0);
            return true;
        case Qt::Key_Escape:
        case Qt::Key_Backspace:
            if (isAll && m_zoomed == 0) return false;
            zoomTo(m_data->cells[m_zoomed].parent);
            return true;
        default:
            return false;
    }
}

/// To a neighbour in the row, to the widest inner cell, or to the enclosing one.
void FlameGraph::step(int key) {
    if (!m_selected) return pick(m_zoomed, false);
    const std::size_t cell = *m_selected, row = m_data->rowOf(cell);
    const bool outwards = key == (m_icicle ? Qt::Key_Up : Qt::Key_Down);
    if (key == Qt::Key_Left && cell > m_data->rows[row]) return pick(cell - 1, false);
    if (key == Qt::Key_Right && cell + 1 < m_data->rows[row + 1]) return pick(cell + 1, false);
    if (key == Qt::Key_Left || key == Qt::Key_Right) return;
    if (outwards) return pick(m_data->cells[cell].parent, false);
    if (row + 1 >= m_data->rowCount()) return;
    for (std::size_t inner = m_data->rows[row + 1]; inner < m_data->rows[row + 2]; ++inner)
        if (m_data->cells[inner].parent == cell) return pick(inner, false);  // widest first
}

void FlameGraph::contextMenuEvent(QContextMenuEvent* event) {
    const auto cell =
        event->reason() == QContextMenuEvent::Mouse ? cellAt(event->pos()) : m_selected;
    if (!cell) return;
    m_pressed.reset();
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->addAction(tr("Zoom to it"), this, [this, at = *cell, shown = m_data] {
        if (shown == m_data) zoomTo(at);
    });
    menu->addAction(tr("Show everything"), this, [this] { zoomTo(0); });
    Q_EMIT menuOpens(menu, *cell);
    menu->addSeparator();
    const auto copies = [](const QString& text) {
        return [text] { QApplication::clipboard()->setText(text); };
    };
    menu->addAction(tr("Copy name"), copies(m_data->nameOf(*cell)));
    menu->addAction(tr("Copy details"), copies(flameText(*m_data, *cell)));
    menu->popup(event->globalPos());
}

void FlameGraph::resizeEvent(QResizeEvent*) {
    refresh();
}

void FlameGraph::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) refresh();
}

}  // namespace shardscope::desktop
