#include "profiler/analysis/communication/host_clocks.h"

#include "profiler/analysis/communication/collective_figures.h"
#include "profiler/analysis/findings.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <unordered_map>
#include <utility>

namespace shardscope::analysis {
namespace {

/// No bound; half the range, so that sums stay in it.
constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max() / 4;

bool holdsAllUp(CollectiveOp operation) {
    return operation == CollectiveOp::kAllGather || operation == CollectiveOp::kReduceScatter ||
           operation == CollectiveOp::kAllReduce || operation == CollectiveOp::kBarrier;
}

std::int64_t boundOf(const ClockFacts& clock) {
    return std::abs(clock.residualNs) + clock.errorNs;
}

std::int64_t windowOf(Timestamp time) {
    return time.ns / HostClocks::kWindowNs;
}

TimeRange rangeOf(std::int64_t window) {
    return {{window * HostClocks::kWindowNs}, {(window + 1) * HostClocks::kWindowNs}};
}

/// When a collective was left first and entered last on each host.
struct Passage {
    Timestamp firstEnd, lastArrival;
};
using Passages = std::map<std::int32_t, Passage>;

std::string microseconds(Duration duration) {
    return fmt::format("{:.1f} us", static_cast<double>(duration.ns) * 1e-3);
}

}  // namespace

std::string clockText(const HostClock& clock) {
    if (clock.comparisons == 0)
        return clock.residual.ns == 0
                   ? "the recorder's own"
                   : fmt::format("right within {} at the start, not compared later",
                                 microseconds(clock.residual));
    std::string text =
        fmt::format("right within {} (worst {}), drift {:.1f} ppm, compared {} time{}",
                    microseconds(clock.residual), microseconds(clock.worstResidual),
                    static_cast<double>(clock.driftPpb) * 1e-3, clock.comparisons,
                    clock.comparisons == 1 ? "" : "s");
    if (clock.steps > 0)
        text += clock.steps == 1 ? ", set once" : fmt::format(", set {} times", clock.steps);
    return text;
}

HostClocks::HostClocks(const RecordingSummary& summary, const std::vector<RankEvents>& ranks) {
    for (const HostFacts& host : summary.hosts) {
        m_hosts.push_back({});
        m_hosts.back().host = host.host;
        m_hosts.back().name = host.name;
        m_hosts.back().offsetNs = host.clockOffsetNs;
        m_hosts.back().residual = m_hosts.back().worstResidual = {host.clockErrorNs};
        m_stated[host.host].push_back({{0}, host.clockErrorNs});
        m_compared = m_compared || host.clockErrorNs > 0;
    }
    for (const RankFacts& rank : summary.ranks) m_hostOf[rank.rank] = rank.host;
    takeComparisons(summary);
    if (several()) takeCollectives(ranks);
    sumUp(summary);
}

void HostClocks::takeComparisons(const RecordingSummary& summary) {
    for (HostClock& host : m_hosts) {
        for (const ClockFacts& clock : summary.clocks) {
            if (clock.host != host.host) continue;
            m_stated[host.host].push_back({clock.time, boundOf(clock)});
            ++host.comparisons;
            host.offsetNs = clock.offsetNs;
            host.driftPpb = clock.driftPpb;
            host.steps += clock.stepped ? 1 : 0;
        }
    }
}

/// Against a host whose clock is the recorder's what is in doubt of both is in doubt of this one.
Duration HostClocks::tightened(std::int32_t host, const ClockFacts& clock) const {
    Duration least{boundOf(clock)};
    for (const HostClock& own : m_hosts) {
        if (own.comparisons > 0 || own.worstResidual.ns > 0) continue;
        if (const auto apart = between(host, own.host, clock.time)) least = std::min(least, *apart);
    }
    return least;
}

void HostClocks::sumUp(const RecordingSummary& summary) {
    for (HostClock& host : m_hosts) {
        std::vector<std::int64_t> bounds;
        for (const ClockFacts& clock : summary.clocks)
            if (clock.host == host.host && !clock.stepped)
                bounds.push_back(tightened(host.host, clock).ns);
        if (bounds.empty()) continue;
        host.worstResidual = {*std::max_element(bounds.begin(), bounds.end())};
        host.residual = {medianOf(std::move(bounds))};
    }
}

/// Of each collective only the tightest bounds count: the host that was there last, the host that
/// left first.
void HostClocks::takeCollectives(const std::vector<RankEvents>& ranks) {
    std::map<std::pair<std::uint32_t, std::uint64_t>, Passages> collectives;
    for (const RankEvents& events : ranks) {
        const std::int32_t host = hostOf(events.rank);
        for (const CollectiveEvent& event : events.collectives) {
            if (!holdsAllUp(event.operation)) continue;
            auto& passages = collectives[{event.group, event.sequence}];
            const auto [found, fresh] = passages.try_emplace(host, Passage{event.end, event.start});
            if (fresh) continue;
            found->second.firstEnd = std::min(found->second.firstEnd, event.end);
            found->second.lastArrival = std::max(found->second.lastArrival, event.start);
        }
    }
    for (const auto& [key, passages] : collectives) {
        if (passages.size() < 2) continue;
        const auto first = std::min_element(
            passages.begin(), passages.end(),
            [](const auto& a, const auto& b) { return a.second.firstEnd < b.second.firstEnd; });
        const auto last =
            std::max_element(passages.begin(), passages.end(), [](const auto& a, const auto& b) {
                return a.second.lastArrival < b.second.lastArrival;
            });
        for (const auto& [host, passage] : passages) {
            note(host, passage.firstEnd, last->first, last->second.lastArrival);
            if (host != last->first || first->first != last->first)
                note(first->first, first->second.firstEnd, host, passage.lastArrival);
        }
    }
}

/// `early` left at `end`, when `late` had arrived: its times are ahead by no more than that.
void HostClocks::note(std::int32_t early, Timestamp end, std::int32_t late, Timestamp arrival) {
    if (early == late) return;
    const bool inOrder = early < late;
    const Pair pair = inOrder ? Pair{early, late} : Pair{late, early};
    ClockBounds& bounds =
        m_proven[pair].try_emplace(windowOf(arrival), ClockBounds{-kAny, kAny}).first->second;
    const std::int64_t ahead = (end - arrival).ns;
    if (inOrder)
        bounds.mostNs = std::min(bounds.mostNs, ahead);
    else
        bounds.leastNs = std::max(bounds.leastNs, -ahead);
}

std::int32_t HostClocks::hostOf(RankId rank) const {
    const auto found = m_hostOf.find(rank);
    return found == m_hostOf.end() ? 0 : found->second;
}

/// The most of the comparisons within `range` and of those around it.
std::int64_t HostClocks::statedWithin(std::int32_t host, TimeRange range) const {
    const auto found = m_stated.find(host);
    if (found == m_stated.end()) return 0;
    const std::vector<Stated>& stated = found->second;
    const auto earlier = [](const Stated& each, Timestamp at) { return each.time < at; };
    auto each = std::lower_bound(stated.begin(), stated.end(), range.begin, earlier);
    if (each != stated.begin()) --each;
    std::int64_t most = 0;
    for (; each != stated.end(); ++each) {
        most = std::max(most, each->boundNs);
        if (each->time >= range.end) break;
    }
    return most;
}

std::int64_t HostClocks::statedOf(std::int32_t a, std::int32_t b, TimeRange range) const {
    return statedWithin(a, range) + statedWithin(b, range);
}

std::optional<ClockBounds> HostClocks::provenBetween(std::int32_t first, std::int32_t second,
                                                     Timestamp time) const {
    const bool inOrder = first < second;
    const auto windows = m_proven.find(inOrder ? Pair{first, second} : Pair{second, first});
    if (windows == m_proven.end()) return std::nullopt;
    const auto found = windows->second.find(windowOf(time));
    if (found == windows->second.end()) return std::nullopt;
    const ClockBounds& bounds = found->second;
    return inOrder ? bounds : ClockBounds{-bounds.mostNs, -bounds.leastNs};
}

std::optional<Duration> HostClocks::between(std::int32_t a, std::int32_t b, Timestamp time) const {
    if (a == b) return Duration{0};
    const std::int64_t stated = statedOf(a, b, {time, time});
    const auto proven = provenBetween(a, b, time);
    if (!proven || stated == 0) return Duration{stated};
    const std::int64_t least = std::max(-stated, proven->leastNs);
    const std::int64_t most = std::min(stated, proven->mostNs);
    if (least <= most) return Duration{std::max(std::abs(least), std::abs(most))};
    // Of another moment of the window, when clocks were less well known?
    const std::int64_t once = statedOf(a, b, rangeOf(windowOf(time)));
    if (proven->leastNs > once || proven->mostNs < -once) return std::nullopt;
    return Duration{stated};
}

std::optional<Duration> HostClocks::doubt(RankId a, RankId b, Timestamp time) const {
    return between(hostOf(a), hostOf(b), time);
}

bool HostClocks::tellsLast(const CollectiveEvent& collective,
                           const std::vector<RankId>& members) const {
    if (!several() || collective.arrivals.empty()) return true;
    std::unordered_map<std::int32_t, Timestamp> latest;
    for (std::size_t i = 0; i < collective.arrivals.size(); ++i) {
        const Timestamp arrival = collective.arrivals[i];
        Timestamp& ofHost = latest.try_emplace(hostOf(memberAt(members, i)), arrival).first->second;
        ofHost = std::max(ofHost, arrival);
    }
    const Timestamp last = collective.arrivals.last();
    const std::int32_t late = hostOf(memberAt(members, collective.arrivals.lastPlace()));
    return std::all_of(latest.begin(), latest.end(), [&](const auto& each) {
        const auto doubted = between(late, each.first, last);
        return each.first == late || (doubted && last - each.second >= *doubted);
    });
}

std::vector<ClockProof> HostClocks::proofs() const {
    std::vector<ClockProof> found;
    for (const auto& [pair, windows] : m_proven) {
        ClockProof most;
        for (const auto& [window, bounds] : windows) {
            const bool second = bounds.mostNs < 0;  // is the one ahead
            const Duration ahead{second ? -bounds.mostNs : bounds.leastNs};
            if (ahead <= most.ahead) continue;
            most = {second ? pair.second : pair.first, second ? pair.first : pair.second, ahead,
                    rangeOf(window)};
        }
        if (most.ahead.ns > 0) found.push_back(most);
    }
    return found;
}

std::int64_t HostClocks::contradictions() const {
    std::int64_t count = 0;
    for (const auto& [pair, windows] : m_proven)
        for (const auto& [window, bounds] : windows) {
            const std::int64_t stated = statedOf(pair.first, pair.second, rangeOf(window));
            const bool apart = bounds.leastNs > stated || bounds.mostNs < -stated;
            count += apart && stated > 0 ? 1 : 0;
        }
    return count;
}

void HostPassages::add(const RankEvents& events) {
    if (!several()) return;
    const auto [host, fresh] = m_passages.try_emplace(m_hosts.hostOf(events.rank));
    if (fresh) host->second.rank = events.rank;
    for (const CollectiveEvent& event : events.collectives) {
        const auto [passage, first] = host->second.passages.try_emplace(
            Key{event.group, event.sequence, event.operation}, TimeRange{event.start, event.end});
        if (first) continue;
        passage->second.begin = std::max(passage->second.begin, event.start);
        passage->second.end = std::min(passage->second.end, event.end);
    }
}

/// A host's ranks are as one that came last and left first.
HostClocks HostPassages::clocks(const RecordingSummary& summary) const {
    std::vector<RankEvents> hosts;
    for (const auto& [number, host] : m_passages) {
        RankEvents& events = hosts.emplace_back();
        events.rank = host.rank;
        events.collectives.reserve(host.passages.size());
        for (const auto& [key, range] : host.passages) {
            CollectiveEvent& event = events.collectives.emplace_back();
            std::tie(event.group, event.sequence, event.operation) = key;
            event.start = range.begin;
            event.end = range.end;
        }
    }
    return {summary, hosts};
}

}  // namespace shardscope::analysis
