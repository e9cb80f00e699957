// A table in the pages' style: hairlines between rows, swatches, figures of equal width,
// sortable by its headers, Ctrl+C copies. GUI thread; owns its model.
#pragma once

#include "app/desktop/models/table_model.h"

#include <QTableView>

namespace shardscope::desktop {

class DataTable : public QTableView {
    Q_OBJECT

public:
    explicit DataTable(const QString& accessibleName, QWidget* parent = nullptr);
    [[nodiscard]] TableModel* table() const { return m_model; }
    void setTable(std::vector<TableColumn> columns, std::vector<std::vector<TableCell>> rows);
    /// As high as its rows instead of scrolling.
    void setFitsRows(bool fits);

protected:
    void keyPressEvent(QKeyEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void fitColumns();
    void fitHeight();

    TableModel* m_model;
    bool m_fitsRows = false;
};

}  // namespace shardscope::desktop
