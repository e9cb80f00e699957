#include "app/desktop/pages/timeline/canvas/timeline_lanes.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/recording_texts.h"
#include "app/desktop/pages/timeline/canvas/timeline_ruler.h"
#include "app/desktop/pages/timeline/tables/range_kind.h"
#include "app/desktop/pages/timeline/tracks/counter_lane.h"
#include "app/desktop/pages/timeline/tracks/lane_painter.h"
#include "app/desktop/widgets/painting.h"

#include <QFontMetricsF>
#include <QObject>
#include <QStringList>
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// What the strip of a counter stands for, at its right end beside the lanes; where nothing is
/// known in view that is said.
void paintCounterAxis(QPainter& painter, const QRectF& names, const LaneRow& row,
                      const LaneFrame* frame, const TimeRange& view, const Theme& theme) {
    painter.setFont(textFont(kSmallPixels - 2));
    painter.setPen(theme.quietText);
    const ShownCounter counter =
        frame != nullptr ? shownCounter(row, *frame, view) : ShownCounter{};
    if (!counter.isKnown) {
        if (frame != nullptr)
            painter.drawText(QRectF(names.left(), names.top() + 13, names.width(), 14),
                             Qt::AlignVCenter, QObject::tr("no sample in view"));
        return;
    }
    for (const double value : counterTicks(counter, row.height)) {
        const double y = names.bottom() - names.height() * counter.share(value);
        const double top = std::clamp(y - 7, names.top() - 1, names.bottom() - 12);
        drawTabular(painter, QRectF(names.left(), top, names.width(), 13), Qt::AlignRight,
                    formatCounter(value, counter.unit));
    }
    if (row.theoryBytes > 0)
        drawTabular(painter, QRectF(names.left(), names.top() + 16, names.width(), 14),
                    Qt::AlignLeft,
                    QObject::tr("theory %1").arg(formatCounter(row.theoryBytes, row.unit)));
}

void paintTriangle(QPainter& painter, QPointF c, bool folded, const QColor& colour) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(colour);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.drawPolygon(
        folded ? QPolygonF{c + QPointF(-2.5, -4), c + QPointF(3.5, 0), c + QPointF(-2.5, 4)}
               : QPolygonF{c + QPointF(-4, -2.5), c + QPointF(4, -2.5), c + QPointF(0, 3.5)});
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setBrush(Qt::NoBrush);
}

/// After a name: what a rank runs on, cut where `right` is.
void paintNote(QPainter& painter, const QRectF& area, double left, double right, const LaneRow& row,
               const Theme& theme) {
    if (row.note.isEmpty() || right - left < 32) return;
    painter.setFont(textFont(kSmallPixels, row.warns ? QFont::DemiBold : QFont::Normal));
    const QFontMetricsF metrics(painter.font());
    const QString text = metrics.elidedText(row.note, Qt::ElideRight, right - left);
    const QRectF note(left, area.top(), metrics.horizontalAdvance(text) + 6, area.height());
    painter.fillRect(note, theme.window);  // the ruler's lines stop before it
    painter.setPen(row.warns ? theme.warning : theme.quietText);
    painter.drawText(note, Qt::AlignVCenter, text);
}

/// Of a rank, or of a group of its lanes.
void paintHeader(QPainter& painter, const TimelineViewport& viewport, const QRectF& area,
                 const LaneRow& row, const Theme& theme) {
    const bool isRank = row.kind == LaneRow::Kind::kHeader;
    const double left = isRank ? 16 : 16 + 10;
    paintTriangle(painter, {left - 10, area.center().y()}, row.collapsed, theme.quietText);
    painter.setFont(isRank ? textFont(kTextPixels, QFont::DemiBold)
                           : textFont(kSmallPixels, QFont::DemiBold));
    painter.setPen(isRank ? theme.text : theme.quietText);
    const QFontMetricsF metrics(painter.font());
    const double room = isRank ? area.right() : viewport.labelWidth() - left - 6;
    const QString name = metrics.elidedText(row.name, Qt::ElideRight, room);
    const double wide = metrics.horizontalAdvance(name);
    painter.drawText(QRectF(left, area.top(), wide + 2, area.height()), Qt::AlignVCenter, name);
    if (!isRank) {
        painter.fillRect(QRectF(area.left(), std::round(area.center().y()), area.width(), 1),
                         theme.hairline);
        return;
    }
    // a folded rank's lane is beside its name
    const double right = row.collapsed ? viewport.labelWidth() - 8 : area.right();
    paintNote(painter, area, left + wide + 12, right, row, theme);
}

