#include "app/desktop/pages/timeline/tracks/lane_painter.h"

#include "app/desktop/models/format.h"
#include "app/desktop/pages/timeline/details/slice_details.h"
#include "app/desktop/pages/timeline/tracks/column_strip.h"
#include "app/desktop/widgets/painting.h"

#include <algorithm>
#include <cmath>

namespace shardscope::desktop {
namespace {

constexpr double kNarrowestLabel = 12;
constexpr double kLowestLabel = 12;
/// Of which a part of a name says something.
constexpr double kNarrowestPart = 30;
/// Narrower slices are their share of a column.
constexpr double kNarrowestBox = 3;
/// How much of a hatched place is painted.
constexpr double kHatchStrength = 0.5;
/// How strong the colour of what is modelled is.
constexpr double kModelledStrength = 0.5;
/// Half the width of a mark, where its lane is high enough.
constexpr double kMark = 4;

QColor mixed(const QColor& colour, const QColor& ground, double share) {
    const auto mix = [share](int a, int b) {
        return static_cast<int>(std::lround(share * a + (1 - share) * b));
    };
    return {mix(colour.red(), ground.red()), mix(colour.green(), ground.green()),
            mix(colour.blue(), ground.blue())};
}

/// x to which a collective waited for a peer; far left where it did not wait.
double waitedUntil(const QRectF& area, const SliceView& slice, const TimeScale& scale) {
    if (slice.waitedUntil <= slice.range.begin) return -1e9;
    return area.left() + scale.x(slice.waitedUntil);
}

/// Cheaper than a hash of the whole: names of kernels are long and differ at their ends.
std::size_t placeOf(const QString& name, int kind) {
    const auto size = static_cast<std::size_t>(name.size());
    std::size_t place = size + static_cast<std::size_t>(kind) * 31;
    for (std::size_t i = 1; i <= std::min<std::size_t>(size, 6); ++i)
        place = place * 33 + name[static_cast<qsizetype>(size - i)].unicode();
    return place * 33 + (size > 0 ? name[static_cast<qsizetype>(size / 2)].unicode() : 0U);
}

bool isInSight(const SliceView& slice, const TimeScale& scale) {
    return slice.range.begin < scale.range.end &&
           (slice.range.end > scale.range.begin || slice.range.begin >= scale.range.begin);
}

/// Of a level of a lane; below it a line is left free.
QRectF levelArea(const QRectF& area, const LaneRow& row, int depth) {
    const double level = area.height() / row.depths;
    const double gap = row.thin && level < 8 ? 0 : 1;
    return {area.left(), area.top() + depth * level, area.width(), level - gap};
}

}  // namespace

QRectF LanePainter::sliceArea(const QRectF& area, const LaneRow& row, const SliceView& slice,
                              int level, const TimeScale& scale) {
    const double left = std::max(scale.x(slice.range.begin), -4.0);
    const double right = std::min(scale.x(slice.range.end), area.width() + 4.0);
    const QRectF place = levelArea(area, row, std::min(level, row.depths - 1));
    double x = std::floor(area.left() + left);
    double end = std::max(std::floor(area.left() + right), x + 1);
    // a mark is hit around its moment
    if (slice.instant) x -= kMark, end += kMark;
    return {x, place.top(), end - x, place.height()};
}

LanePainter::Look LanePainter::makeLook(const LaneRow& row, const SliceView& slice) const {
    // what an interpreter or a profiler does is not compute
    const bool other = row.role == LaneRole::kHost && row.content != LaneContent::kOperators;
    Fill fill = m_theme.fill(other ? Meaning::kHost : sliceMeaning(row.role, slice));
    const bool kernel = slice.onDevice && row.role == LaneRole::kCompute;
    const bool named = !row.thin && (row.role == LaneRole::kHost || kernel);
    if (named) fill.colour = shadeFor(fill.colour, slice.name);
    if (named) fill.edge = m_theme.edgeOf(fill.colour);
    return {fill, fill.colour.rgb()};
}

/// Looked up once for each name, phase and kind of lane: a picture has tens of thousands of slices,
/// most of which look like one before.
const LanePainter::Look& LanePainter::lookOf(const LaneRow& row, const SliceView& slice) {
    const int kind = static_cast<int>(row.role) << 24 | static_cast<int>(row.content) << 16 |
                     (row.thin ? 1 : 0) << 15 | (slice.onDevice ? 1 : 0) << 14 |
                     std::min<int>(slice.depth, 1) << 13 |
                     static_cast<int>(slice.operation.value_or(CollectiveOp{})) << 8 |
                     static_cast<int>(slice.phase);
    RecentLook& recent = m_recent[placeOf(slice.name, kind) % kRecentLooks];
    if (recent.kind == kind && recent.name == slice.name) return recent.look;
    const LookKey key{slice.name, kind};
    auto known = m_looks.constFind(key);
    if (known == m_looks.constEnd()) known = m_looks.insert(key, makeLook(row, slice));
    recent = {slice.name, kind, *known};
    return recent.look;
}

void LanePainter::paintLabel(QPainter& painter, const QRectF& box, const LaneRow& row,
                             const SliceView& slice, const QColor& ground) {
    if (box.width() < kNarrowestLabel || box.height() < kLowestLabel) return;
    const double room = box.width() - 8;
    painter.setFont(row.onDevice ? m_codeFont : m_isLow ? m_lowFont : m_font);
    const QFontMetricsF metrics(painter.font());
    std::vector<QString> labels = sliceLabels(row.role, slice);
    const bool isName = row.role == LaneRole::kHost || row.onDevice || slice.depth > 0;
    if (isName && labels.size() == 1) labels = namesLongestFirst(labels.front());
    painter.setPen(Theme::textOn(ground));
    for (const QString& label : labels) {
        // what cannot fit is not measured: names of kernels are long
        if (static_cast<double>(label.size()) * 3 > room) continue;
        if (metrics.horizontalAdvance(label) > room) continue;
        painter.drawText(box.adjusted(4, 0, -4, 0), Qt::AlignLeft | Qt::AlignVCenter, label);
        return;
    }
    if (!isName || room < kNarrowestPart || labels.empty()) return;
    // a name is known by how it begins
    painter.drawText(box.adjusted(4, 0, -4, 0), Qt::AlignLeft | Qt::AlignVCenter,
                     metrics.elidedText(labels.back(), Qt::ElideRight, room));
}

/// What is wide enough to be seen as itself: waiting hatched, edges, names.
void LanePainter::paintBox(QPainter& painter, const QRectF& area, const Box& box, double nameEnd,
                           const TimeScale& scale) {
    const LaneRow& row = *box.row;
    const SliceView& slice = *box.slice;
    const QRectF seen = box.area.intersected(area);
    if (box.adjoins && box.area.width() > 4)
        painter.fillRect(QRectF(seen.left(), seen.top(), 1, seen.height()),
                         box.fill.colour.darker(135));
    Fill fill = box.fill;
    const double waitedTo = waitedUntil(area, slice, scale);
    ++m_painted;
    if (fill.hatched) return paintFill(painter, seen, fill, m_theme);
    QRectF moving = seen;
    if (waitedTo - box.area.left() >= 2) {
        fill.hatched = true;
        const double split = std::min(std::floor(waitedTo), seen.right());
        if (split > seen.left())
            paintFill(painter, QRectF(seen.topLeft(), QPointF(split, seen.bottom())), fill,
                      m_theme);
        moving.setLeft(std::max(split, seen.left()));
    }
    if (row.modelled)
        paintModelled(painter, moving, fill.line());
    else
        paintEdge(painter, moving, fill.edge);
    moving.setRight(std::min(moving.right(), std::max(moving.left(), nameEnd)));
    paintLabel(painter, moving, row, slice,
               row.modelled ? mixed(fill.colour, m_theme.window, kModelledStrength) : fill.colour);
}

/// Where the colour alone is close to the ground.
void LanePainter::paintEdge(QPainter& painter, const QRectF& box, const QColor& edge) {
    if (box.width() < 4 || !edge.isValid()) return;
    painter.setPen(QPen(edge, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5));
}

/// What no clock measured: pale, as the strip has it, within a dotted edge.
void LanePainter::paintModelled(QPainter& painter, const QRectF& box, const QColor& colour) {
    if (box.width() < 4) return;
    painter.setPen(QPen(colour, 1, Qt::DotLine));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5));
}

