// A sortable, filterable table of prepared cells: what the parts, range and memory tables share,
// and what of it goes to the clipboard. GUI thread. Knows no widget: colours are Meanings, resolved
// by the view's delegate.
#pragma once

#include "app/desktop/models/meaning.h"
#include "storage/model/units.h"

#include <QAbstractTableModel>
#include <QString>
#include <QStringList>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace shardscope::desktop {

struct TableColumn {
    QString title;
    QString definition;  ///< shown on hover of the header
    bool numeric = false;
    bool code = false;  ///< names of operators and kernels: fixed-width font
    bool quiet = false;
    int minimumWidth = 0;   ///< pixels; 0: by content
    bool editable = false;  ///< F2 or a double click writes into its cells
};

/// A fraction, shown in per cent.
struct Share {
    double fraction = 0;
};

/// What a cell says, at full precision; monostate: no more than its text.
using ExactValue =
    std::variant<std::monostate, Duration, Timestamp, Bytes, Share, std::int64_t, double>;
/// For machines: "9710000", "0.0638", empty where there is none.
[[nodiscard]] QString exactNumber(const ExactValue& value);
/// Of exactNumber(): "ns", "B"; empty: a plain number, or none.
[[nodiscard]] QString exactUnit(const ExactValue& value);

struct TableCell {
    QString text;
    QString tip;  ///< on hover; the exact value, or the text itself, when empty
    double sortKey = 0;
    Meaning swatch = Meaning::kNone;
    ExactValue exact{};
    bool alarms = false;  ///< something is wrong there; the text says it too

    [[nodiscard]] static TableCell of(Duration duration);
    [[nodiscard]] static TableCell of(Bytes bytes);
    [[nodiscard]] static TableCell of(Share share);
    [[nodiscard]] static TableCell ofCount(std::int64_t count);
    [[nodiscard]] static TableCell ofText(const QString& text, Meaning swatch = Meaning::kNone);
    /// What is not known, and why.
    [[nodiscard]] static TableCell unknown(const QString& why);
};

using TableRows = std::vector<std::vector<TableCell>>;

/// Leaves out columns, but for the first, of which no row knows anything.
void dropUnknownColumns(std::vector<TableColumn>& columns, TableRows& rows);

class TableModel : public QAbstractTableModel {
    Q_OBJECT

public:
    /// AlarmRole: bool of the cell. SwatchRole: int of Meaning. CodeRole, QuietRole, NumericRole:
    /// bool of the column.
    enum Role {
        SwatchRole = Qt::UserRole + 1,
        SortRole,
        CodeRole,
        QuietRole,
        NumericRole,
        AlarmRole
    };
    enum class TextFormat { kTabs, kCsv };

    explicit TableModel(QObject* parent = nullptr);
    /// Of the same columns as before keeps its order and filter.
    void setTable(std::vector<TableColumn> columns, TableRows rows);
    /// New cells of as many rows, in the same columns: which are selected stays.
    void updateRows(TableRows rows);
    [[nodiscard]] const std::vector<TableColumn>& columns() const { return m_columns; }
    /// Shows only rows that have `text` in a column of words.
    void setFilter(const QString& text);
    [[nodiscard]] int allRows() const { return static_cast<int>(m_rows.size()); }
    /// Place in the table that was set of a row that is shown, and back; -1: not shown.
    [[nodiscard]] int sourceRow(int row) const;
    [[nodiscard]] int rowOfSource(int sourceRow) const;

    /// For the clipboard: full precision, units in the header.
    [[nodiscard]] QString toText(TextFormat format = TextFormat::kTabs) const;
    [[nodiscard]] QString toText(const std::vector<int>& rows, TextFormat format) const;
    [[nodiscard]] QString cellText(const QModelIndex& index) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    void sort(int column, Qt::SortOrder order) override;
    [[nodiscard]] std::optional<int> sortColumn() const { return m_sortColumn; }
    [[nodiscard]] Qt::SortOrder sortOrder() const { return m_sortOrder; }

    Qt::ItemFlags flags(const QModelIndex& index) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;

Q_SIGNALS:
    /// A cell of an editable column was edited; the owner of the table updates it.
    void cellEdited(int sourceRow, int column, const QString& text);

private:
    [[nodiscard]] const TableCell& cell(int row, int column) const;
    [[nodiscard]] bool passes(const std::vector<TableCell>& row) const;
    [[nodiscard]] QString titleWithUnit(int column) const;
    void arrange();

    std::vector<TableColumn> m_columns;
    TableRows m_rows;
    std::vector<int> m_shown;  ///< of m_rows, in order
    QString m_filter;
    std::optional<int> m_sortColumn;
    Qt::SortOrder m_sortOrder = Qt::DescendingOrder;
};

// Rows of text as RFC 4180 has them: commas, CRLF, quotes where they are needed. Pure.

/// With its line end.
[[nodiscard]] QString csvLine(const QStringList& cells);

}  // namespace shardscope::desktop
