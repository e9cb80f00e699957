// The top bar: which recording, what is selected, back and forward, problems, theme. GUI thread.
#pragma once

#include <QWidget>

class QLabel;
class QPushButton;
class QToolButton;

namespace shardscope::desktop {

class TopBar : public QWidget {
    Q_OBJECT

public:
    explicit TopBar(QWidget* parent = nullptr);
    void setTitle(const QString& title, const QString& tip);
    /// Empty: no recording, no chip.
    void setSelection(const QString& text, bool clearable);
    void setHistory(bool canGoBack, bool canGoForward);
    void setProblems(int count);
    /// Where a menu of that size opens, on the screen: below its button.
    [[nodiscard]] QPoint menuCorner(QSize menu) const;

Q_SIGNALS:
    void openRequested();
    void clearRequested();
    void backRequested();
    void forwardRequested();
    void problemsRequested();
    void themeToggled();
    void keysRequested();
    void menuRequested();

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    QToolButton* tool(const QString& name);
    void retint();

    QLabel* m_title;
    QPushButton* m_selection;
    QToolButton *m_open, *m_back, *m_forward, *m_theme, *m_keys, *m_menu;
    QPushButton* m_problems;
    /// Shortens the title and the selection where the bar has no room for both.
    void fit();

    QString m_titleText, m_titleTip, m_selectionText;
    bool m_clearable = false;
};

}  // namespace shardscope::desktop
