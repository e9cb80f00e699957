#include "app/desktop/widgets/page_frame.h"

#include "app/desktop/widgets/picture_file.h"
#include "app/desktop/widgets/plain_area.h"
#include "app/desktop/widgets/plain_layout.h"
#include "app/desktop/widgets/states.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QStackedWidget>
#include <QVBoxLayout>
#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// Room at the right that a scroll bar may take; pages without one keep it free.
constexpr int kBarRoom = 14;

QWidget* beside(QWidget* content, QWidget* parent) {
    auto* holder = new QWidget(parent);
    auto* layout = new QHBoxLayout(holder);
    layout->setContentsMargins(0, 0, kBarRoom, 0);
    layout->addWidget(content);
    return holder;
}

QWidget* scrolling(QWidget* content, QWidget* parent) {
    auto* area = new QScrollArea(parent);
    area->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn);
    hideIdleHandle(area->verticalScrollBar());
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    area->setFocusPolicy(Qt::NoFocus);
    area->viewport()->setAutoFillBackground(false);
    content->setAutoFillBackground(false);
    content->setContentsMargins(0, 0, kBarRoom - 10, 0);
    area->setWidget(content);
    return area;
}

}  // namespace

PageFrame::PageFrame(QWidget* content, MessageState* empty, std::vector<QRectF> skeleton,
                     bool scrolls, QWidget* parent)
    : QWidget(parent),
      m_headline(headlineLabel({}, this)),
      m_subline(quietLabel({}, this)),
      m_header(new QWidget(this)),
      m_headerActions(new QHBoxLayout),
      m_banner(new Banner(this)),
      m_content(content),
      m_error(new MessageState(u"error"_s, {}, {}, this)),
      m_nothing(new MessageState(u"help"_s, {}, {}, this)),
      m_stack(new CurrentStack(this)) {
    m_subline->setFont(textFont(kTextPixels));
    m_headline->setAccessibleName(tr("Headline of this page"));
    auto* words = new QVBoxLayout;
    words->setSpacing(kGapSmall);
    words->addWidget(m_headline);
    words->addWidget(m_subline);
    auto* header = new QHBoxLayout(m_header);
    header->setContentsMargins(0, 0, kBarRoom, 0);
    header->setSpacing(kGapGroup);
    header->addLayout(words, 1);
    m_headerActions->setSpacing(kGap);
    header->addLayout(m_headerActions);
    header->setAlignment(m_headerActions, Qt::AlignTop);

    m_pages[0] = empty;
    m_pages[1] = beside(new Skeleton(std::move(skeleton), this), this);
    m_pages[2] = m_error;
    m_pages[3] = scrolls ? scrolling(content, this) : beside(content, this);
    m_pages[4] = m_nothing;
    for (QWidget* page : m_pages) m_stack->addWidget(page);

    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(kGapPage, 20, kGapPage - kBarRoom, kGapGroup);
    layout->setSpacing(kGapGroup);
    layout->addWidget(m_header);
    auto* bannerRow = new QHBoxLayout;
    bannerRow->setContentsMargins(0, 0, kBarRoom, 0);
    bannerRow->addWidget(m_banner);
    layout->addLayout(bannerRow);
    layout->addWidget(m_stack, 1);

    auto* copy = m_error->addAction(tr("Copy details"), false);
    connect(copy, &QPushButton::clicked, this,
            [this] { QApplication::clipboard()->setText(m_error->accessibleDescription()); });
    showState(State::kEmpty);
}

void PageFrame::setHeadline(const QString& headline, const QString& subline) {
    m_words = headline;
    m_headline->setText(unbroken(headline));
    m_subline->setText(subline);
    m_subline->setVisible(!subline.isEmpty());
}

void PageFrame::setBanner(const QString& text) {
    m_banner->setText(text);
}

void PageFrame::showState(State state) {
    m_state = state;
    m_header->setVisible(state == State::kFull || state == State::kLoading);
    if (state != State::kFull) m_banner->setText({});
    m_stack->setCurrentWidget(m_pages[static_cast<int>(state)]);
}

void PageFrame::scrollToTop() {
    if (auto* area = qobject_cast<QScrollArea*>(m_pages[static_cast<int>(State::kFull)]))
        area->verticalScrollBar()->setValue(0);
}

void PageFrame::bringIntoSight(QWidget& part, int below) {
    auto* area = qobject_cast<QScrollArea*>(m_pages[static_cast<int>(State::kFull)]);
    if (area != nullptr && area->isAncestorOf(&part)) area->ensureWidgetVisible(&part, 0, below);
}

void PageFrame::showError(const QString& title, const QString& message) {
    m_error->setText(title, message);
    m_error->setAccessibleDescription(title + u'\n' + message);
    showState(State::kError);
}

void PageFrame::showNothing(const QString& title, const QString& text) {
    m_nothing->setText(title, text);
    showState(State::kNothing);
}

void PageFrame::addHeaderWidget(QWidget* widget) {
    m_headerActions->addWidget(widget);
}

QSize PageFrame::wholeSize() const {
    return {width(), m_stack->y() + std::max(m_content->height(), m_stack->height()) + kGapGroup};
}

/// The header as it is, the content beyond what is in sight of it.
void PageFrame::paintWhole(QPainter& painter, QPoint at) const {
    for (QWidget* part : {m_header, static_cast<QWidget*>(m_banner)})
        if (!part->isHidden()) paintWidget(*part, painter, at + part->mapTo(this, QPoint()));
    paintWidget(*m_content, painter, at + m_stack->pos());
}

QString PageFrame::headline() const {
    return m_words;
}
QString PageFrame::banner() const {
    return m_banner->text();
}

}  // namespace shardscope::desktop
