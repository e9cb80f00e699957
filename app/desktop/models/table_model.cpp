#include "app/desktop/models/table_model.h"

#include <QStringList>
#include <algorithm>

namespace shardscope::desktop {

TableModel::TableModel(QObject* parent) : QAbstractTableModel(parent) {}

void TableModel::setTable(std::vector<TableColumn> columns,
                          std::vector<std::vector<TableCell>> rows) {
    beginResetModel();
    m_columns = std::move(columns);
    m_rows = std::move(rows);
    endResetModel();
}

QString TableModel::toText() const {
    QStringList lines;
    QStringList titles;
    for (const TableColumn& column : m_columns) titles << column.title;
    lines << titles.join(u'\t');
    for (const auto& row : m_rows) {
        QStringList texts;
        for (const TableCell& cell : row) texts << cell.text;
        lines << texts.join(u'\t');
    }
    return lines.join(u'\n');
}

int TableModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int TableModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_columns.size());
}

QVariant TableModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) return {};
    const TableColumn& column = m_columns[static_cast<std::size_t>(index.column())];
    const TableCell& cell =
        m_rows[static_cast<std::size_t>(index.row())][static_cast<std::size_t>(index.column())];
    switch (role) {
        case Qt::DisplayRole:
            return cell.text;
        case Qt::ToolTipRole:
            return cell.tip.isEmpty() ? cell.text : cell.tip;
        case Qt::TextAlignmentRole:
            return QVariant::fromValue(Qt::AlignVCenter |
                                       (column.numeric ? Qt::AlignRight : Qt::AlignLeft));
        case SwatchRole:
            return static_cast<int>(cell.swatch);
        case SortRole:
            return cell.sortKey;
        case CodeRole:
            return column.code;
        case QuietRole:
            return column.quiet;
        case NumericRole:
            return column.numeric;
        default:
            return {};
    }
}

QVariant TableModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) return {};
    const TableColumn& column = m_columns[static_cast<std::size_t>(section)];
    switch (role) {
        case Qt::DisplayRole:
            return column.title;
        case Qt::ToolTipRole:
            return column.definition.isEmpty() ? QVariant{} : column.definition;
        case Qt::TextAlignmentRole:
            return QVariant::fromValue(Qt::AlignVCenter |
                                       (column.numeric ? Qt::AlignRight : Qt::AlignLeft));
        default:
            return {};
    }
}

void TableModel::sort(int column, Qt::SortOrder order) {
    if (column < 0 || column >= columnCount()) return;
    const auto at = static_cast<std::size_t>(column);
    const bool numeric = m_columns[at].numeric;
    beginResetModel();
    std::stable_sort(m_rows.begin(), m_rows.end(), [&](const auto& left, const auto& right) {
        const TableCell& a = order == Qt::AscendingOrder ? left[at] : right[at];
        const TableCell& b = order == Qt::AscendingOrder ? right[at] : left[at];
        return numeric ? a.sortKey < b.sortKey : a.text.localeAwareCompare(b.text) < 0;
    });
    endResetModel();
}

}  // namespace shardscope::desktop