/// A diamond at the moment; at the first and the last where several share the place, with a line
/// between.
void LanePainter::paintMark(QPainter& painter, const QRectF& box, const LaneRow& row,
                            const SliceView& slice) {
    const QColor colour = lookOf(row, slice).fill.line();
    const double half = std::min(kMark, box.height() / 2);
    const double middle = box.center().y();
    const double first = box.left() + kMark + 0.5, last = box.right() - kMark - 0.5;
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(colour);
    if (last > first) painter.drawRect(QRectF(first, middle - 1, last - first, 2));
    for (const double x : {first, last}) {
        painter.drawPolygon(QPolygonF(
            {{x, middle - half}, {x + half, middle}, {x, middle + half}, {x - half, middle}}));
        if (last <= first) break;
    }
    painter.setBrush(Qt::NoBrush);
    painter.setRenderHint(QPainter::Antialiasing, false);
    ++m_painted;
}

void LanePainter::startStrip(const QPainter& painter, const QRectF& area, const TimeScale& scale,
                             ColumnStrip::Mix mix) {
    const double fine = painter.device()->devicePixelRatioF();
    m_pixelsPerNs = 1 / std::max(scale.nsPerPixel(), 1e-12);
    const int width = static_cast<int>(std::ceil(area.width()));
    if (!m_strip || m_strip->width() != width || m_strip->mix() != mix || m_strip->fine() != fine)
        m_strip.emplace(width, mix, fine);
}