/// Of a heat map's rows only as many as there is room for; names are higher than rows: the first
/// does not reach above `visibleTop`.
void paintThinName(QPainter& painter, const QRectF& area, const LaneRow& row, std::size_t index,
                   double visibleTop, const Theme& theme) {
    const auto stride = static_cast<std::size_t>(std::ceil(13 / area.height()));
    if (index % stride != 0) return;
    painter.setFont(textFont(kSmallPixels - 2));
    painter.setPen(theme.quietText);
    const double top = std::max(area.center().y() - 7, visibleTop);
    drawTabular(painter, QRectF(16, top, area.left() - 24, 14), Qt::AlignLeft, row.name);
}

/// "+32 levels": what a click on the name shows or hides.
void paintLevels(QPainter& painter, const QRectF& place, const LaneRow& row, const Theme& theme) {
    if (row.allDepths <= row.firstDepths()) return;
    const int more = row.allDepths - row.depths;
    painter.setFont(textFont(kSmallPixels - 2));
    painter.setPen(theme.accent);
    drawTabular(painter, place, Qt::AlignLeft,
                more > 0 ? QObject::tr("+ %1 levels").arg(more)
                         : QObject::tr("− to %1 levels").arg(row.firstDepths()));
}

constexpr double kNameLine = 15;

/// What nests in a track, on as many lines as it takes and there are; the last one is cut.
QStringList linesOf(const QString& name, const QFontMetricsF& metrics, double wide, int most) {
    QStringList lines;
    for (const QString& part : name.split(u", "_s)) {
        const QString longer = lines.isEmpty() ? part : lines.last() + u", "_s + part;
        const bool fits = lines.size() == most || metrics.horizontalAdvance(longer + u',') <= wide;
        if (lines.isEmpty() || !fits) {
            if (!lines.isEmpty()) lines.last() += u',';
            lines << part;
        } else {
            lines.last() = longer;
        }
    }
    for (QString& line : lines) line = metrics.elidedText(line, Qt::ElideRight, wide);
    return lines;
}

/// Of a track; stays in sight as long as the track does.
void paintTrackName(QPainter& painter, const TimelineViewport& viewport, const LaneRow& row,
                    double visibleTop, const Theme& theme) {
    const QRectF area = viewport.rowArea(row);
    const double left = 16 + row.indent;
    const double wide = viewport.labelWidth() - left - 8;
    painter.setFont(textFont(kSmallPixels));
    painter.setPen(theme.quietText);
    const bool folds = row.allDepths > row.firstDepths();
    const int most = std::max(1, static_cast<int>(area.height() / kNameLine) - (folds ? 1 : 0));
    const QStringList lines = linesOf(row.name, QFontMetricsF(painter.font()), wide, most);
    const double high = kNameLine * static_cast<double>(lines.size() + (folds ? 1 : 0));
    double top = std::clamp(visibleTop, area.top(), std::max(area.top(), area.bottom() - high));
    if (row.depths == 1) top = area.center().y() - kNameLine / 2;
    for (const QString& line : lines) {
        painter.drawText(QRectF(left, top, wide, kNameLine), Qt::AlignVCenter, line);
        top += kNameLine;
    }
    paintLevels(painter, QRectF(left, top, wide, 14), row, theme);
}

/// `frame`: of the lane; null: not loaded.
void paintLaneName(QPainter& painter, const TimelineViewport& viewport, const LaneRow& row,
                   const LaneFrame* frame, double visibleTop, const Theme& theme) {
    const QRectF area = viewport.rowArea(row);
    const double left = 16 + row.indent;
    const double wide = viewport.labelWidth() - left - 8;
    const bool counter = row.kind == LaneRow::Kind::kCounter;
    painter.setFont(textFont(kSmallPixels));
    painter.setPen(theme.quietText);
    const bool low = !counter && row.depths == 1;
    // the name of a high lane stays in sight as long as the lane does
    const double top =
        low ? area.top()
            : std::clamp(visibleTop, area.top(), std::max(area.top(), area.bottom() - 30));
    painter.drawText(QRectF(left, top - (counter ? 2 : 0), wide, low ? area.height() : 16),
                     Qt::AlignVCenter,
                     QFontMetricsF(painter.font()).elidedText(row.name, Qt::ElideRight, wide));
    if (!counter) return paintLevels(painter, QRectF(left, top + 15, wide, 14), row, theme);
    paintCounterAxis(painter, QRectF(left, area.top(), wide, area.height()), row, frame,
                     viewport.view(), theme);
}

