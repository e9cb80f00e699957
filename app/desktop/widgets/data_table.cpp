#include "app/desktop/widgets/data_table.h"

#include "app/desktop/widgets/painting.h"
#include "app/desktop/widgets/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QHeaderView>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QLabel>
#include <QMenu>
#include <QPainter>
#include <QScrollBar>
#include <QStyle>
#include <QStyledItemDelegate>
#include <QToolTip>
#include <QWidgetAction>
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kRow = 28;
constexpr int kDefinitionWidth = 280;
constexpr int kMargin = 8;  ///< of a cell, on both sides

class CellDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override {
        const Theme& theme = Theme::of(option.widget);
        painter->save();
        if (option.state.testFlag(QStyle::State_Selected))
            painter->fillRect(option.rect, theme.neutral);
        painter->fillRect(QRect(option.rect.left(), option.rect.bottom(), option.rect.width(), 1),
                          theme.hairline);
        const auto meaning = static_cast<Meaning>(index.data(TableModel::SwatchRole).toInt());
        if (meaning != Meaning::kNone)
            paintSwatch(*painter,
                        QRectF(option.rect.left() + kMargin, QRectF(option.rect).center().y() - 5.5,
                               10, 10),
                        theme.fill(meaning), theme);
        painter->setFont(fontOf(index));
        painter->setPen(index.data(TableModel::AlarmRole).toBool()   ? theme.bad
                        : index.data(TableModel::QuietRole).toBool() ? theme.quietText
                                                                     : theme.text);
        const bool numeric = index.data(TableModel::NumericRole).toBool();
        // as the header above it
        drawTabular(
            *painter, areaOf(option.rect, index),
            QStyle::visualAlignment(option.direction, numeric ? Qt::AlignRight : Qt::AlignLeft),
            shownText(option.rect, index));
        painter->restore();
    }

    /// What is cut is said whole, before what there is to say about it.
    bool helpEvent(QHelpEvent* event, QAbstractItemView* view, const QStyleOptionViewItem& option,
                   const QModelIndex& index) override {
        const QString text = index.data().toString();
        if (event->type() != QEvent::ToolTip || shownText(option.rect, index) == text)
            return QStyledItemDelegate::helpEvent(event, view, option, index);
        const QString tip = index.data(Qt::ToolTipRole).toString();
        const bool isSaid = tip.contains(text);
        QToolTip::showText(event->globalPos(), isSaid ? tip : text + u'\n' + tip, view);
        return true;
    }

    /// Of its cell, so that nothing is cut.
    static int widthOf(const QModelIndex& index) {
        const QFont font = fontOf(index);
        const QString text = index.data().toString();
        const double wide =
            std::max(QFontMetricsF(font).horizontalAdvance(text), tabularWidth(font, text));
        return static_cast<int>(std::ceil(wide)) + 2 * kMargin + swatchOf(index);
    }

private:
    static QFont fontOf(const QModelIndex& index) {
        return index.data(TableModel::CodeRole).toBool() ? codeFont(kSmallPixels)
                                                         : textFont(kTextPixels);
    }
    static int swatchOf(const QModelIndex& index) {
        constexpr int kSwatch = 18;
        const auto meaning = static_cast<Meaning>(index.data(TableModel::SwatchRole).toInt());
        return meaning == Meaning::kNone ? 0 : kSwatch;
    }
    static QRectF areaOf(const QRect& cell, const QModelIndex& index) {
        return QRectF(cell).adjusted(kMargin + swatchOf(index), 0, -kMargin, -1);
    }
    static QString shownText(const QRect& cell, const QModelIndex& index) {
        const bool code = index.data(TableModel::CodeRole).toBool();
        return QFontMetricsF(fontOf(index))
            .elidedText(index.data().toString(), code ? Qt::ElideMiddle : Qt::ElideRight,
                        areaOf(cell, index).width() + 2);
    }
};

/// Gives of `room` to those that have less than they want, as much to each as it can use.
void share(int& room, const std::vector<int>& wanted, std::vector<int>& widths) {
    std::vector<std::size_t> order(widths.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto lack = [&](std::size_t i) { return std::max(0, wanted[i] - widths[i]); };
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return lack(a) < lack(b); });
    for (std::size_t i = 0; i < order.size(); ++i) {
        const int fair = room / static_cast<int>(order.size() - i);
        const int given = std::min(lack(order[i]), fair);
        widths[order[i]] += given;
        room -= given;
    }
}

void copy(const QString& text) {
    QApplication::clipboard()->setText(text);
}

}  // namespace