/// One level: what is narrow by its share of each column, what is wide as a box over it.
void LanePainter::paintLevel(QPainter& painter, const QRectF& area, const LaneRow& row,
                             const TimeScale& scale, const QRectF& level) {
    m_strip->paint(painter, level);
    if (!row.thin)
        m_strip->paintTraces(painter, QRectF(level.left(), level.bottom(), level.width(), 1));
    if (!m_strip->empty()) ++m_painted;
    for (std::size_t i = 0; i < m_boxes.size(); ++i) {
        // a name ends where what overlaps it begins
        const bool last = i + 1 == m_boxes.size();
        paintBox(painter, area, m_boxes[i], last ? area.right() : m_boxes[i + 1].area.left(),
                 scale);
    }
    m_strip->clear();
    m_boxes.clear();
}

/// Puts a slice where it is to be painted from.
void LanePainter::place(const QRectF& level, const LaneRow& row, const SliceView& slice,
                        const TimeScale& scale) {
    const auto begin = static_cast<double>((slice.range.begin - scale.range.begin).ns);
    const double left = begin * m_pixelsPerNs;
    const double right = left + static_cast<double>(slice.range.duration().ns) * m_pixelsPerNs;
    const Look& look = lookOf(row, slice);
    double share = 1;
    if (slice.count > 1 && slice.range.duration().ns > 0)
        share = std::min(1.0, static_cast<double>(slice.busy.ns) /
                                  static_cast<double>(slice.range.duration().ns));
    if (row.thin || right - left < kNarrowestBox || slice.count > 1) {
        const double strength = row.thin            ? 1
                                : look.fill.hatched ? kHatchStrength
                                : row.modelled      ? kModelledStrength
                                                    : 1;
        m_strip->add(left, right, share * strength, look.rgb);
        return;
    }
    const QRectF box(level.left() + left, level.top(), right - left, level.height());
    const bool adjoins = !m_boxes.empty() && box.left() - m_boxes.back().area.right() < 0.75;
    m_boxes.push_back({&row, &slice, box, look.fill, adjoins});
    if (look.fill.hatched) return;
    const double moves = waitedUntil(level, slice, scale) - level.left();
    m_strip->add(moves - left < 2 ? left : std::floor(moves), right,
                 row.modelled ? kModelledStrength : 1, look.rgb);
}

template <class Each>
void LanePainter::paintPlaced(QPainter& painter, const QRectF& area, const LaneRow& row,
                              const TimeScale& scale, Each each) {
    painter.save();
    painter.setClipRect(area, Qt::IntersectClip);
    m_isLow = row.role == LaneRole::kHost || (row.kind == LaneRow::Kind::kTrack && !row.onDevice);
    startStrip(painter, area, scale, ColumnStrip::Mix::kBlend);
    std::vector<Placed> marks;
    int level = -1;
    QRectF levelPlace;
    const auto finish = [&] {
        if (level >= 0) paintLevel(painter, area, row, scale, levelPlace);
    };
    each([&](const Placed& one) {
        if (one.level >= row.depths || !isInSight(one.slice, scale)) return;
        if (one.level != level) {
            finish();
            level = one.level;
            levelPlace = levelArea(area, row, level);
        }
        if (one.slice.instant)
            marks.push_back(one);
        else
            place(levelPlace, one.row, one.slice, scale);
    });
    finish();
    QPointF drawnTo(-1e9, 0);
    for (const Placed& mark : marks) {
        const QRectF box = sliceArea(area, row, mark.slice, mark.level, scale);
        if (box.top() == drawnTo.y() && box.right() <= drawnTo.x()) continue;
        drawnTo = box.topRight();
        paintMark(painter, box, mark.row, mark.slice);
    }
    painter.restore();
}

