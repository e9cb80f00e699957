// The tables below the lanes: one tab a kind of event, what was found, marks; a caption that says
// what the table is of, a filter. Decides nothing. GUI thread.
#pragma once

#include "app/desktop/models/table_model.h"
#include "app/desktop/pages/timeline/timeline_frame.h"

#include <QWidget>
#include <vector>

class QLabel;
class QLineEdit;
class QTabBar;

namespace shardscope::desktop {

class DataTable;

/// Beside a RangeKind a tab.
enum class TableTab : std::uint8_t { kRange, kFound, kMarks };

class TablePanel : public QWidget {
    Q_OBJECT

public:
    explicit TablePanel(QWidget* parent = nullptr);
    /// The first is shown unless the one that was shown is there too.
    void setKinds(const std::vector<RangeKind>& kinds);
    /// The tab of a kind, where there is one.
    void showKind(RangeKind kind);
    void setCaption(const QString& caption);
    /// Filters the rows, and shows that it does.
    void setFilter(const QString& text);
    /// Where there is none yet.
    void addTab(TableTab tab);
    /// Shows a tab, which is added where there is none yet.
    void showTab(TableTab tab);
    void dropTab(TableTab tab);
    [[nodiscard]] TableTab tab() const;
    /// Of the last tab of ranges.
    [[nodiscard]] RangeKind kind() const { return m_kind; }
    [[nodiscard]] DataTable& table() const { return *m_table; }
    [[nodiscard]] QTabBar& tabs() const { return *m_tabs; }
    [[nodiscard]] const QString& caption() const { return m_captionText; }

Q_SIGNALS:
    /// Another tab: its table is wanted.
    void tabChanged();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void fitCaption();
    void changeTab(int index);
    [[nodiscard]] int indexOf(TableTab tab) const;

    QTabBar* m_tabs;
    QLabel* m_caption;
    QString m_captionText;
    QLineEdit* m_filter;
    DataTable* m_table;
    RangeKind m_kind = RangeKind::kKernels;
};

}  // namespace shardscope::desktop
