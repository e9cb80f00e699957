#include "app/desktop/pages/live/rank_rows.h"

#include "app/desktop/widgets/painting.h"
#include "app/desktop/widgets/theme.h"

#include <QPainter>
#include <QStringList>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kRow = 28;

}  // namespace

RankRows::RankRows(QWidget* parent) : QWidget(parent) {
    setFixedHeight(kRow);
}

void RankRows::setRanks(const std::map<int, LiveRank>& ranks) {
    m_ranks = ranks;
    QStringList words;
    for (const auto& [rank, facts] : m_ranks)
        words << tr("rank %1 %2").arg(QString::number(rank), facts.state);
    setAccessibleName(words.join(u", "_s));
    setFixedHeight(std::max(1, static_cast<int>(m_ranks.size())) * kRow);
    update();
}

void RankRows::paintEvent(QPaintEvent*) {
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    double y = 0;
    for (const auto& [rank, facts] : m_ranks) {
        const bool failed = facts.state == u"failed"_s || facts.state == u"killed"_s;
        const bool running = facts.state == u"running"_s;
        const QColor colour = failed                                    ? theme.bad
                              : running || facts.state == u"finished"_s ? theme.good
                                                                        : theme.quietText;
        painter.setPen(QPen(colour, 1.6));
        painter.setBrush(running || failed ? QBrush(colour) : QBrush(Qt::NoBrush));
        const QPointF centre(6, y + kRow / 2.0);
        if (failed) {
            painter.drawRect(QRectF(centre.x() - 3.5, centre.y() - 3.5, 7, 7));
        } else {
            painter.drawEllipse(centre, 4, 4);
        }
        painter.setFont(textFont(kTextPixels));
        painter.setPen(theme.text);
        drawTabular(painter, QRectF(20, y, 80, kRow), Qt::AlignLeft, tr("rank %1").arg(rank));
        painter.setPen(colour);
        painter.drawText(QRectF(88, y, 90, kRow), Qt::AlignVCenter, facts.state);
        if (facts.pid > 0) {
            painter.setPen(theme.quietText);
            drawTabular(painter, QRectF(0, y, width(), kRow), Qt::AlignRight,
                        tr("pid %1").arg(facts.pid));
        }
        y += kRow;
        painter.fillRect(QRectF(0, y - 1, width(), 1), theme.hairline);
    }
}

}  // namespace shardscope::desktop