void LanePainter::paintSlices(QPainter& painter, const QRectF& area, const LaneRow& row,
                              const LaneFrame& frame, const TimeScale& scale) {
    paintPlaced(painter, area, row, scale, [&](auto use) {
        for (const SliceView& slice : frame.slices) use({row, slice, slice.depth});
    });
}

void LanePainter::paintTrack(QPainter& painter, const QRectF& area, const LaneRow& row,
                             const TimelineFrame& frame, const TimeScale& scale) {
    const TrackFrame* track = frame.track(row.parts);
    if (track == nullptr) return;
    // as each lane would look alone; by their places in the frame
    std::vector<LaneRow> rows(frame.lanes.size());
    for (std::size_t i = 0; i < row.parts.size(); ++i) {
        const LaneFrame* lane = frame.lane(row.parts[i]);
        if (lane == nullptr) continue;
        LaneRow& part = rows[static_cast<std::size_t>(lane - frame.lanes.data())];
        part.role = lane->role;
        part.content = row.contents[i];
        part.onDevice = isStreamLane(lane->key.lane);
        part.modelled = row.modelled && lane->role == LaneRole::kCommunication;
    }
    paintPlaced(painter, area, row, scale, [&](auto use) {
        for (const TrackSlice& one : track->slices) {
            if (one.level >= row.depths) break;  // by level
            use({rows[one.lane], frame.lanes[one.lane].slices[one.slice], one.level});
        }
    });
}

void LanePainter::paintSummary(QPainter& painter, const QRectF& area, const LaneRow& row,
                               const std::vector<const LaneFrame*>& parts, const TimeScale& scale) {
    LaneRow part = row;
    if (!row.thin) {
        for (const LaneFrame* frame : parts) {
            part.role = frame->role;
            part.modelled = row.modelled && frame->role == LaneRole::kCommunication;
            paintSlices(painter, area, part, *frame, scale);
        }
        return;
    }
    startStrip(painter, area, scale, ColumnStrip::Mix::kDominant);
    for (const LaneFrame* frame : parts) {
        part.role = frame->role;
        for (const SliceView& slice : frame->slices) {
            if (slice.depth > 0) break;  // by depth
            if (!slice.instant && isInSight(slice, scale)) place(area, part, slice, scale);
        }
    }
    paintLevel(painter, area, row, scale, levelArea(area, row, 0));
}

void LanePainter::paintCounter(QPainter& painter, const QRectF& area, const LaneRow& row,
                               const LaneFrame& frame, const TimeScale& scale) {
    painter.save();
    painter.setClipRect(area.adjusted(0, -1, 0, 1), Qt::IntersectClip);
    const ShownCounter counter = shownCounter(row, frame, scale.range);
    const QColor colour = m_theme.fill(counter.meaning).line();
    QColor pale = colour;
    pale.setAlphaF(0.25F);
    const std::vector<double> columns =
        counterColumns(counter.points, scale, static_cast<int>(area.width()));
    for (std::size_t first = 0; first < columns.size();) {
        std::size_t end = first + 1;
        while (end < columns.size() && columns[end] == columns[first]) ++end;
        const double high = area.height() * counter.share(columns[first]);
        const double left = area.left() + static_cast<double>(first);
        const double wide = static_cast<double>(end - first);
        if (columns[first] > kNoValue) {
            // an area speaks of the whole: not where the scale begins above zero
            if (counter.bottom <= 0)
                painter.fillRect(QRectF(left, area.bottom() - high, wide, high), pale);
            if (columns[first] != 0)
                painter.fillRect(QRectF(left, area.bottom() - high, wide, 1.5), colour);
            ++m_painted;
        }
        first = end;
    }
    paintAxis(painter, area, counter);
    if (row.theoryBytes > 0) {
        const double y =
            std::round(area.bottom() - area.height() * counter.share(row.theoryBytes)) + 0.5;
        painter.setPen(QPen(m_theme.text, 1, Qt::DashLine));
        painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
    }
    painter.restore();
}

/// Lines at what the axis names, where there are some between its ends.
void LanePainter::paintAxis(QPainter& painter, const QRectF& area, const ShownCounter& counter) {
    const std::vector<double> ticks = counterTicks(counter, area.height());
    painter.setPen(m_theme.hairline);
    if (ticks.size() < 3) return;
    for (const double value : ticks) {
        const double y = std::round(area.bottom() - area.height() * counter.share(value)) + 0.5;
        painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
    }
}

}  // namespace shardscope::desktop
