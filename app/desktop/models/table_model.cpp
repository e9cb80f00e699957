#include "app/desktop/models/table_model.h"

#include "app/desktop/models/format.h"
#include "storage/model/plain_text.h"

#include <QStringList>
#include <algorithm>
#include <numeric>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

template <class... Cases>
struct Match : Cases... {
    using Cases::operator()...;
};
template <class... Cases>
Match(Cases...) -> Match<Cases...>;

QString tabbedLine(const QStringList& cells) {
    QStringList texts;
    for (const QString& cell : cells)
        texts << QString::fromStdString(printableLine(cell.toStdString()));
    return texts.join(u'\t') + u'\n';
}

QString exactText(const TableCell& cell) {
    if (cell.exact.index() != 0) return exactNumber(cell.exact);
    return cell.text == unknownText() ? QString() : cell.text;
}

/// "9,710,000 ns"
QString tipOf(const TableCell& cell) {
    if (!cell.tip.isEmpty()) return cell.tip;
    const auto counted = [](std::int64_t number, const ExactValue& value) {
        const QString unit = exactUnit(value);
        return unit.isEmpty() ? formatCount(number) : ValueText{formatCount(number), unit}.joined();
    };
    return std::visit(
        Match{[&](std::monostate) { return cell.text; },
              [&](Duration value) { return counted(value.ns, cell.exact); },
              [&](Timestamp value) { return counted(value.ns, cell.exact); },
              [&](Bytes value) { return counted(value.count, cell.exact); },
              [&](std::int64_t value) { return counted(value, cell.exact); },
              [&](Share value) {
                  return ValueText{QString::number(value.fraction * 100, 'g', 8), u"%"_s}.joined();
              },
              [&](double value) { return QString::number(value, 'g', 12); }},
        cell.exact);
}

bool haveSameTitles(const std::vector<TableColumn>& a, const std::vector<TableColumn>& b) {
    return std::equal(
        a.begin(), a.end(), b.begin(), b.end(),
        [](const TableColumn& x, const TableColumn& y) { return x.title == y.title; });
}

}  // namespace

QString exactNumber(const ExactValue& value) {
    return std::visit(Match{[](std::monostate) { return QString(); },
                            [](Duration duration) { return QString::number(duration.ns); },
                            [](Timestamp time) { return QString::number(time.ns); },
                            [](Bytes bytes) { return QString::number(bytes.count); },
                            [](Share share) { return QString::number(share.fraction, 'g', 12); },
                            [](std::int64_t count) { return QString::number(count); },
                            [](double number) { return QString::number(number, 'g', 15); }},
                      value);
}

QString exactUnit(const ExactValue& value) {
    if (std::holds_alternative<Duration>(value) || std::holds_alternative<Timestamp>(value))
        return u"ns"_s;
    return std::holds_alternative<Bytes>(value) ? u"B"_s : QString();
}

TableCell TableCell::of(Duration duration) {
    return {
        formatDuration(duration), {}, static_cast<double>(duration.ns), Meaning::kNone, duration};
}

TableCell TableCell::of(Bytes bytes) {
    return {formatBytes(bytes), {}, static_cast<double>(bytes.count), Meaning::kNone, bytes};
}

TableCell TableCell::of(Share share) {
    return {formatPercent(share.fraction), {}, share.fraction, Meaning::kNone, share};
}

TableCell TableCell::ofCount(std::int64_t count) {
    return {formatCount(count), {}, static_cast<double>(count), Meaning::kNone, count};
}

TableCell TableCell::ofText(const QString& text, Meaning swatch) {
    return {text, {}, 0, swatch, {}};
}

TableCell TableCell::unknown(const QString& why) {
    return {unknownText(), why, -1, Meaning::kNone, {}};
}

