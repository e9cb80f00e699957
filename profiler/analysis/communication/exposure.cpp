#include "profiler/analysis/communication/exposure.h"

#include "profiler/analysis/communication/collective_figures.h"
#include "profiler/analysis/findings.h"
#include "profiler/analysis/intervals.h"

#include <algorithm>
#include <map>

namespace shardscope::analysis {
namespace {

/// One rank's compute, waits and collectives.
class RankView {
public:
    RankView(const RankEvents& events, const std::vector<RankEvents>& ranks,
             const HostClocks& clocks, const Intervals* within)
        : m_events(events),
          m_ranks(ranks),
          m_clocks(clocks),
          m_compute(computeOf(events, within)),
          m_waits(phaseTime(events, isWait)) {
        m_byStart = byStart(events.collectives);
        if (within != nullptr) m_within.emplace(*within);
    }

    void forAll(const std::function<void(const Exposure&)>& use) {
        for (std::size_t i = 0; i < m_byStart.size(); ++i)
            if (m_byStart[i]->step != kNoStep && isWithin(*m_byStart[i])) use(of(i));
    }

private:
    static Intervals computeOf(const RankEvents& events, const Intervals* within) {
        Intervals compute =
            events.computeKernels.empty() ? computingTime(events) : unionOf(events.computeKernels);
        return within == nullptr ? compute : intersection(compute, *within);
    }
    [[nodiscard]] Duration timeIn(TimeRange range) {
        return m_within ? m_within->within(range) : range.duration();
    }
    [[nodiscard]] bool isWithin(const CollectiveEvent& event) {
        return !m_within || event.start == event.end || timeIn({event.start, event.end}).ns > 0;
    }

    Exposure of(std::size_t place) {
        const CollectiveEvent& event = *m_byStart[place];
        const Timestamp met = event.lastArrival();
        Exposure exposure;
        exposure.rank = m_events.rank;
        exposure.operation = event.operation;
        exposure.cause = event.cause;
        exposure.layer = event.layer;
        exposure.step = event.step;
        exposure.group = event.group;
        exposure.sequence = event.sequence;
        exposure.range = {event.start, event.end};
        exposure.waitingKnown = event.arrivals.size() > 1;
        const Duration behindWait = m_compute.within({event.start, met});
        const Duration behindMove = m_compute.within({met, event.end});
        exposure.hidden = behindWait + behindMove;
        exposure.waiting = timeIn({event.start, met}) - behindWait;
        exposure.moving = timeIn({met, event.end}) - behindMove;
        const Duration whole = exposure.time = exposure.hidden + exposure.exposed();
        const bool isOfNote = static_cast<double>(exposure.exposed().ns) >=
                              kLeastExposed * static_cast<double>(whole.ns);
        if (!isOfNote || whole.ns <= 0) return exposure;
        exposure.reason = reasonOf(place, exposure);
        if (exposure.reason == ExposureReason::kWaited) exposure.late = lateOf(event);
        return exposure;
    }

    [[nodiscard]] ExposureReason reasonOf(std::size_t place, const Exposure& exposure) {
        const CollectiveEvent& event = *m_byStart[place];
        if (!exposure.waitingKnown) return ExposureReason::kUnknown;
        if (exposure.waiting > exposure.moving) return ExposureReason::kWaited;
        if (isExchange(event.cause)) return ExposureReason::kNeeded;
        // Imported kernels say when they ran, not when they were asked for.
        if (event.issue.ns == 0 || event.issue >= event.start) {
            return m_waits.empty() ? ExposureReason::kUnknown : ExposureReason::kLate;
        }
        // Whatever was before it in the queue: the step thread had nothing left to do meanwhile.
        if (isNeededAtOnce(event)) return ExposureReason::kLate;
        if (isQueued(place)) return ExposureReason::kQueued;
        if (event.cause == Cause::kDemand) return ExposureReason::kLate;
        const Duration chance = m_compute.within({event.issue, event.end});
        return chance < event.end - event.lastArrival() && startsWaiting(event)
                   ? ExposureReason::kLate
                   : ExposureReason::kLong;
    }

    /// The one before it ended just before this began, and after it was asked for.
    [[nodiscard]] bool isQueued(std::size_t place) const {
        if (place == 0) return false;
        const CollectiveEvent& event = *m_byStart[place];
        const Timestamp before = m_byStart[place - 1]->end;
        const Duration gap = event.start - before, delay = event.start - event.issue;
        return before > event.issue && gap.ns >= 0 && 2 * gap.ns < delay.ns;
    }

    /// The step thread was blocked when, or right after, it was asked for.
    [[nodiscard]] bool startsWaiting(const CollectiveEvent& event) {
        const Duration asked = event.end - event.issue;
        return 2 * m_waits.within({event.issue, event.end}).ns >= asked.ns;
    }

    /// Hardly anything was computed from when it was asked for to its end.
    [[nodiscard]] bool isNeededAtOnce(const CollectiveEvent& event) {
        constexpr std::int64_t kHardly = 10;  // a tenth
        return kHardly * m_compute.within({event.issue, event.end}).ns <=
                   (event.end - event.issue).ns &&
               startsWaiting(event);
    }

    [[nodiscard]] std::optional<RankId> lateOf(const CollectiveEvent& event) {
        const auto [group, fresh] = m_members.try_emplace(event.group);
        if (fresh) group->second = groupMembers(m_ranks, event.group);
        const bool whole = event.arrivals.size() == group->second.size();
        if (!whole || !m_clocks.tellsLast(event, group->second)) return std::nullopt;
        return lastToArrive(event, group->second);
    }

    const RankEvents& m_events;
    const std::vector<RankEvents>& m_ranks;
    const HostClocks& m_clocks;
    Coverage m_compute, m_waits;
    std::optional<Coverage> m_within;
    std::vector<const CollectiveEvent*> m_byStart;
    std::map<std::uint32_t, std::vector<RankId>> m_members;
};

}  // namespace

std::vector<Exposure> exposuresOf(const RankEvents& events, const std::vector<RankEvents>& ranks,
                                  const HostClocks& clocks, const Intervals* within) {
    std::vector<Exposure> exposures;
    exposures.reserve(events.collectives.size());
    forExposures(events, ranks, clocks, within,
                 [&](const Exposure& each) { exposures.push_back(each); });
    return exposures;
}

void forExposures(const RankEvents& events, const std::vector<RankEvents>& ranks,
                  const HostClocks& clocks, const Intervals* within,
                  const std::function<void(const Exposure&)>& use) {
    RankView(events, ranks, clocks, within).forAll(use);
}

void ExposureSum::add(const Exposure& each) {
    ++count;
    whole += each.time;
    hidden += each.hidden;
    waiting += each.waiting;
    moving += each.moving;
    waitingKnown = waitingKnown && each.waitingKnown;
}

void ExposureSums::add(const Exposure& each) {
    m_byLayer[{each.layer, each.operation}].add(each);
    ReasonSum& sum = m_byReason[each.reason];
    sum.reason = each.reason;
    ++sum.count;
    sum.exposed += each.exposed();
}

std::vector<ReasonSum> ExposureSums::byReason() const {
    std::vector<ReasonSum> sums;
    for (const auto& [reason, sum] : m_byReason) sums.push_back(sum);
    std::stable_sort(sums.begin(), sums.end(),
                     [](const ReasonSum& a, const ReasonSum& b) { return a.exposed > b.exposed; });
    return sums;
}

}  // namespace shardscope::analysis