/// What the file holds less of than of other steps, of one rank.
std::span<const DetailFacts> detailOf(const RecordingSummary& summary, RankId rank) {
    const auto found = std::ranges::equal_range(summary.detail, rank, {}, &DetailFacts::rank);
    return {found.begin(), found.end()};
}

/// Hatches where the file holds nothing of the lane, and says why where there is room.
void paintGaps(QPainter& painter, const TimelineViewport& viewport, const LaneRow& row,
               const Theme& theme) {
    if (!viewport.recording()) return;
    const QRectF lanes = viewport.lanesArea();
    const bool fullOnly = isFullOnly(row.role) || isMemoryLane(row.key.lane);
    double painted = lanes.left();  // overlapping stretches are hatched once
    for (const DetailFacts& detail : detailOf(viewport.recording()->summary, row.key.rank)) {
        const bool concerns = detail.level <= CaptureLevel::kSteps || fullOnly;
        if (!concerns || !detail.range.intersects(viewport.view())) continue;
        const double left = std::max(painted, viewport.xOf(detail.range.begin));
        const double right = std::min(lanes.right(), viewport.xOf(detail.range.end));
        if (right - left < 1) continue;
        const QRectF area = viewport.rowArea(row);
        paintLeftOut(painter, QRectF(left, area.top(), right - left, area.height()),
                     leftOutWord(detail), theme);
        painted = right;
    }
}

/// That the run's capture level holds nothing of the lane at all, and which does.
void paintNotRecorded(QPainter& painter, const QRectF& area, const LaneRow& row,
                      const Theme& theme) {
    const CaptureLevel least = isFullOnly(row.role) ? CaptureLevel::kFull : CaptureLevel::kLight;
    paintLeftOut(painter, area,
                 QObject::tr("not recorded: record with --capture %1").arg(fromUtf8(toWord(least))),
                 theme);
}

/// Rows and their names within one clip.
class RowsPainter {
public:
    RowsPainter(QPainter& painter, const TimelineViewport& viewport, const TimelineFrame* frame,
                const Theme& theme)
        : m_painter(painter), m_viewport(viewport), m_frame(frame), m_theme(theme), m_lanes(theme) {
        const RecordingPtr& recording = viewport.recording();
        if (!recording) return;
        m_salvaged = wasSalvaged(*recording);
        if (recording->isTrace()) return;
        m_lacksLight = isBelow(*recording, CaptureLevel::kLight);
        m_lacksFull = isBelow(*recording, CaptureLevel::kFull);
    }

    void paint(const LaneRow& row) {
        if (row.isHeader()) return;
        paintGaps(m_painter, m_viewport, row, m_theme);
        const QRectF area = m_viewport.rowArea(row);
        if (row.kind == LaneRow::Kind::kSummary)
            return m_lanes.paintSummary(m_painter, area, row, partsOf(row), m_viewport.scale());
        const LaneFrame* lane = frameOf(row.key);
        if (lane == nullptr) return;
        const bool lacks = isFullOnly(row.role) ? m_lacksFull : m_lacksLight;
        if ((lacks || m_salvaged) && row.kind != LaneRow::Kind::kCounter && isEmpty(row))
            return lacks ? paintNotRecorded(m_painter, area, row, m_theme)
                         : paintLeftOut(m_painter, area, QObject::tr("nothing was salvaged here"),
                                        m_theme);
        if (row.kind == LaneRow::Kind::kTrack)
            return m_lanes.paintTrack(m_painter, area, row, *m_frame, m_viewport.scale());
        if (row.kind == LaneRow::Kind::kCounter)
            m_lanes.paintCounter(m_painter, area, row, *lane, m_viewport.scale());
        else
            m_lanes.paintSlices(m_painter, area, row, *lane, m_viewport.scale());
    }

