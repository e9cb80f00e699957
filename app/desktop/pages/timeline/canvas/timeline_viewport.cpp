#include "app/desktop/pages/timeline/canvas/timeline_viewport.h"

#include "app/desktop/models/recording_texts.h"
#include "app/desktop/pages/timeline/canvas/timeline_geometry.h"
#include "app/desktop/pages/timeline/lanes/track_levels.h"
#include "app/desktop/pages/timeline/tracks/lane_painter.h"
#include "app/desktop/pages/timeline/tracks/row_slices.h"
#include "app/desktop/widgets/theme.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <QFontMetricsF>
#include <QStringList>
#include <algorithm>
#include <cmath>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// Of a rank in a heat map.
constexpr int kThinnest = 6, kThickest = 14;
/// Of the values beside a counter's strip.
constexpr double kAxisWidth = 52;
/// Rows further away than this many pages are not loaded.
constexpr double kPagesAhead = 0.75;

/// Of the first of `ranks`; where it has none, or none is named, of the first that has some.
std::vector<StepMark> stepMarks(const RecordingSummary& summary, const std::vector<RankId>& ranks) {
    std::vector<StepMark> steps;
    const auto add = [&](RankId rank) {
        for (const StepFacts& step : summary.steps)
            if (step.rank == rank) steps.push_back({step.step, step.range()});
    };
    if (!ranks.empty()) add(ranks.front());
    if (steps.empty() && !summary.steps.empty()) add(summary.steps.front().rank);
    return steps;
}

}  // namespace

TimelineViewport::TimelineViewport() : m_labelWidth(kLabelWidth) {}

void TimelineViewport::setRecording(const RecordingPtr& recording) {
    const bool same =
        recording && m_recording && recording->summary.run.id == m_recording->summary.run.id;
    m_recording = recording;
    if (!same) {
        m_origin.reset();
        m_bounds.reset();
        const bool nested = m_options.nested;
        m_options = recording ? firstOptions(recording->summary) : LaneLayoutOptions{};
        m_options.nested = nested;
    }
    m_steps = recording ? stepMarks(recording->summary, m_options.ranks) : std::vector<StepMark>{};
    m_options.modelledLink = recording && !modelledLinkText(*recording).isEmpty();
    layOut();
    if (recording) setView(recording->bounds());
}

void TimelineViewport::setSize(QSizeF size) {
    m_size = size;
    const int before = m_options.thinHeight;
    if (m_recording) layOut();
    if (m_options.thinHeight == before) m_scale.width = std::max(1.0, lanesArea().width());
}

void TimelineViewport::setView(TimeRange view) {
    if (m_recording) m_scale.range = keptWithin(view, bounds());
}

void TimelineViewport::setBounds(std::optional<TimeRange> bounds) {
    m_bounds = bounds;
    setView(view());
}

TimeRange TimelineViewport::bounds() const {
    return m_bounds.value_or(m_recording ? m_recording->bounds() : TimeRange{});
}

void TimelineViewport::setLeastLabelWidth(int width) {
    m_leastLabelWidth = width;
    m_scale.width = std::max(1.0, lanesArea().width());
}

void TimelineViewport::takeOptions(const LaneLayoutOptions& options) {
    LaneLayoutOptions taken = options;
    // how deep lanes are, and whose link is a model, differs from run to run
    taken.depths = m_options.depths;
    taken.trackDepths = m_options.trackDepths;
    taken.modelledLink = m_options.modelledLink;
    m_options = std::move(taken);
    layOut();
}

bool TimelineViewport::setRanks(const std::vector<RankId>& ranks) {
    if (m_options.ranks == ranks) return false;
    m_options.ranks = ranks;
    if (m_recording) m_steps = stepMarks(m_recording->summary, ranks);
    layOut();
    return true;
}

bool TimelineViewport::setRankOrder(const std::vector<RankId>& order) {
    if (m_options.rankOrder == order) return false;
    m_options.rankOrder = order;
    layOut();
    return true;
}

bool TimelineViewport::setFilter(const QString& text) {
    if (m_options.filter == text) return false;
    m_options.filter = text;
    layOut();
    return true;
}

bool TimelineViewport::setNested(bool nested) {
    if (m_options.nested == nested) return false;
    m_options.nested = nested;
    layOut();
    return true;
}

bool TimelineViewport::learn(const std::vector<LaneAddress>& lanes, int levels) {
    auto& depths = lanes.size() > 1 ? m_options.trackDepths : m_options.depths;
    const auto [known, isNew] = depths.try_emplace(lanes.front(), levels);
    if (isNew) return true;
    if (known->second >= levels) return false;
    known->second = levels;
    return true;
}

bool TimelineViewport::addDepths(const LaneDepths& depths) {
    bool learnt = false;
    for (const auto& [lanes, levels] : depths) learnt = learn(lanes, levels) || learnt;
    if (learnt) layOut();
    return learnt;
}

