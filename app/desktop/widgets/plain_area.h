// What scrolls only where its widget would be squeezed below its least size, and can therefore be
// made as small as one likes. GUI thread.
#pragma once

#include <QScrollArea>

class QScrollBar;
class QWidget;

namespace shardscope::desktop {

class PlainArea : public QScrollArea {
public:
    explicit PlainArea(QWidget* parent = nullptr);
    /// Its widget is squeezed rather than scrolled.
    void setSqueezes(bool squeezes);
    [[nodiscard]] QSize minimumSizeHint() const override;
    [[nodiscard]] QSize sizeHint() const override;

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    /// By hand: a resizable area asks for heights of widths that stacks answer for pages that are
    /// not seen.
    void fit();

    bool m_squeezes = false;
};

// Columns that scroll, and scroll bars that leave their place free when there is nothing to scroll.
// GUI thread.

void hideIdleHandle(QScrollBar* bar);

/// `content` in a column that scrolls up and down alone, no narrower than what it holds. Owned by
/// `parent`.
[[nodiscard]] QWidget* scrollingColumn(QWidget* content, QWidget* parent);

}  // namespace shardscope::desktop
