#include "app/desktop/widgets/detail_list.h"

#include "app/desktop/widgets/painting.h"
#include "app/desktop/widgets/pictures/spoken_picture.h"
#include "app/desktop/widgets/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QFontMetrics>
#include <QHelpEvent>
#include <QMenu>
#include <QPainter>
#include <QTextLayout>
#include <QToolTip>
#include <algorithm>
#include <cmath>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kRow = 28;
constexpr int kLeastValueWidth = 40;
constexpr int kNameGap = 12;

/// Lines of `text`, broken between words, and within one that is wider than a line; their height.
double wrap(QTextLayout& text, double width) {
    QTextOption option;
    option.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
    text.setTextOption(option);
    text.beginLayout();
    double height = 0;
    for (QTextLine line = text.createLine(); line.isValid(); line = text.createLine()) {
        line.setLineWidth(width);
        line.setPosition({0, height});
        height += line.height();
    }
    text.endLayout();
    return height;
}

}  // namespace

DetailList::DetailList(QWidget* parent) : QWidget(parent) {
    setAccessibleRole(*this, QAccessible::StaticText);
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
}

void DetailList::setRows(std::vector<std::pair<QString, QString>> rows) {
    m_rows = std::move(rows);
    QStringList words;
    m_widestName = 0;
    const QFontMetrics metrics(textFont(kTextPixels));
    for (const auto& [name, value] : m_rows) {
        words << u"%1: %2"_s.arg(name, value);
        m_widestName = std::max(m_widestName, metrics.horizontalAdvance(name));
    }
    setAccessibleName(words.join(u"; "_s));
    updateGeometry();
    update();
}

void DetailList::setWraps(bool wraps, int nameWidth) {
    m_wraps = wraps;
    m_nameWidth = nameWidth;
    // one that wraps hints at the height of the width it had, which is not a limit of the next
    // one's
    QSizePolicy policy(QSizePolicy::Preferred, wraps ? QSizePolicy::Minimum : QSizePolicy::Fixed);
    policy.setHeightForWidth(wraps);
    setSizePolicy(policy);
}

int DetailList::nameWidth(int width) const {
    return std::max(m_nameWidth, std::min(m_widestName + kNameGap, width / 2));
}

int DetailList::rowHeight(const QString& value, int width) const {
    if (!m_wraps) return kRow;
    QTextLayout lines(value, textFont(kTextPixels));
    const double height = wrap(lines, std::max(kLeastValueWidth, width - nameWidth(width)));
    return std::max(kRow, static_cast<int>(std::ceil(height)) + 12);
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
        whole = m_wraps ? name : u"%1: %2"_s.arg(name, value);
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
        const QFontMetricsF metrics(painter.font());
        const int column = nameWidth(width());
        const double room = m_wraps ? column - 0.5 * kNameGap : width() - kLeastValueWidth;
        const double needed = std::min(metrics.horizontalAdvance(name), room);
        painter.drawText(QRectF(0, y, m_wraps ? column : needed + 1, m_wraps ? kRow : high),
                         Qt::AlignLeft | Qt::AlignVCenter,
                         metrics.elidedText(name, Qt::ElideRight, room));
        painter.setPen(theme.text);
        if (m_wraps) {
            QTextLayout lines(value, painter.font());
            wrap(lines, std::max(kLeastValueWidth, width() - column));
            lines.draw(&painter, QPointF(column, y + 6));
        } else {
            const QRectF area(needed + 8, y, width() - needed - 8, high);
            drawTabular(
                painter, area, Qt::AlignRight,
                QFontMetricsF(painter.font()).elidedText(value, Qt::ElideMiddle, area.width()));
        }
        y += high;
        painter.fillRect(QRect(0, y - 1, width(), 1), theme.hairline);
    }
}

}  // namespace shardscope::desktop