void dropUnknownColumns(std::vector<TableColumn>& columns, TableRows& rows) {
    if (rows.empty()) return;
    for (std::size_t column = columns.size(); column-- > 1;) {
        const bool known = std::any_of(rows.begin(), rows.end(), [column](const auto& row) {
            return row[column].text != unknownText() && row[column].text != u"n/a"_s;
        });
        if (known) continue;
        const auto place = static_cast<std::ptrdiff_t>(column);
        columns.erase(columns.begin() + place);
        for (auto& row : rows) row.erase(row.begin() + place);
    }
}

TableModel::TableModel(QObject* parent) : QAbstractTableModel(parent) {}

void TableModel::setTable(std::vector<TableColumn> columns, TableRows rows) {
    beginResetModel();
    if (!haveSameTitles(columns, m_columns)) {
        m_sortColumn.reset();
        m_filter.clear();
    }
    m_columns = std::move(columns);
    m_rows = std::move(rows);
    arrange();
    endResetModel();
}

void TableModel::updateRows(TableRows rows) {
    if (rows.size() != m_rows.size()) return setTable(m_columns, std::move(rows));
    Q_EMIT layoutAboutToBeChanged();
    const QModelIndexList before = persistentIndexList();
    std::vector<int> sources;
    for (const QModelIndex& each : before) sources.push_back(sourceRow(each.row()));
    m_rows = std::move(rows);
    arrange();
    QModelIndexList after;
    for (qsizetype i = 0; i < before.size(); ++i) {
        const int row = rowOfSource(sources[static_cast<std::size_t>(i)]);
        after << (row < 0 ? QModelIndex() : index(row, before[i].column()));
    }
    changePersistentIndexList(before, after);
    Q_EMIT layoutChanged();
}

void TableModel::setFilter(const QString& text) {
    if (text == m_filter) return;
    beginResetModel();
    m_filter = text;
    arrange();
    endResetModel();
}

bool TableModel::passes(const std::vector<TableCell>& row) const {
    if (m_filter.isEmpty()) return true;
    for (std::size_t i = 0; i < row.size(); ++i)
        if (!m_columns[i].numeric && row[i].text.contains(m_filter, Qt::CaseInsensitive))
            return true;
    return false;
}

/// What is shown, and in which order; without one the order in which it was given.
void TableModel::arrange() {
    m_shown.clear();
    for (std::size_t i = 0; i < m_rows.size(); ++i)
        if (passes(m_rows[i])) m_shown.push_back(static_cast<int>(i));
    if (!m_sortColumn) return;
    const auto at = static_cast<std::size_t>(*m_sortColumn);
    const bool numeric = m_columns[at].numeric;
    const auto before = [&](int left, int right) {
        if (m_sortOrder == Qt::DescendingOrder) std::swap(left, right);
        const TableCell& a = m_rows[static_cast<std::size_t>(left)][at];
        const TableCell& b = m_rows[static_cast<std::size_t>(right)][at];
        return numeric ? a.sortKey < b.sortKey : a.text.localeAwareCompare(b.text) < 0;
    };
    std::stable_sort(m_shown.begin(), m_shown.end(), before);
}

const TableCell& TableModel::cell(int row, int column) const {
    return m_rows[static_cast<std::size_t>(sourceRow(row))][static_cast<std::size_t>(column)];
}

int TableModel::sourceRow(int row) const {
    return row >= 0 && row < rowCount() ? m_shown[static_cast<std::size_t>(row)] : -1;
}

int TableModel::rowOfSource(int sourceRow) const {
    const auto found = std::find(m_shown.begin(), m_shown.end(), sourceRow);
    return found == m_shown.end() ? -1 : static_cast<int>(found - m_shown.begin());
}

QString TableModel::titleWithUnit(int column) const {
    const QString& title = m_columns[static_cast<std::size_t>(column)].title;
    for (int row = 0; row < rowCount(); ++row)
        if (const QString unit = exactUnit(cell(row, column).exact); !unit.isEmpty())
            return u"%1 [%2]"_s.arg(title, unit);
    return title;
}

