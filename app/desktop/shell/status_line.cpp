#include "app/desktop/shell/status_line.h"

#include "app/desktop/widgets/states.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QProgressBar>
#include <QPushButton>

namespace shardscope::desktop {
namespace {

/// One line; what does not fit ends in an ellipsis.
class ElidedLabel : public QLabel {
public:
    explicit ElidedLabel(QWidget* parent) : QLabel(parent) {
        setForegroundRole(QPalette::PlaceholderText);
        setFont(textFont(kSmallPixels));
    }

protected:
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        painter.setPen(palette().color(foregroundRole()));
        painter.drawText(rect(), Qt::AlignLeft | Qt::AlignVCenter,
                         fontMetrics().elidedText(text(), Qt::ElideRight, width()));
    }
};

}  // namespace

StatusLine::StatusLine(QWidget* parent)
    : QWidget(parent),
      m_left(new ElidedLabel(this)),
      m_right(quietLabel({}, this)),
      m_progress(new QProgressBar(this)),
      m_cancel(new QPushButton(tr("Cancel"), this)) {
    setFixedHeight(28);
    for (QLabel* label : {m_left, m_right}) label->setWordWrap(false);
    m_left->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    m_left->setAccessibleName(tr("Under the pointer"));
    m_right->setAccessibleName(tr("Facts of the recording"));
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(kGapPage, 1, kGapPage, 0);
    layout->setSpacing(kGapPage);
    layout->addWidget(m_left, 1);
    m_progress->setFixedSize(180, 16);
    m_progress->setRange(0, 100);
    m_progress->setAccessibleName(tr("Work in the background"));
    m_cancel->setProperty("link", true);
    m_cancel->setAccessibleName(tr("Cancel the work in the background"));
    connect(m_cancel, &QPushButton::clicked, this, &StatusLine::cancelShown);
    layout->addWidget(m_progress);
    layout->addWidget(m_cancel);
    layout->addWidget(m_right);
    setJob({}, 0);
}

void StatusLine::setJob(const QString& text, double share) {
    m_job = {text, share};
    presentJob();
}

void StatusLine::setSaving(const QString& text, double share) {
    m_saving = {text, share};
    presentJob();
}

void StatusLine::presentJob() {
    const Job& shown = m_job.isGoing() ? m_job : m_saving;
    m_progress->setFormat(shown.text + QStringLiteral(" %p %"));
    m_progress->setValue(static_cast<int>(shown.share * 100));
    m_progress->setVisible(shown.isGoing());
    m_cancel->setVisible(shown.isGoing());
}

void StatusLine::cancelShown() {
    if (m_job.isGoing())
        Q_EMIT cancelRequested();
    else
        Q_EMIT cancelSavingRequested();
}

void StatusLine::setHover(const QString& text) {
    m_hover = text;
    present();
}

void StatusLine::setMessage(const QString& text) {
    // one that is said again, as of a recording that grows, is not another
    if (text != m_message) m_outcome.clear();
    m_message = text;
    present();
}

void StatusLine::setOutcome(const QStringList& sentences) {
    m_outcome = sentences;
    present();
}

void StatusLine::setFacts(const QString& text) {
    m_right->setText(text);
}

void StatusLine::present() {
    const QString text = m_outcome.isEmpty() ? m_message : m_outcome.join(QStringLiteral("; "));
    m_left->setText(m_hover.isEmpty() ? text : m_hover);
    // what does not fit is said on hover
    m_left->setToolTip(m_outcome.isEmpty() ? m_message : m_outcome.join(u'\n'));
}

void StatusLine::paintEvent(QPaintEvent*) {
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    painter.fillRect(rect(), theme.window);
    painter.fillRect(QRect(0, 0, width(), 1), theme.hairline);
}

ConnectionBar::ConnectionBar(QWidget* parent)
    : QWidget(parent),
      m_banner(new Banner(this)),
      m_button(new QPushButton(this)),
      m_close(new QPushButton(tr("Dismiss"), this)) {
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(kGapPage, kGap, kGapPage, 0);
    layout->setSpacing(kGap);
    layout->addWidget(m_banner, 1);
    layout->addWidget(m_button);
    layout->addWidget(m_close);
    m_close->setToolTip(tr("Esc"));
    m_button->setAccessibleName(tr("Reconnect"));
    connect(m_close, &QPushButton::clicked, this, &QWidget::hide);
    connect(m_button, &QPushButton::clicked, this, &ConnectionBar::reconnectRequested);
    hide();
}

void ConnectionBar::showLoss(const QString& message, const QString& action) {
    m_banner->setText(message);
    m_button->setText(action);
    m_button->setAccessibleName(action);
    m_button->setVisible(!action.isEmpty());
    show();
}

QString ConnectionBar::text() const {
    return isHidden() ? QString() : m_banner->text();
}

}  // namespace shardscope::desktop
