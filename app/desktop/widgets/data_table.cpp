#include "app/desktop/widgets/data_table.h"

#include "app/desktop/widgets/painting.h"
#include "app/desktop/widgets/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QKeyEvent>
#include <QPainter>
#include <QStyledItemDelegate>
#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kRow = 28;

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
        QRectF area = QRectF(option.rect).adjusted(8, 0, -8, -1);
        const auto meaning = static_cast<Meaning>(index.data(TableModel::SwatchRole).toInt());
        if (meaning != Meaning::kNone) {
            paintSwatch(*painter, QRectF(area.left(), area.center().y() - 5, 10, 10),
                        theme.fill(meaning), theme);
            area.setLeft(area.left() + 18);
        }
        const bool code = index.data(TableModel::CodeRole).toBool();
        painter->setFont(code ? codeFont(kSmallPixels) : textFont(kTextPixels));
        painter->setPen(index.data(TableModel::QuietRole).toBool() ? theme.quietText : theme.text);
        const bool numeric = index.data(TableModel::NumericRole).toBool();
        const QString text =
            QFontMetricsF(painter->font())
                .elidedText(index.data().toString(), code ? Qt::ElideMiddle : Qt::ElideRight,
                            area.width() + 2);
        drawTabular(*painter, area, numeric ? Qt::AlignRight : Qt::AlignLeft, text);
        painter->restore();
    }
};

}  // namespace

DataTable::DataTable(const QString& accessibleName, QWidget* parent)
    : QTableView(parent), m_model(new TableModel(this)) {
    setModel(m_model);
    setAccessibleName(accessibleName);
    setItemDelegate(new CellDelegate(this));
    setShowGrid(false);
    setFrameShape(QFrame::NoFrame);
    setSelectionBehavior(QAbstractItemView::SelectRows);
    setEditTriggers(QAbstractItemView::NoEditTriggers);
    setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    viewport()->setAutoFillBackground(false);
    verticalHeader()->hide();
    verticalHeader()->setDefaultSectionSize(kRow);
    verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    horizontalHeader()->setFixedHeight(kRow);
    horizontalHeader()->setHighlightSections(false);
    horizontalHeader()->setSectionsClickable(true);
    horizontalHeader()->setFont(textFont(kSmallPixels));
    connect(horizontalHeader(), &QHeaderView::sectionClicked, this, [this](int section) {
        const bool again = horizontalHeader()->sortIndicatorSection() == section;
        const bool descending =
            !again || horizontalHeader()->sortIndicatorOrder() == Qt::AscendingOrder;
        const Qt::SortOrder order = descending ? Qt::DescendingOrder : Qt::AscendingOrder;
        horizontalHeader()->setSortIndicator(section, order);
        m_model->sort(section, order);
    });
}

void DataTable::setTable(std::vector<TableColumn> columns,
                         std::vector<std::vector<TableCell>> rows) {
    m_model->setTable(std::move(columns), std::move(rows));
    fitColumns();
    fitHeight();
}

void DataTable::setFitsRows(bool fits) {
    m_fitsRows = fits;
    setVerticalScrollBarPolicy(fits ? Qt::ScrollBarAlwaysOff : Qt::ScrollBarAsNeeded);
    fitHeight();
}

void DataTable::fitHeight() {
    if (m_fitsRows) setFixedHeight(kRow * (m_model->rowCount() + 1) + 2);
}

void DataTable::fitColumns() {
    const auto& columns = m_model->columns();
    if (columns.empty()) return;
    int fixed = 0;
    for (const TableColumn& column : columns) fixed += column.minimumWidth;
    // what is left goes to the first column of names, or to the last that explains
    std::size_t elastic = columns.back().numeric ? 0 : columns.size() - 1;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (columns[i].code) elastic = i;
    }
    const int spare = std::max(0, viewport()->width() - fixed);
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const int wide = columns[i].minimumWidth + (i == elastic ? spare : 0);
        setColumnWidth(static_cast<int>(i), wide);
    }
}

void DataTable::resizeEvent(QResizeEvent* event) {
    QTableView::resizeEvent(event);
    fitColumns();
}

void DataTable::keyPressEvent(QKeyEvent* event) {
    if (event->matches(QKeySequence::Copy)) {
        QApplication::clipboard()->setText(m_model->toText());
        return;
    }
    QTableView::keyPressEvent(event);
}

}  // namespace shardscope::desktop
