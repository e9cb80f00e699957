#include "app/desktop/widgets/card.h"

#include "app/desktop/widgets/icon.h"
#include "app/desktop/widgets/painting.h"
#include "app/desktop/widgets/pictures/spoken_picture.h"
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
    setAccessibleRole(*this, QAccessible::Grouping);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    m_help->setFixedSize(22, 22);
    m_help->setIconSize({14, 14});
    m_help->setAccessibleName(tr("Definition"));
    connect(m_help, &QToolButton::clicked, this, [this] {
        QToolTip::showText(m_help->mapToGlobal(QPoint(0, m_help->height())), m_definition, m_help);
    });
    retint();
}

void Card::setTitle(const QString& title, const QString& brief) {
    m_title = title;
    m_brief = brief;
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

void Card::setVerdict(const QString& text, std::optional<bool> good) {
    m_verdict = text;
    m_good = good;
    describe();
}

void Card::describe() {
    setAccessibleName(
        u"%1: %2 %3 %4. %5 %6"_s.arg(m_title, m_number, m_unit, m_qualifier, m_detail, m_verdict));
    setToolTip((m_title + u'\n' + m_qualifier).trimmed() + u'\n' + m_detail);
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
    const QFontMetricsF metrics(painter.font());
    const bool fits = m_brief.isEmpty() || metrics.horizontalAdvance(m_title) <= inner - 20;
    drawTabular(painter, QRectF(kInset, 8, inner - 20, 20), Qt::AlignLeft,
                metrics.elidedText(fits ? m_title : m_brief, Qt::ElideRight, inner - 20));
    const bool qualified = paintValue(painter, inner);
    paintDetail(painter, inner, qualified ? QString() : m_qualifier);
}

/// Number, unit and, where there is room, what qualifies it: whether there was.
bool Card::paintValue(QPainter& painter, double inner) const {
    const Theme& theme = Theme::of(this);
    painter.setPen(theme.text);
    painter.setFont(textFont(kValuePixels, QFont::DemiBold));
    const QRectF area(kInset, 30, inner, 30);
    drawTabular(painter, area, Qt::AlignLeft, m_number);
    const double x = kInset + tabularWidth(painter.font(), m_number) + 5;
    const QFontMetricsF numbers(painter.font());
    const double baseline = area.center().y() + (numbers.ascent() - numbers.descent()) / 2;
    painter.setFont(textFont(kTextPixels));
    painter.setPen(theme.quietText);
    const double room = width() - kInset - x;
    const QFontMetricsF metrics(painter.font());
    const QString both = (m_unit + u' ' + m_qualifier).trimmed();
    const bool fits = metrics.horizontalAdvance(both) <= room;
    painter.drawText(QPointF(x, baseline),
                     fits ? both : metrics.elidedText(m_unit, Qt::ElideRight, room));
    return fits;
}

/// Words come before the trend where both do not fit. `before`: what is said first, if all of it
/// fits.
void Card::paintDetail(QPainter& painter, double inner, QString before) const {
    const Theme& theme = Theme::of(this);
    painter.setFont(textFont(kSmallPixels - 1));
    painter.setPen(theme.quietText);
    constexpr int kFlags = Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap;
    const double beside = inner - kTrendWidth - 8, height = m_verdict.isEmpty() ? 46 : 30;
    const auto boxOf = [&](double width, const QString& text) {
        return QFontMetricsF(painter.font()).boundingRect(QRectF(0, 0, width, 1000), kFlags, text);
    };
    if (before.startsWith(u"· "_s)) before.remove(0, 2);
    const QString longer = before.isEmpty() ? m_detail : before + u" · "_s + m_detail;
    const QString& detail = boxOf(inner, longer).height() <= height ? longer : m_detail;
    const QRectF needed = boxOf(beside, detail);
    const bool hasTrend = m_trend.size() > 1 && width() > 150 && needed.height() <= height &&
                          needed.width() <= beside;
    const double textWidth = hasTrend ? beside : inner;
    painter.drawText(QRectF(kInset, 62, textWidth, height), kFlags, detail);
    if (!m_verdict.isEmpty()) {
        painter.setFont(textFont(kSmallPixels - 1, QFont::DemiBold));
        painter.setPen(!m_good ? theme.quietText : *m_good ? theme.good : theme.bad);
        drawTabular(painter, QRectF(kInset, 92, textWidth, 16), Qt::AlignLeft, m_verdict);
    }
    if (hasTrend)
        paintSparkline(painter, QRectF(width() - kInset - kTrendWidth, 66, kTrendWidth, 30),
                       m_trend, theme.accent);
}

}  // namespace shardscope::desktop