QString TableModel::toText(TextFormat format) const {
    std::vector<int> all(m_shown.size());
    std::iota(all.begin(), all.end(), 0);
    return toText(all, format);
}

QString TableModel::toText(const std::vector<int>& rows, TextFormat format) const {
    const auto line = format == TextFormat::kCsv ? csvLine : tabbedLine;
    QStringList titles;
    for (int column = 0; column < columnCount(); ++column) titles << titleWithUnit(column);
    QString text = line(titles);
    for (int row : rows) {
        QStringList texts;
        for (int column = 0; column < columnCount(); ++column)
            texts << exactText(cell(row, column));
        text += line(texts);
    }
    if (format == TextFormat::kTabs) text.chop(1);  // a paste ends where its last row does
    return text;
}

QString TableModel::cellText(const QModelIndex& index) const {
    return index.isValid() ? exactText(cell(index.row(), index.column())) : QString();
}

int TableModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_shown.size());
}

int TableModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_columns.size());
}

QVariant TableModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) return {};
    const TableColumn& column = m_columns[static_cast<std::size_t>(index.column())];
    const TableCell& shown = cell(index.row(), index.column());
    switch (role) {
        case Qt::DisplayRole:
        case Qt::EditRole:
            return shown.text;
        case Qt::ToolTipRole:
            return tipOf(shown);
        case Qt::TextAlignmentRole:
            return QVariant::fromValue(Qt::AlignVCenter |
                                       (column.numeric ? Qt::AlignRight : Qt::AlignLeft));
        case SwatchRole:
            return static_cast<int>(shown.swatch);
        case SortRole:
            return shown.sortKey;
        case CodeRole:
            return column.code;
        case QuietRole:
            return column.quiet;
        case AlarmRole:
            return shown.alarms;
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
            if (m_sortColumn != section) return column.title;
            return column.title + (m_sortOrder == Qt::AscendingOrder ? u" ↑"_s : u" ↓"_s);
        case Qt::ToolTipRole:
            // narrow columns cut their titles off
            return column.definition.isEmpty() ? column.title
                                               : u"%1: %2"_s.arg(column.title, column.definition);
        case Qt::TextAlignmentRole:
            return QVariant::fromValue(Qt::AlignVCenter |
                                       (column.numeric ? Qt::AlignRight : Qt::AlignLeft));
        default:
            return {};
    }
}

Qt::ItemFlags TableModel::flags(const QModelIndex& index) const {
    const Qt::ItemFlags flags = QAbstractTableModel::flags(index);
    const bool editable =
        index.isValid() && m_columns[static_cast<std::size_t>(index.column())].editable;
    return editable ? flags | Qt::ItemIsEditable : flags;
}

bool TableModel::setData(const QModelIndex& index, const QVariant& value, int role) {
    if (role != Qt::EditRole || !flags(index).testFlag(Qt::ItemIsEditable)) return false;
    Q_EMIT cellEdited(sourceRow(index.row()), index.column(), value.toString());
    return true;
}

void TableModel::sort(int column, Qt::SortOrder order) {
    if (column < 0 || column >= columnCount()) return;
    beginResetModel();
    m_sortColumn = column;
    m_sortOrder = order;
    arrange();
    endResetModel();
    Q_EMIT headerDataChanged(Qt::Horizontal, 0, columnCount() - 1);
}

QString csvLine(const QStringList& cells) {
    QStringList quoted;
    for (QString cell : cells) {
        // what is written for eyes: programs read a hyphen as a sign, and plain spaces
        cell.replace(QChar(0x2212), u'-');
        for (const char16_t space : {u'\u00A0', u'\u2009', u'\u202F'}) cell.replace(space, u' ');
        quoted << QString::fromStdString(csvField(cell.toStdString()));
    }
    return quoted.join(u',') + u"\r\n"_s;
}

}  // namespace shardscope::desktop
