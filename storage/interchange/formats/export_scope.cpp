#include "storage/interchange/formats/export_scope.h"

#include "storage/interchange/pending_events.h"
#include "storage/model/lanes.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/model/step_time.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace shardscope::interchange {
namespace {

constexpr std::uint64_t kWindowEvents = 200'000;

bool isOuterFirst(const SpanEvent& a, const SpanEvent& b) {
    return std::tuple(a.start, a.depth, b.duration) < std::tuple(b.start, b.depth, a.duration);
}
bool enclosesFirst(const SpanEvent& a, const SpanEvent& b) {
    return std::tuple(a.start, b.duration) < std::tuple(b.start, a.duration);
}

}  // namespace

Result<std::vector<RankId>> exportedRanks(const RecordingSummary& summary,
                                          const std::vector<RankId>& wanted) {
    std::vector<RankId> ranks;
    for (const RankFacts& rank : summary.ranks) ranks.push_back(rank.rank);
    for (const LaneFacts& lane : summary.lanes) ranks.push_back(lane.rank);
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    if (wanted.empty()) return ranks;
    std::vector<RankId> chosen = wanted;
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    for (const RankId rank : chosen)
        if (!std::binary_search(ranks.begin(), ranks.end(), rank))
            return failure(ErrorCode::kUsage, "the recording has no rank " +
                                                  std::to_string(rank.value) + ": it has " +
                                                  std::to_string(ranks.size()) + " ranks");
    return chosen;
}

namespace {

/// Events of some of the ranks, within a range, if they were spread evenly.
double expectedEvents(const RecordingSummary& summary, std::size_t ranks, TimeRange range) {
    const auto all = exportedRanks(summary, {});
    const TimeRange bounds{summary.bounds.begin, summary.bounds.end + Duration{1}};
    const TimeRange within = range.intersection(bounds);
    if (within.empty() || !all || all->empty()) return 1;
    const double events = static_cast<double>(summary.events.total()) * static_cast<double>(ranks) /
                          static_cast<double>(all->size()) *
                          static_cast<double>(within.duration().ns) /
                          static_cast<double>(bounds.duration().ns);
    return std::max(events, 1.0);
}

std::optional<Timestamp> firstStep(const RecordingSummary& summary) {
    std::optional<Timestamp> first;
    for (const StepFacts& step : summary.steps)
        first = std::min(first.value_or(step.start), step.start);
    return first;
}

}  // namespace

Result<ExportScope> ExportScope::of(storage::RecordingReader& reader,
                                    const ExportOptions& options) {
    ExportScope scope;
    scope.m_reader = &reader;
    scope.m_options = &options;
    auto summary = reader.summary();
    if (!summary) return failure(summary);
    scope.m_summary = std::move(*summary);
    auto ranks = exportedRanks(scope.m_summary, options.ranks);
    if (!ranks) return failure(ranks);
    scope.m_ranks = std::move(*ranks);
    const TimeRange bounds = scope.m_summary.bounds;
    // An event may lie on the very last nanosecond.
    scope.m_range = options.range.value_or(TimeRange{bounds.begin, bounds.end + Duration{1}});
    // HTA counts all of a trace; the start of a run of ours, in which ranks wait for the one that
    // measures the machine, is no training.
    if (options.integerMicroseconds && !options.range && !scope.m_summary.run.model.empty())
        if (const auto first = firstStep(scope.m_summary)) scope.m_range.begin = *first;
    if (scope.m_range.empty())
        return failure(ErrorCode::kUsage,
                       "the range to export is empty: its end must lie after "
                       "its beginning");
    if (options.steps)
        for (const RankId rank : scope.m_ranks)
            scope.m_own[rank] = timeOfSteps(scope.m_summary.steps, options.steps->first,
                                            options.steps->second, {rank})
                                    .value_or(TimeRange{});
    scope.m_expected = expectedEvents(scope.m_summary, scope.m_ranks.size(), scope.m_range);
    return scope;
}

std::vector<LaneFacts> ExportScope::lanes(RankId rank) const {
    std::vector<LaneFacts> found;
    for (const LaneFacts& lane : m_summary.lanes)
        if (lane.rank == rank) found.push_back(lane);
    return found;
}

TimeRange ExportScope::range(RankId rank) const {
    const auto own = m_own.find(rank);
    return own == m_own.end() ? m_range : own->second;
}

HeldSteps ExportScope::heldSteps() const {
    return {m_summary, m_ranks, [this](RankId rank) { return range(rank); }};
}

std::vector<TimeRange> ExportScope::windows(RankId rank, std::uint64_t events) const {
    const auto count = static_cast<std::int64_t>(1 + events / kWindowEvents);
    const TimeRange within =
        range(rank).intersection({m_summary.bounds.begin, m_summary.bounds.end + Duration{1}});
    if (within.empty()) return {};
    const std::int64_t width = std::max<std::int64_t>(1, within.duration().ns / count + 1);
    std::vector<TimeRange> found;
    for (Timestamp at = within.begin; at < within.end; at = at + Duration{width})
        found.push_back({at, std::min(within.end, at + Duration{width})});
    return found;
}

Result<void> ExportScope::forEachSpan(const LaneFacts& lane,
                                      const std::function<void(const SpanEvent&)>& show) {
    return forEachSpan(std::span(&lane, 1), show);
}