DataTable::DataTable(const QString& accessibleName, QWidget* parent)
    : QTableView(parent), m_model(new TableModel(this)) {
    setModel(m_model);
    setAccessibleName(accessibleName);
    setItemDelegate(new CellDelegate(this));
    setShowGrid(false);
    setFrameShape(QFrame::NoFrame);
    setSelectionBehavior(QAbstractItemView::SelectRows);
    setEditTriggers(QAbstractItemView::DoubleClicked | QAbstractItemView::EditKeyPressed);
    setTabKeyNavigation(false);
    setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    viewport()->setAutoFillBackground(false);
    verticalHeader()->hide();
    verticalHeader()->setDefaultSectionSize(kRow);
    verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    QHeaderView* header = horizontalHeader();
    header->setFixedHeight(kRow);
    header->setHighlightSections(false);
    header->setSectionsClickable(true);
    header->setTextElideMode(Qt::ElideRight);
    header->setFont(textFont(kSmallPixels));
    header->setContextMenuPolicy(Qt::CustomContextMenu);
    connect(header, &QHeaderView::sectionClicked, this, &DataTable::sortBy);
    // the arrow of sorting takes room
    connect(m_model, &QAbstractItemModel::headerDataChanged, this, [this] {
        measure();
        fitColumns();
    });
    connect(header, &QHeaderView::customContextMenuRequested, this, &DataTable::showHeaderMenu);
    connect(this, &QTableView::doubleClicked, this, [this](const QModelIndex& index) {
        if (!m_model->flags(index).testFlag(Qt::ItemIsEditable))
            Q_EMIT rowActivated(m_model->sourceRow(index.row()));
    });
}

void DataTable::sortBy(int section) {
    const bool again = m_model->sortColumn() == section;
    const bool descending = !again || m_model->sortOrder() == Qt::AscendingOrder;
    m_model->sort(section, descending ? Qt::DescendingOrder : Qt::AscendingOrder);
}

void DataTable::setTable(std::vector<TableColumn> columns, TableRows rows) {
    m_model->setTable(std::move(columns), std::move(rows));
    m_needed.clear();
    measure();
    fitColumns();
    fitHeight();
}

void DataTable::updateTable(std::vector<TableColumn> columns, TableRows rows) {
    const bool same = columns.size() == m_model->columns().size() &&
                      static_cast<int>(rows.size()) == m_model->allRows();
    if (!same) return setTable(std::move(columns), std::move(rows));
    m_model->updateRows(std::move(rows));
    // wider at most: columns that follow every figure would not stand still
    const std::vector<int> before = m_needed;
    measure();
    if (m_needed != before) fitColumns();
}

void DataTable::setFitsRows(bool fits) {
    m_fitsRows = fits;
    setVerticalScrollBarPolicy(fits ? Qt::ScrollBarAlwaysOff : Qt::ScrollBarAsNeeded);
    fitHeight();
}

void DataTable::setRowsSeen(int most) {
    m_mostRowsSeen = most;
    fitHeight();
}

void DataTable::selectSource(int sourceRow) {
    const int row = m_model->rowOfSource(sourceRow);
    m_isQuiet = true;
    if (row < 0)
        clearSelection();
    else  // selectRow() would heed the keys that are held
        selectionModel()->setCurrentIndex(
            m_model->index(row, 0),
            QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
    m_isQuiet = false;
    if (row >= 0) scrollTo(m_model->index(row, 0));
}

void DataTable::fitHeight() {
    if (!m_fitsRows && m_mostRowsSeen == 0) return;
    const bool scrolls = horizontalScrollBar()->maximum() > 0;
    const int rows =
        m_fitsRows ? m_model->rowCount() : std::min(m_mostRowsSeen, m_model->allRows());
    setFixedHeight(kRow * (rows + 1) + 2 +
                   (scrolls ? horizontalScrollBar()->sizeHint().height() : 0));
}

/// Of its title, and of its longest texts.
int DataTable::neededWidth(int column) const {
    constexpr std::size_t kMeasured = 200;
    std::vector<std::pair<qsizetype, int>> rows;
    for (int row = 0; row < m_model->rowCount(); ++row)
        rows.emplace_back(m_model->index(row, column).data().toString().size(), row);
    if (rows.size() > kMeasured) {
        std::nth_element(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(kMeasured),
                         rows.end(), std::greater<>());
        rows.resize(kMeasured);
    }
    const QString title = m_model->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
    const QFontMetrics header(horizontalHeader()->font());
    int widest = header.horizontalAdvance(title) + 2 * kMargin + 1;
    for (const auto& [size, row] : rows)
        widest = std::max(widest, CellDelegate::widthOf(m_model->index(row, column)));
    return widest;
}

void DataTable::measure() {
    m_needed.resize(m_model->columns().size());
    for (int i = 0; i < m_model->columnCount(); ++i) {
        int& needed = m_needed[static_cast<std::size_t>(i)];
        needed = std::max(needed, neededWidth(i));
    }
}

/// Nothing is cut where there is room for it: columns that have more than they need give it to
/// those that lack it, and what is left goes to one of them.
void DataTable::fitColumns() {
    const auto& columns = m_model->columns();
    if (columns.size() != m_needed.size() || columns.empty()) return;
    std::vector<int> usual, widths;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        usual.push_back(columns[i].minimumWidth);
        widths.push_back(std::min(usual.back(), m_needed[i]));
    }
    int room = viewport()->width() - std::accumulate(widths.begin(), widths.end(), 0);
    room = std::max(0, room);
    share(room, m_needed, widths);
    share(room, usual, widths);
    // the first column of names, or the last that explains
    std::size_t elastic = columns.back().numeric ? 0 : columns.size() - 1;
    for (std::size_t i = 0; i < columns.size(); ++i)
        if (columns[i].code) elastic = i;
    widths[elastic] += room;
    for (std::size_t i = 0; i < columns.size(); ++i) setColumnWidth(static_cast<int>(i), widths[i]);
}

