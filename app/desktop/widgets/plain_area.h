// What scrolls only where its widget would be squeezed below its least size, and can therefore be
// made as small as one likes. GUI thread.
#pragma once

#include <QScrollArea>

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

}  // namespace shardscope::desktop
