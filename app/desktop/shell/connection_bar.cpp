#include "app/desktop/shell/connection_bar.h"

#include "app/desktop/widgets/states.h"
#include "app/desktop/widgets/theme.h"

#include <QHBoxLayout>
#include <QPushButton>

namespace shardscope::desktop {

ConnectionBar::ConnectionBar(QWidget* parent)
    : QWidget(parent), m_banner(new Banner(this)), m_button(new QPushButton(this)) {
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(kGapPage, kGap, kGapPage, 0);
    layout->setSpacing(kGap);
    layout->addWidget(m_banner, 1);
    layout->addWidget(m_button);
    m_button->setAccessibleName(tr("Reconnect"));
    connect(m_button, &QPushButton::clicked, this, &ConnectionBar::reconnectRequested);
    hide();
}

void ConnectionBar::showLoss(const QString& message, const QString& action) {
    m_banner->setText(message);
    m_button->setText(action);
    m_button->setAccessibleName(action);
    show();
}

QString ConnectionBar::text() const {
    return isHidden() ? QString() : m_banner->text();
}

}  // namespace shardscope::desktop