void DataTable::resizeEvent(QResizeEvent* event) {
    QTableView::resizeEvent(event);
    fitColumns();
    fitHeight();
}

void DataTable::copyRows() {
    std::vector<int> rows;
    for (const QModelIndex& index : selectionModel()->selectedRows()) rows.push_back(index.row());
    std::sort(rows.begin(), rows.end());
    copy(rows.empty() ? m_model->toText() : m_model->toText(rows, TableModel::TextFormat::kTabs));
}

void DataTable::keyPressEvent(QKeyEvent* event) {
    const bool isReturn = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
    if (event->matches(QKeySequence::Copy)) {
        copyRows();
    } else if (event->key() == Qt::Key_C &&
               event->modifiers() == (Qt::ControlModifier | Qt::ShiftModifier)) {
        copy(m_model->cellText(currentIndex()));
    } else if (isReturn && currentIndex().isValid()) {
        Q_EMIT rowActivated(m_model->sourceRow(currentIndex().row()));
    } else {
        QTableView::keyPressEvent(event);
    }
}

void DataTable::selectionChanged(const QItemSelection& now, const QItemSelection& before) {
    QTableView::selectionChanged(now, before);
    const QModelIndexList rows = selectionModel()->selectedRows();
    if (!m_isQuiet && rows.size() == 1) Q_EMIT rowPicked(m_model->sourceRow(rows.front().row()));
}

void DataTable::contextMenuEvent(QContextMenuEvent* event) {
    const bool byKey = event->reason() == QContextMenuEvent::Keyboard;
    const QModelIndex at = byKey ? currentIndex() : indexAt(event->pos());
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    if (at.isValid()) {
        Q_EMIT menuOpens(menu, m_model->sourceRow(at.row()));
        if (!menu->isEmpty()) menu->addSeparator();
        menu->addAction(tr("Copy cell"), [text = m_model->cellText(at)] { copy(text); });
        menu->addAction(tr("Copy rows"), this, &DataTable::copyRows);
    }
    menu->addAction(tr("Copy table"), this, [this] { copy(m_model->toText()); });
    menu->addAction(tr("Copy table as CSV"), this,
                    [this] { copy(m_model->toText(TableModel::TextFormat::kCsv)); });
    if (byKey && at.isValid()) {
        // headers have no focus, and no menu that a key opens
        menu->addSeparator();
        addSorting(*menu, at.column());
    }
    menu->popup(byKey ? viewport()->mapToGlobal(visualRect(at).center()) : event->globalPos());
}

void DataTable::addSorting(QMenu& menu, int section) {
    menu.addAction(tr("Largest first"), this,
                   [this, section] { m_model->sort(section, Qt::DescendingOrder); });
    menu.addAction(tr("Smallest first"), this,
                   [this, section] { m_model->sort(section, Qt::AscendingOrder); });
}

void DataTable::showHeaderMenu(QPoint at) {
    const int section = horizontalHeader()->logicalIndexAt(at);
    if (section < 0) return;
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    const TableColumn& column = m_model->columns()[static_cast<std::size_t>(section)];
    if (!column.definition.isEmpty()) {
        auto* label = new QLabel(u"%1: %2"_s.arg(column.title, column.definition), menu);
        label->setWordWrap(true);
        label->setFixedWidth(kDefinitionWidth);
        label->setMargin(8);
        auto* definition = new QWidgetAction(menu);
        definition->setText(label->text());
        definition->setDefaultWidget(label);
        menu->addAction(definition);
        menu->addSeparator();
    }
    addSorting(*menu, section);
    menu->popup(horizontalHeader()->mapToGlobal(at));
}

}  // namespace shardscope::desktop
