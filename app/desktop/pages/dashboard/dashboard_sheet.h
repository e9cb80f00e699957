// The dashboard as one composition, for the window, for paper and for files: a line of what was
// recorded, and the pictures in a grid. GUI thread.
#pragma once

#include "app/desktop/pages/dashboard/dashboard_model.h"
#include "app/desktop/widgets/picture_file.h"

#include <QSize>
#include <QWidget>
#include <vector>

class QGridLayout;
class QLabel;

namespace shardscope::desktop {

class DashboardSheet : public QWidget {
    Q_OBJECT

public:
    explicit DashboardSheet(QWidget* parent = nullptr);
    /// Null: nothing is shown.
    void setDashboard(const DashboardPtr& dashboard);
    [[nodiscard]] const DashboardPtr& dashboard() const { return m_dashboard; }
    /// Without the lines above the pictures, where others say the same.
    void hideTitle();
    /// Pictures in a row; what fits into its width unless set.
    void setColumns(int columns);
    [[nodiscard]] int tileCount() const { return static_cast<int>(m_tiles.size()); }

Q_SIGNALS:
    void hovered(const QString& text);

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void place();
    [[nodiscard]] int columnsHere() const;

    DashboardPtr m_dashboard;
    QLabel *m_title, *m_summary, *m_notes;
    QGridLayout* m_grid;
    std::vector<QWidget*> m_tiles;
    bool m_titled = true;
    int m_columns = 0;  ///< 0: by width
    int m_placed = 0;   ///< columns that tiles are placed in
};

// The dashboard drawn for paper and files: the window's composition, at another size. GUI thread;
// needs no display.

/// As large as it fits into `size`, on the theme's background.
[[nodiscard]] DrawnPicture drawDashboard(const DashboardPtr& dashboard, QSize size, bool dark);

}  // namespace shardscope::desktop
