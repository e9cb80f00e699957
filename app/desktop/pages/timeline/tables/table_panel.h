// The tables below the lanes: one tab a kind of event, what was found, marks; a caption that says
// what the table is of, a filter. Folded they are a bar that unfolds them, with room for something
// else. Decides nothing. GUI thread.
#pragma once

#include "app/desktop/models/table_model.h"
#include "app/desktop/pages/timeline/timeline_frame.h"

#include <QWidget>
#include <vector>

class QHBoxLayout;
class QLabel;
class QLineEdit;
class QTabBar;
class QToolButton;

namespace shardscope::desktop {

class DataTable;
class Legend;

/// Beside a RangeKind a tab.
enum class TableTab : std::uint8_t { kRange, kFound, kMarks };

class TablePanel : public QWidget {
    Q_OBJECT

public:
    explicit TablePanel(QWidget* parent = nullptr);
    /// `beside`: what the bar shows then, and is the caller's again once it is unfolded.
    void fold(Legend* beside);
    void unfold();
    /// Again, where the legend has other entries.
    void giveRoom();
    [[nodiscard]] bool isFolded() const { return m_isFolded; }
    /// The first is shown, unless `keeps` and the one that was shown is there too.
    void setKinds(const std::vector<RangeKind>& kinds, bool keeps);
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
    /// The user wants it folded, or unfolded.
    void foldRequested(bool folded);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void presentFold();
    void fitCaption();
    void changeTab(int index);
    [[nodiscard]] int indexOf(TableTab tab) const;

    QHBoxLayout* m_bar;
    QToolButton* m_fold;
    QTabBar* m_tabs;
    QLabel* m_hint;
    Legend* m_beside = nullptr;  ///< while it is folded
    QLabel* m_caption;
    QString m_captionText;
    QLineEdit* m_filter;
    DataTable* m_table;
    RangeKind m_kind = RangeKind::kKernels;
    bool m_isFolded = false;
};

}  // namespace shardscope::desktop