bool TimelineViewport::addDepths(const TimelineFrame& frame) {
    bool learnt = false;
    for (const LaneFrame& lane : frame.lanes) {
        // by depth: the last one is the deepest
        const int levels = lane.slices.empty() ? 0 : lane.slices.back().depth + 1;
        const auto known = m_options.depths.find(lane.key);
        if (known == m_options.depths.end() || known->second >= levels) continue;
        known->second = levels;
        learnt = true;
    }
    for (const TrackFrame& track : frame.tracks) {
        const int levels = track.slices.empty() ? 0 : track.slices.back().level + 1;
        if (m_options.trackDepths.contains(track.lanes.front()))
            learnt = learn(track.lanes, levels) || learnt;
    }
    if (learnt) layOut();
    return learnt;
}

void TimelineViewport::nextRulerTime() {
    switch (m_rulerTime) {
        case RulerTime::kAbsolute:
            m_rulerTime = RulerTime::kRelative;
            break;
        case RulerTime::kRelative: {
            m_rulerTime = m_steps.empty() ? RulerTime::kAbsolute : RulerTime::kStep;
            break;
        }
        case RulerTime::kStep:
            m_rulerTime = RulerTime::kAbsolute;
    }
}

void TimelineViewport::apply(LaneAction action, const LaneRow* row) {
    if (!m_recording) return;
    m_options = applied(m_recording->summary, m_layout, m_options, action, row);
    layOut();
}

void TimelineViewport::reveal(LaneAddress key, int level) {
    if (!m_recording) return;
    m_options = revealing(m_recording->summary, m_options, key);
    layOut();
    const LaneRow* row = m_layout.row(key);
    if (row == nullptr || !row->isLane() || level < row->depths) return;
    m_options.expanded.insert(row->key);
    static_cast<void>(learn(row->lanes(), level + 1));
    layOut();
}

void TimelineViewport::layOut() {
    if (m_recording) {
        const auto& shown = m_options.ranks;
        const std::size_t ranks = shown.empty() ? m_recording->summary.ranks.size() : shown.size();
        const double room =
            lanesArea().height() / static_cast<double>(std::max<std::size_t>(1, ranks));
        m_options.thinHeight = std::clamp(static_cast<int>(room), kThinnest, kThickest);
    }
    m_layout = m_recording ? layOutLanes(m_recording->summary, m_options) : LaneLayout{};
    fitLabels();
    m_scale.width = std::max(1.0, lanesArea().width());
}

/// As wide as the longest name that is shown, so that none is cut.
void TimelineViewport::fitLabels() {
    const QFontMetricsF metrics(textFont(kSmallPixels));
    const QFontMetricsF bold(textFont(kSmallPixels, QFont::DemiBold));
    double widest = kLabelWidth;
    for (const LaneRow& row : m_layout.rows) {
        if (row.thin) continue;
        const bool group = row.kind == LaneRow::Kind::kGroup;
        const double left = group ? 26 : 16 + row.indent;
        double name = 0;
        // what nests in a track may stand on several lines
        const bool track = row.kind == LaneRow::Kind::kTrack;
        for (const QString& part : track ? row.name.split(u", "_s) : QStringList{row.name})
            name = std::max(name, (group ? bold : metrics).horizontalAdvance(part));
        const double axis = row.kind == LaneRow::Kind::kCounter ? kAxisWidth : 0;
        widest = std::max(widest, left + name + axis + 12);
    }
    const int most = std::max(kLabelWidth, static_cast<int>(m_size.width() / 3));
    m_labelWidth = std::min({kMostLabelWidth, most, static_cast<int>(std::ceil(widest))});
}

QRectF TimelineViewport::lanesArea() const {
    return QRectF(QPointF(), m_size).adjusted(labelWidth(), kRulerHeight, 0, 0);
}

QRectF TimelineViewport::scrollArea() const {
    return lanesArea().adjusted(0, m_layout.pinnedHeight, 0, 0);
}

QRectF TimelineViewport::rowArea(const LaneRow& row) const {
    const QRectF lanes = lanesArea();
    return {lanes.left(), lanes.top() + row.y - (row.pinned ? 0 : m_top), lanes.width(),
            static_cast<double>(row.height)};
}

void TimelineViewport::forRowsInSight(const std::function<void(const LaneRow&)>& use) const {
    for (std::size_t i = 0; i < m_layout.pinned; ++i) use(m_layout.rows[i]);
    const int bottom = m_top + static_cast<int>(std::ceil(lanesArea().height()));
    for (const LaneRow& row : m_layout.between(m_top + m_layout.pinnedHeight, bottom)) use(row);
}

QRectF TimelineViewport::stickyArea(const LaneRow& header, int y) const {
    const QRectF area = scrollArea();
    return {area.left(), area.top() + y, area.width(), static_cast<double>(header.height)};
}

Timestamp TimelineViewport::timeAt(double x) const {
    return m_scale.time(x - lanesArea().left());
}

