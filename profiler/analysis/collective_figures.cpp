#include "profiler/analysis/collective_figures.h"

#include "profiler/analysis/transfers.h"

#include <algorithm>

namespace shardscope::analysis {
namespace {

/// What of the collective lies in `range`.
void add(const CollectiveEvent& event, RankId rank, TimeRange range, CommunicationSum& sum) {
    const auto inside = [range](Timestamp begin, Timestamp end) {
        return std::max(Duration{}, TimeRange{begin, end}.intersection(range).duration());
    };
    const Duration waited = inside(event.start, event.lastArrival());
    ++sum.collectives;
    sum.waiting += waited;
    sum.moving += inside(event.lastArrival(), event.end);
    if (waited <= sum.longestWait) return;
    sum.longestWait = waited;
    sum.waitingRank = rank;
}

}  // namespace

RankId memberAt(const std::vector<RankId>& members, std::size_t place) {
    return place < members.size() ? members[place] : RankId{static_cast<std::uint32_t>(place)};
}

std::optional<RankId> lastToArrive(const CollectiveEvent& collective,
                                   const std::vector<RankId>& members) {
    if (collective.arrivals.size() < 2) return std::nullopt;
    return memberAt(members, collective.arrivals.lastPlace());
}

std::optional<double> busBandwidth(const CollectiveEvent& collective) {
    const auto factor =
        busFactor(collective.operation, static_cast<std::int32_t>(collective.arrivals.size()));
    const Duration moving = collective.end - collective.lastArrival();
    if (!factor || collective.size == kUnknownSize || moving.ns <= 0) return std::nullopt;
    return static_cast<double>(collective.size.count) * *factor / moving.seconds();
}

Duration notBehindCompute(const RankEvents& events, TimeRange range) {
    Duration computed;
    for (const SpanEvent& phase : events.phases)
        if (isWork(phase.phase) && phase.range().intersects(range))
            computed += phase.range().intersection(range).duration();
    return range.duration() - computed;
}

void CommunicationTally::add(const RankEvents& events) {
    for (const CollectiveEvent& event : events.collectives)
        if (TimeRange{event.start, event.end}.intersects(m_range))
            analysis::add(event, events.rank, m_range,
                          event.step == kNoStep ? m_outside : m_inSteps);
}

CommunicationSum communicationIn(const std::vector<const RankEvents*>& ranks, TimeRange range) {
    CommunicationTally tally(range);
    for (const RankEvents* events : ranks) tally.add(*events);
    return tally.sum();
}

}  // namespace shardscope::analysis
