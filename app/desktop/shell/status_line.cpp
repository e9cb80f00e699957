#include "app/desktop/shell/status_line.h"

#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>

namespace shardscope::desktop {

StatusLine::StatusLine(QWidget* parent)
    : QWidget(parent), m_left(quietLabel({}, this)), m_right(quietLabel({}, this)) {
    setFixedHeight(28);
    for (QLabel* label : {m_left, m_right}) {
        label->setWordWrap(false);
        label->setTextFormat(Qt::PlainText);
    }
    m_left->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    m_left->setAccessibleName(tr("Under the pointer"));
    m_right->setAccessibleName(tr("Facts of the recording"));
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(kGapPage, 1, kGapPage, 0);
    layout->setSpacing(kGapPage);
    layout->addWidget(m_left, 1);
    layout->addWidget(m_right);
}

void StatusLine::setHover(const QString& text) {
    m_hover = text;
    present();
}

void StatusLine::setMessage(const QString& text) {
    m_message = text;
    present();
}

void StatusLine::setFacts(const QString& text) {
    m_right->setText(text);
}

void StatusLine::present() {
    m_left->setText(m_hover.isEmpty() ? m_message : m_hover);
}

void StatusLine::paintEvent(QPaintEvent*) {
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    painter.fillRect(rect(), theme.window);
    painter.fillRect(QRect(0, 0, width(), 1), theme.hairline);
}

}  // namespace shardscope::desktop
