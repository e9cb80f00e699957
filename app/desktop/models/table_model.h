// A sortable table of prepared cells: what the parts, range and memory tables share.
// GUI thread. Knows no widget: colours are Meanings, resolved by the view's delegate.
#pragma once

#include "app/desktop/models/meaning.h"

#include <QAbstractTableModel>
#include <QString>
#include <vector>

namespace shardscope::desktop {

struct TableColumn {
    QString title;
    QString definition;  ///< shown on hover of the header
    bool numeric = false;
    bool code = false;  ///< names of operators and kernels: fixed-width font
    bool quiet = false;
    int minimumWidth = 0;  ///< pixels; 0: by content
};

struct TableCell {
    QString text;
    QString tip;  ///< full value; the text itself when empty
    double sortKey = 0;
    Meaning swatch = Meaning::kNone;
};

class TableModel : public QAbstractTableModel {
    Q_OBJECT

public:
    /// SwatchRole: int of Meaning. CodeRole, QuietRole, NumericRole: bool of the column.
    enum Role { SwatchRole = Qt::UserRole + 1, SortRole, CodeRole, QuietRole, NumericRole };

    explicit TableModel(QObject* parent = nullptr);
    void setTable(std::vector<TableColumn> columns, std::vector<std::vector<TableCell>> rows);
    [[nodiscard]] const std::vector<TableColumn>& columns() const { return m_columns; }
    /// Tab-separated, header first: what Copy puts on the clipboard.
    [[nodiscard]] QString toText() const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    void sort(int column, Qt::SortOrder order) override;

private:
    std::vector<TableColumn> m_columns;
    std::vector<std::vector<TableCell>> m_rows;
};

}  // namespace shardscope::desktop
