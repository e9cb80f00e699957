#include "app/desktop/widgets/detail_list.h"

#include "app/desktop/widgets/painting.h"
#include "app/desktop/widgets/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QFontMetrics>
#include <QHelpEvent>
#include <QMenu>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kRow = 28;

}  // namespace

DetailList::DetailList(QWidget* parent) : QWidget(parent) {
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
}

void DetailList::setRows(std::vector<std::pair<QString, QString>> rows) {
    m_rows = std::move(rows);
    QStringList words;
    for (const auto& [name, value] : m_rows) words << u"%1: %2"_s.arg(name, value);
    setAccessibleName(words.join(u"; "_s));
    updateGeometry();
    update();
}

void DetailList::setWraps(bool wraps, int nameWidth) {
    m_wraps = wraps;
    m_nameWidth = nameWidth;
    QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    policy.setHeightForWidth(wraps);
    setSizePolicy(policy);
}

int DetailList::rowHeight(const QString& value, int width) const {
    if (!m_wraps) return kRow;
    const QFontMetrics metrics(textFont(kTextPixels));
    const QRect box = metrics.boundingRect(QRect(0, 0, std::max(40, width - m_nameWidth), 4000),
                                           Qt::TextWrapAnywhere | Qt::TextWordWrap, value);
    return std::max(kRow, box.height() + 12);
}

int DetailList::heightForWidth(int width) const {
    int height = 0;
    for (const auto& [name, value] : m_rows) height += rowHeight(value, width);
    return height;
}

int DetailList::rowAt(int y) const {
    int top = 0;
    for (std::size_t i = 0; i < m_rows.size(); ++i) {
        top += rowHeight(m_rows[i].second, width());
        if (y < top) return y < 0 ? -1 : static_cast<int>(i);
    }
    return -1;
}

void DetailList::contextMenuEvent(QContextMenuEvent* event) {
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    const auto copies = [](const QString& text) {
        return [text] { QApplication::clipboard()->setText(text); };
    };
    if (const int row = rowAt(event->y()); row >= 0) {
        const auto& [name, value] = m_rows[static_cast<std::size_t>(row)];
        menu->addAction(tr("Copy value"), this, copies(value));
        menu->addAction(tr("Copy name and value"), this, copies(name + u'\t' + value));
    }
    QStringList lines;
    for (const auto& [name, value] : m_rows) lines << name + u'\t' + value;
    menu->addAction(tr("Copy all"), this, copies(lines.join(u'\n')));
    menu->popup(event->globalPos());
}

bool DetailList::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip) return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const int row = rowAt(help->y());
    QString whole;
    if (row >= 0) {
        const auto& [name, value] = m_rows[static_cast<std::size_t>(row)];
        whole = m_wraps ? name : value;
    }
    QToolTip::showText(help->globalPos(), whole, this);
    return true;
}

QSize DetailList::sizeHint() const {
    return {240, heightForWidth(std::max(width(), 240))};
}

QSize DetailList::minimumSizeHint() const {
    return {160, m_wraps ? 0 : sizeHint().height()};
}

void DetailList::paintEvent(QPaintEvent*) {
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    painter.setFont(textFont(kTextPixels));
    int y = 0;
    for (const auto& [name, value] : m_rows) {
        const int high = rowHeight(value, width());
        painter.setPen(theme.quietText);
        const double nameWidth = QFontMetricsF(painter.font()).horizontalAdvance(name);
        painter.drawText(QRectF(0, y, m_wraps ? m_nameWidth : nameWidth + 1, m_wraps ? kRow : high),
                         Qt::AlignLeft | Qt::AlignVCenter, name);
        painter.setPen(theme.text);
        if (m_wraps) {
            painter.drawText(QRectF(m_nameWidth, y + 6, width() - m_nameWidth, high - 8),
                             Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap | Qt::TextWrapAnywhere,
                             value);
        } else {
            const QRectF area(nameWidth + 8, y, width() - nameWidth - 8, high);
            drawTabular(
                painter, area, Qt::AlignRight,
                QFontMetricsF(painter.font()).elidedText(value, Qt::ElideMiddle, area.width()));
        }
        y += high;
        painter.fillRect(QRect(0, y - 1, width(), 1), theme.hairline);
    }
}

}  // namespace shardscope::desktop
