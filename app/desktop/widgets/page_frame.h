// The frame of a page: headline sentence, actions, banner, and one of five states below.
// GUI thread; owns the state widgets.
#pragma once

#include <QRectF>
#include <QWidget>
#include <vector>

class QHBoxLayout;
class QLabel;
class QPainter;
class QStackedWidget;

namespace shardscope::desktop {

class Banner;
class MessageState;

class PageFrame : public QWidget {
    Q_OBJECT

public:
    /// kNothing: the recording holds nothing of what the page is about.
    enum class State { kEmpty, kLoading, kError, kFull, kNothing };

    /// `scrolls`: content taller than the window scrolls instead of being squeezed.
    PageFrame(QWidget* content, MessageState* empty, std::vector<QRectF> skeleton, bool scrolls,
              QWidget* parent = nullptr);
    void setHeadline(const QString& headline, const QString& subline);
    void setBanner(const QString& text);
    void showState(State state);
    void scrollToTop();
    /// Scrolls no more than it takes for `part`, and so much below it, to be seen.
    void bringIntoSight(QWidget& part, int below);
    void showError(const QString& title, const QString& message);
    /// Why there is nothing of its kind in the recording, and how to get it.
    void showNothing(const QString& title, const QString& text);
    /// A widget at the right of the headline.
    void addHeaderWidget(QWidget* widget);
    /// With all that one could scroll to.
    [[nodiscard]] QSize wholeSize() const;
    void paintWhole(QPainter& painter, QPoint at) const;
    [[nodiscard]] State state() const { return m_state; }
    [[nodiscard]] QString headline() const;
    [[nodiscard]] QString banner() const;
    [[nodiscard]] MessageState* errorState() const { return m_error; }

private:
    QLabel* m_headline;
    QString m_words;  ///< of the headline
    QLabel* m_subline;
    QWidget* m_header;
    QHBoxLayout* m_headerActions;
    Banner* m_banner;
    QWidget* m_content;
    MessageState *m_error, *m_nothing;
    QStackedWidget* m_stack;
    QWidget* m_pages[5];
    State m_state = State::kEmpty;
};

}  // namespace shardscope::desktop
