#include "app/desktop/widgets/card.h"

#include "app/desktop/widgets/icon.h"
#include "app/desktop/widgets/painting.h"
#include "app/desktop/widgets/sparkline.h"
#include "app/desktop/widgets/theme.h"

#include <QEvent>
#include <QPainter>
#include <QToolButton>
#include <QToolTip>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kInset = 12;
constexpr int kTrendWidth = 64;

}  // namespace

Card::Card(QWidget* parent) : QWidget(parent), m_help(new QToolButton(this)) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    m_help->setFixedSize(22, 22);
    m_help->setIconSize({14, 14});
    connect(m_help, &QToolButton::clicked, this, [this] {
        QToolTip::showText(m_help->mapToGlobal(QPoint(0, m_help->height())), m_definition, m_help);
    });
    retint();
}

void Card::setTitle(const QString& title) {
    m_title = title;
    m_help->setAccessibleName(tr("Definition of %1").arg(title));
    describe();
}

void Card::setValue(const QString& number, const QString& unit, const QString& qualifier) {
    m_number = number;
    m_unit = unit;
    m_qualifier = qualifier;
    describe();
}

void Card::setDetail(const QString& detail) {
    m_detail = detail;
    describe();
}

void Card::setDefinition(const QString& definition) {
    m_definition = definition;
    m_help->setToolTip(definition);
}

void Card::setTrend(const QVector<QPointF>& points) {
    m_trend = points;
    update();
}

void Card::setVerdict(const QString& text, bool good) {
    m_verdict = text;
    m_good = good;
    describe();
}

void Card::describe() {
    setAccessibleName(
        u"%1: %2 %3 %4. %5 %6"_s.arg(m_title, m_number, m_unit, m_qualifier, m_detail, m_verdict));
    setToolTip(m_detail);
    update();
}

void Card::retint() {
    m_help->setIcon(tintedIcon(u"help"_s, Theme::of(this).quietText, 14));
}

void Card::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) retint();
}

void Card::resizeEvent(QResizeEvent*) {
    m_help->move(width() - m_help->width() - 6, 6);
}

void Card::paintEvent(QPaintEvent*) {
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.panel);
    painter.drawRoundedRect(rect(), kCornerRadius, kCornerRadius);

    const double inner = width() - 2 * kInset;
    painter.setPen(theme.quietText);
    painter.setFont(textFont(kTextPixels));
    const QFontMetricsF titleMetrics(painter.font());
    drawTabular(painter, QRectF(kInset, 8, inner - 20, 20), Qt::AlignLeft,
                titleMetrics.elidedText(m_title, Qt::ElideRight, inner - 20));

    painter.setPen(theme.text);
    painter.setFont(textFont(kValuePixels, QFont::DemiBold));
    const QRectF valueArea(kInset, 30, inner, 30);
    drawTabular(painter, valueArea, Qt::AlignLeft, m_number);
    double x = kInset + tabularWidth(painter.font(), m_number) + 5;
    const double baseline =
        valueArea.center().y() +
        (QFontMetricsF(painter.font()).ascent() - QFontMetricsF(painter.font()).descent()) / 2;
    painter.setFont(textFont(kTextPixels));
    painter.setPen(theme.quietText);
    const QString behind = (m_unit + u' ' + m_qualifier).trimmed();
    painter.drawText(
        QPointF(x, baseline),
        QFontMetricsF(painter.font()).elidedText(behind, Qt::ElideRight, width() - kInset - x));

    const bool hasTrend = m_trend.size() > 1 && width() > 150;
    const double textWidth = inner - (hasTrend ? kTrendWidth + 8 : 0);
    painter.setFont(textFont(kSmallPixels - 1));
    painter.setPen(theme.quietText);
    const double detailHeight = m_verdict.isEmpty() ? 46 : 30;
    painter.drawText(QRectF(kInset, 62, textWidth, detailHeight),
                     Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap, m_detail);
    if (!m_verdict.isEmpty()) {
        painter.setFont(textFont(kSmallPixels - 1, QFont::DemiBold));
        painter.setPen(m_good ? theme.good : theme.bad);
        drawTabular(painter, QRectF(kInset, 92, textWidth, 16), Qt::AlignLeft, m_verdict);
    }
    if (hasTrend) {
        paintSparkline(painter, QRectF(width() - kInset - kTrendWidth, 66, kTrendWidth, 30),
                       m_trend, theme.accent);
    }
}

}  // namespace shardscope::desktop