    void paintName(const LaneRow& row, std::size_t index, double visibleTop) {
        const QRectF area = m_viewport.rowArea(row);
        if (row.thin && row.isHeader())
            paintThinName(m_painter, area, row, index, visibleTop, m_theme);
        else if (row.isHeader())
            paintHeader(m_painter, m_viewport, area, row, m_theme);
        else if (row.kind == LaneRow::Kind::kTrack)
            paintTrackName(m_painter, m_viewport, row, visibleTop, m_theme);
        else
            paintLaneName(m_painter, m_viewport, row, frameOf(row.key), visibleTop, m_theme);
    }

private:
    [[nodiscard]] const LaneFrame* frameOf(LaneAddress key) const {
        return m_frame != nullptr ? m_frame->lane(key) : nullptr;
    }
    /// Nothing of it is in sight.
    [[nodiscard]] bool isEmpty(const LaneRow& row) const {
        const auto lanes = row.lanes();
        return std::all_of(lanes.begin(), lanes.end(), [this](LaneAddress key) {
            const LaneFrame* lane = frameOf(key);
            return lane == nullptr || lane->slices.empty();
        });
    }
    [[nodiscard]] std::vector<const LaneFrame*> partsOf(const LaneRow& row) const {
        std::vector<const LaneFrame*> parts;
        for (const LaneAddress& key : row.parts)
            if (const LaneFrame* part = frameOf(key)) parts.push_back(part);
        return parts;
    }

    QPainter& m_painter;
    const TimelineViewport& m_viewport;
    const TimelineFrame* m_frame;
    const Theme& m_theme;
    LanePainter m_lanes;
    bool m_lacksLight = false, m_lacksFull = false;  ///< by its capture level
    bool m_salvaged = false;
};

/// Headers whose rows scroll below them; returns how low they reach.
double paintSticky(QPainter& painter, const TimelineViewport& viewport, const Theme& theme) {
    const StickyHeaders sticky = viewport.sticky();
    double bottom = viewport.scrollArea().top();
    const auto paint = [&](const LaneRow* header, int y) {
        if (header == nullptr) return;
        const QRectF area = viewport.stickyArea(*header, y);
        painter.fillRect(QRectF(3, area.top(), area.right() - 3, area.height()), theme.window);
        paintHeader(painter, viewport, area, *header, theme);
        bottom = std::max(bottom, area.bottom());
    };
    paint(sticky.group, sticky.groupY);
    paint(sticky.rank, sticky.rankY);
    if (sticky.rank != nullptr)
        painter.fillRect(QRectF(3, bottom - 1, viewport.size().width(), 1), theme.hairline);
    return bottom;
}

double stickyBottom(const TimelineViewport& viewport) {
    const StickyHeaders sticky = viewport.sticky();
    double bottom = viewport.scrollArea().top();
    if (sticky.rank != nullptr)
        bottom = std::max(bottom, viewport.stickyArea(*sticky.rank, sticky.rankY).bottom());
    if (sticky.group != nullptr)
        bottom = std::max(bottom, viewport.stickyArea(*sticky.group, sticky.groupY).bottom());
    return bottom;
}

}  // namespace

void paintTimeline(QPainter& painter, const TimelineViewport& viewport, const TimelineFrame* frame,
                   const Theme& theme) {
    paintGrid(painter, viewport, theme);
    RowsPainter rows(painter, viewport, frame, theme);
    const QRectF scrolls = viewport.scrollArea();
    const double visibleTop = stickyBottom(viewport);
    const LaneRow* first = viewport.lanes().rows.data();
    painter.setClipRect(QRectF(0, scrolls.top(), scrolls.right(), scrolls.height()));
    viewport.forRowsInSight([&](const LaneRow& row) {
        if (!row.pinned) rows.paint(row);
    });
    viewport.forRowsInSight([&](const LaneRow& row) {
        if (!row.pinned)
            rows.paintName(row, static_cast<std::size_t>(&row - first) / 2, visibleTop);
    });
    paintSticky(painter, viewport, theme);
    painter.setClipRect(viewport.lanesArea().adjusted(-viewport.labelWidth(), 0, 0, 0));
    viewport.forRowsInSight([&](const LaneRow& row) {
        if (!row.pinned) return;
        rows.paint(row);
        rows.paintName(row, 0, 0);
    });
    if (viewport.lanes().pinned > 0)
        painter.fillRect(QRectF(0, scrolls.top() - 3, scrolls.right(), 1), theme.hairline);
    painter.setClipping(false);
    paintRuler(painter, viewport, theme);
}

}  // namespace shardscope::desktop
