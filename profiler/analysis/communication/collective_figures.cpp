#include "profiler/analysis/communication/collective_figures.h"

#include "profiler/analysis/communication/transfers.h"
#include "profiler/analysis/findings.h"

#include <algorithm>
#include <map>
#include <utility>

namespace shardscope::analysis {
namespace {

/// What of the collective lies in `range`.
void add(const CollectiveEvent& event, RankId rank, TimeRange range, Coverage& validation,
         CommunicationSum& sum) {
    const auto inside = [range](Timestamp begin, Timestamp end) {
        const TimeRange cut = TimeRange{begin, end}.intersection(range);
        return cut.begin < cut.end ? cut : TimeRange{begin, begin};
    };
    const TimeRange wait = inside(event.start, event.lastArrival());
    const Duration waited = wait.duration();
    ++sum.collectives;
    sum.waiting += waited;
    if (!validation.empty()) sum.waitingInValidation += validation.within(wait);
    sum.moving += inside(event.lastArrival(), event.end).duration();
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
    Coverage validation(phaseTime(events, [](Phase phase) { return phase == Phase::kEvaluation; }));
    for (const CollectiveEvent& event : events.collectives)
        if (TimeRange{event.start, event.end}.intersects(m_range))
            analysis::add(event, events.rank, m_range, validation,
                          event.step == kNoStep ? m_outside : m_inSteps);
}

CommunicationSum communicationIn(const std::vector<const RankEvents*>& ranks, TimeRange range) {
    CommunicationTally tally(range);
    for (const RankEvents* events : ranks) tally.add(*events);
    return tally.sum();
}

ArrivalSkew arrivalSkew(const std::vector<Transfer>& transfers) {
    ArrivalSkew found;
    std::map<RankId, std::pair<LastComer, std::vector<std::int64_t>>> byRank;
    for (const Transfer& transfer : transfers) {
        if (transfer.step == kNoStep) continue;
        if (!transfer.late || !transfer.skew) {
            ++found.unknown;
            continue;
        }
        ++found.known;
        auto& [comer, skews] = byRank[*transfer.late];
        comer.rank = *transfer.late;
        ++comer.collectives;
        comer.waited += transfer.waited;
        comer.longest = std::max(comer.longest, *transfer.skew);
        skews.push_back(transfer.skew->ns);
    }
    for (auto& [rank, both] : byRank) {
        both.first.median = Duration{medianOf(std::move(both.second))};
        found.ranks.push_back(both.first);
    }
    std::stable_sort(found.ranks.begin(), found.ranks.end(),
                     [](const LastComer& a, const LastComer& b) { return a.waited > b.waited; });
    return found;
}

}  // namespace shardscope::analysis