Result<void> ExportScope::forEachSpan(std::span<const LaneFacts> lanes,
                                      const std::function<void(const SpanEvent&)>& show) {
    if (lanes.empty()) return {};
    bool first = true;
    DepthRows rows;
    // ranks have about as many each
    const std::uint64_t each =
        m_summary.events.spans / std::max<std::uint64_t>(1, m_summary.ranks.size());
    for (const TimeRange window : windows(lanes.front().rank, each)) {
        std::vector<SpanEvent> spans;
        for (const LaneFacts& lane : lanes) {
            auto own = m_reader->spans(lane.rank, lane.lane, window);
            if (!own) return failure(own);
            spans.insert(spans.end(), own->begin(), own->end());
        }
        // What began before the window was shown with the one it began in.
        if (!first)
            std::erase_if(spans, [&](const SpanEvent& s) { return s.start < window.begin; });
        first = false;
        std::stable_sort(spans.begin(), spans.end(),
                         lanes.size() > 1 ? enclosesFirst : isOuterFirst);
        for (SpanEvent& span : spans) {
            if (lanes.size() > 1) rows.place(span);
            show(span);
        }
        if (auto more = advance(spans.size()); !more) return more;
    }
    return {};
}

std::vector<std::vector<LaneFacts>> ExportScope::byThread(const std::vector<LaneFacts>& lanes) {
    std::vector<std::vector<LaneFacts>> threads;
    std::map<std::pair<RankId, std::string_view>, std::size_t> known;
    for (const LaneFacts& lane : lanes) {
        const bool host = lane.role == LaneRole::kHost && !isOverheadLane(lane.lane, lane.name);
        const auto [at, fresh] =
            known.try_emplace({lane.rank, withoutUse(lane.name)}, threads.size());
        if (host && !fresh) {
            threads[at->second].push_back(lane);
            continue;
        }
        if (!host && fresh) known.erase(at);
        threads.push_back({lane});
    }
    return threads;
}

Result<void> ExportScope::forEachSample(const LaneFacts& lane,
                                        const std::function<void(Timestamp, double)>& show) {
    std::optional<double> shown;
    for (const TimeRange window :
         windows(lane.rank, m_summary.events.counters + m_summary.events.memory)) {
        auto samples = m_reader->counter(lane.rank, lane.lane, window, Duration{0});
        if (!samples) return failure(samples);
        for (const storage::CounterSlice& sample : *samples) {
            // Every window begins with the value in force.
            const bool repeated = sample.range.begin == window.begin && shown == sample.last;
            if (!repeated) show(sample.range.begin, sample.last);
            shown = sample.last;
        }
        if (auto more = advance(samples->size()); !more) return more;
    }
    return {};
}

Result<void> ExportScope::forEachStoredSample(const LaneFacts& lane,
                                              const std::function<void(Timestamp, double)>& show) {
    for (const TimeRange window : windows(lane.rank, m_summary.events.counters)) {
        auto samples = m_reader->samples(lane.rank, lane.lane, window);
        if (!samples) return failure(samples);
        for (const CounterEvent& sample : *samples)
            // The last one before the window was shown with the window it lies in.
            if (sample.time >= window.begin) show(sample.time, sample.value);
        if (auto more = advance(samples->size()); !more) return more;
    }
    return {};
}

Result<void> ExportScope::forEachInstant(const LaneFacts& lane,
                                         const std::function<void(const InstantEvent&)>& show) {
    if (m_summary.events.instants == 0) return {};
    for (const TimeRange window : windows(lane.rank, m_summary.events.instants)) {
        auto instants = m_reader->instants(lane.rank, lane.lane, window);
        if (!instants) return failure(instants);
        for (const InstantEvent& instant : *instants) show(instant);
        if (auto more = advance(instants->size()); !more) return more;
    }
    return {};
}

Result<void> ExportScope::forEachFlow(const LaneFacts& lane,
                                      const std::function<void(const FlowEvent&)>& show) {
    if (m_summary.events.flows == 0) return {};
    for (const TimeRange window : windows(lane.rank, m_summary.events.flows)) {
        auto flows = m_reader->flows(lane.rank, lane.lane, window);
        if (!flows) return failure(flows);
        for (const FlowEvent& flow : *flows) show(flow);
        if (auto more = advance(flows->size()); !more) return more;
    }
    return {};
}

Result<void> ExportScope::forEachMemoryEvent(RankId rank,
                                             const std::function<void(const MemoryEvent&)>& show) {
    for (const TimeRange window : windows(rank, m_summary.events.memory)) {
        auto events = m_reader->memoryEvents(rank, window);
        if (!events) return failure(events);
        for (const MemoryEvent& event : *events) show(event);
        if (auto more = advance(events->size()); !more) return more;
    }
    return {};
}

Result<void> ExportScope::advance(std::uint64_t events) {
    m_done += events;
    if (!m_options->progress) return {};
    const double share = static_cast<double>(m_done) / m_expected;
    if (m_options->progress(std::min(share, 1.0))) return {};
    return failure(ErrorCode::kCancelled, "the export was cancelled; no file was written");
}

std::string rankTitle(const RecordingSummary& summary, RankId rank) {
    std::string title = "rank " + std::to_string(rank.value);
    for (const RankFacts& facts : summary.ranks)
        if (facts.rank == rank && !facts.device.empty()) title += " (" + facts.device + ")";
    return title;
}

std::string layerTitle(LayerIndex layer) {
    if (layer == kNoLayer) return {};
    if (layer == kRootLayer) return "root";
    return "layer " + std::to_string(layer.value);
}

}  // namespace shardscope::interchange
