#include "app/desktop/widgets/states.h"

#include "app/desktop/widgets/icon.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>

namespace shardscope::desktop {

using namespace Qt::StringLiterals;

namespace {

constexpr int kTextWidth = 520;

}  // namespace

MessageState::MessageState(const QString& icon, const QString& title, const QString& text,
                           QWidget* parent)
    : QWidget(parent),
      m_icon(icon),
      m_picture(new QLabel(this)),
      m_title(sectionLabel(title, this)),
      m_text(quietLabel(text, this)),
      m_actions(new QVBoxLayout) {
    m_title->setFont(textFont(16, QFont::DemiBold));
    m_title->setAlignment(Qt::AlignHCenter);
    m_title->setWordWrap(true);
    m_text->setFont(textFont(kTextPixels));
    m_text->setAlignment(Qt::AlignHCenter);
    m_text->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_picture->setAlignment(Qt::AlignHCenter);
    auto* layout = new QVBoxLayout(this);
    layout->addStretch(2);
    layout->addWidget(m_picture, 0, Qt::AlignHCenter);
    layout->addSpacing(kGap);
    layout->addWidget(m_title);
    layout->addSpacing(kGapSmall);
    layout->addWidget(m_text, 0, Qt::AlignHCenter);
    layout->addSpacing(kGap);
    m_actions->setSpacing(kGap);
    layout->addLayout(m_actions);
    layout->addStretch(3);
    setText(title, text);
    retint();
}

void MessageState::setText(const QString& title, const QString& text) {
    m_title->setText(title);
    m_text->setText(text);
    // a wrapped label between stretches gets too little height unless it is set
    m_text->setFixedSize(kTextWidth, std::max(20, m_text->heightForWidth(kTextWidth)));
}

QPushButton* MessageState::addAction(const QString& text, bool primary) {
    auto* button = new QPushButton(text, this);
    button->setProperty("primary", primary);
    button->setAccessibleName(text);
    m_actions->addWidget(button, 0, Qt::AlignHCenter);
    return button;
}

void MessageState::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) retint();
}

void MessageState::retint() {
    m_picture->setPixmap(iconPixmap(m_icon, Theme::of(this).quietText, 40, devicePixelRatioF()));
}

Skeleton::Skeleton(std::vector<QRectF> blocks, QWidget* parent)
    : QWidget(parent), m_blocks(std::move(blocks)) {
    setAccessibleName(tr("Loading"));
}

void Skeleton::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(Theme::of(this).neutral);
    for (const QRectF& block : m_blocks) {
        painter.drawRoundedRect(QRectF(block.x() * width(), block.y() * height(),
                                       block.width() * width(), block.height() * height()),
                                kCornerRadius, kCornerRadius);
    }
}

Banner::Banner(QWidget* parent)
    : QWidget(parent), m_icon(new QLabel(this)), m_label(new QLabel(this)) {
    m_label->setWordWrap(true);
    m_label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_icon->setFixedWidth(20);
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(12, 8, 12, 8);
    layout->setSpacing(kGap);
    layout->addWidget(m_icon, 0, Qt::AlignTop);
    layout->addWidget(m_label, 1);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    hide();
    retint();
}

void Banner::setText(const QString& text) {
    m_label->setText(text);
    setVisible(!text.isEmpty());
}

QString Banner::text() const {
    return m_label->text();
}

void Banner::paintEvent(QPaintEvent*) {
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    QColor ground = theme.warning;
    ground.setAlphaF(0.12F);
    painter.setPen(Qt::NoPen);
    painter.setBrush(ground);
    painter.drawRoundedRect(rect(), kCornerRadius, kCornerRadius);
    painter.setBrush(theme.warning);
    painter.drawRoundedRect(QRectF(0, 0, 3, height()), 1.5, 1.5);
}

void Banner::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) retint();
}

void Banner::retint() {
    m_icon->setPixmap(iconPixmap(u"warning"_s, Theme::of(this).warning, 16, devicePixelRatioF()));
}

}  // namespace shardscope::desktop