const LaneRow* TimelineViewport::nameAt(double y) const {
    const double in = y - lanesArea().top();
    if (in < 0) return nullptr;
    if (in < m_layout.pinnedHeight) return m_layout.rowAt(static_cast<int>(in));
    const StickyHeaders headers = sticky();
    const auto covers = [&](const LaneRow* header, int at) {
        return header != nullptr && in >= m_layout.pinnedHeight + at &&
               in < m_layout.pinnedHeight + at + header->height;
    };
    if (covers(headers.rank, headers.rankY)) return headers.rank;
    if (covers(headers.group, headers.groupY)) return headers.group;
    return m_layout.rowAt(static_cast<int>(in) + m_top);
}

const LaneRow* TimelineViewport::rowAt(double y) const {
    const LaneRow* row = nameAt(y);
    if (row == nullptr || row->kind != LaneRow::Kind::kHeader) return row;
    const LaneRow* next = row + 1;
    const bool beside = next != m_layout.rows.data() + m_layout.rows.size() && next->besideName;
    return beside ? next : row;
}

std::optional<TimelineHit> TimelineViewport::hitAt(const TimelineFrame& frame, QPointF at) const {
    const LaneRow* row = lanesArea().contains(at) ? rowAt(at.y()) : nullptr;
    if (row == nullptr || row->isHeader() || row->kind == LaneRow::Kind::kCounter)
        return std::nullopt;
    std::optional<TimelineHit> best;
    forSlicesOf(*row, frame, [&](const LaneFrame& lane, const SliceView& slice, int level) {
        if (level >= row->depths) return;
        if (!slice.range.intersects(m_scale.range) && !slice.instant) return;
        if (LanePainter::sliceArea(rowArea(*row), *row, slice, level, m_scale).contains(at))
            best = TimelineHit{lane.key, row->parts.empty() ? row->role : lane.role, slice};
    });
    return best;
}

std::optional<TimelineHit> TimelineViewport::nearestIn(const LaneRow& row,
                                                       const TimelineFrame& frame,
                                                       Timestamp time) const {
    std::optional<TimelineHit> best;
    std::pair<std::int64_t, int> nearest{};
    forSlicesOf(row, frame, [&](const LaneFrame& lane, const SliceView& slice, int level) {
        if (level >= row.depths || !slice.range.intersects(m_scale.range)) return;
        const Duration before = slice.range.begin - time, after = time - slice.range.end;
        const std::pair away{std::max<std::int64_t>({0, before.ns, after.ns}), level};
        if (best && away >= nearest) return;
        nearest = away;
        best = TimelineHit{lane.key, row.parts.empty() ? row.role : lane.role, slice};
    });
    return best;
}

int TimelineViewport::levelIn(const LaneRow& row, LaneAddress key, const SliceView& slice,
                              const TimelineFrame* frame) {
    const bool nests = row.kind == LaneRow::Kind::kTrack && frame != nullptr;
    return nests ? levelOf(*frame, key, slice) : slice.depth;
}

std::optional<QRectF> TimelineViewport::boxOf(LaneAddress key, const SliceView& slice,
                                              const TimelineFrame* frame) const {
    const LaneRow* row = m_layout.row(key);
    if (row == nullptr) return std::nullopt;
    const int level = levelIn(*row, key, slice, frame);
    if (row->isLane() && level >= row->depths) return std::nullopt;
    return LanePainter::sliceArea(rowArea(*row), *row, slice, level, m_scale);
}

std::optional<TimelineQuery> TimelineViewport::query() const {
    if (!m_recording || m_scale.range.empty()) return std::nullopt;
    // a little more than is in sight, so that small moves show something at once
    const Duration margin{m_scale.range.duration().ns / 4};
    TimelineQuery query;
    query.range = TimeRange{m_scale.range.begin - margin, m_scale.range.end + margin}.intersection(
        m_recording->bounds());
    query.resolution = m_scale.resolution();
    const int page = static_cast<int>(lanesArea().height());
    const int ahead = static_cast<int>(page * kPagesAhead);
    query.lanes = m_layout.loadedLanes(m_top - ahead, m_top + page + ahead);
    query.tracks = m_layout.loadedTracks(m_top - ahead, m_top + page + ahead);
    return query;
}

std::vector<std::vector<LaneAddress>> TimelineViewport::unknownDepths() const {
    std::vector<std::vector<LaneAddress>> unknown;
    const int page = static_cast<int>(lanesArea().height());
    const auto add = [&](const LaneRow& row) {
        const bool track = row.kind == LaneRow::Kind::kTrack;
        if (!track && row.kind != LaneRow::Kind::kSpans) return;
        const auto& known = track ? m_options.trackDepths : m_options.depths;
        if (!known.contains(row.key)) unknown.push_back(row.lanes());
    };
    for (std::size_t i = 0; i < m_layout.pinned; ++i) add(m_layout.rows[i]);
    for (const LaneRow& row : m_layout.between(m_top - page, m_top + 2 * page)) add(row);
    return unknown;
}

}  // namespace shardscope::desktop
