// A table in the pages' style: hairlines between rows, swatches, figures of equal width, sortable
// by its headers. Ctrl+C copies the selected rows, Ctrl+Shift+C the current cell, at full
// precision; Tab goes on to the next widget. GUI thread; owns its model.
#pragma once

#include "app/desktop/models/table_model.h"

#include <QTableView>
#include <vector>

class QMenu;

namespace shardscope::desktop {

class DataTable : public QTableView {
    Q_OBJECT

public:
    explicit DataTable(const QString& accessibleName, QWidget* parent = nullptr);
    [[nodiscard]] TableModel* table() const { return m_model; }
    void setTable(std::vector<TableColumn> columns, TableRows rows);
    /// The same rows at another time: what is selected and how far it is scrolled stays, where
    /// columns and rows are as many as before.
    void updateTable(std::vector<TableColumn> columns, TableRows rows);
    /// As high as its rows instead of scrolling.
    void setFitsRows(bool fits);
    /// As high as its rows, hidden ones too, up to so many; the others scroll.
    void setRowsSeen(int most);
    /// Selects a row of what was set, and scrolls to it; of one that is not shown, nothing.
    void selectSource(int sourceRow);

Q_SIGNALS:
    /// One row was selected by mouse or key: its place in what was set.
    void rowPicked(int sourceRow);
    /// Double click or Enter.
    void rowActivated(int sourceRow);
    /// `menu` opens over a row: to be added to.
    void menuOpens(QMenu* menu, int sourceRow);

protected:
    void keyPressEvent(QKeyEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void selectionChanged(const QItemSelection& now, const QItemSelection& before) override;

private:
    void sortBy(int section);
    void copyRows();
    void showHeaderMenu(QPoint at);
    void addSorting(QMenu& menu, int section);
    [[nodiscard]] int neededWidth(int column) const;
    void measure();
    void fitColumns();
    void fitHeight();

    TableModel* m_model;
    std::vector<int> m_needed;  ///< widths of columns in which nothing is cut
    bool m_fitsRows = false;
    int m_mostRowsSeen = 0;  ///< 0: as its layout has it
    bool m_isQuiet = false;  ///< the selection is not the user's
};

}  // namespace shardscope::desktop
