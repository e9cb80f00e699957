#include "profiler/analysis/communication/transfers.h"

#include "profiler/analysis/communication/collective_figures.h"
#include "profiler/analysis/communication/last_arrivals.h"
#include "profiler/analysis/findings.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace shardscope::analysis {
namespace {

/// Operation, group, bytes.
using Like = std::tuple<CollectiveOp, std::uint32_t, std::int64_t>;

Like likeOf(const Transfer& transfer) {
    return {transfer.operation, transfer.group, transfer.size.count};
}

/// The line through weighted points, weights 1 / time^2, so that small ones count as large ones.
AlphaBeta lineThrough(const std::map<std::int64_t, Duration>& envelope) {
    double weights = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (const auto& [size, time] : envelope) {
        const auto bytes = static_cast<double>(size), ns = static_cast<double>(time.ns);
        const double weight = 1 / (ns * ns);
        weights += weight;
        x += weight * bytes;
        y += weight * ns;
        xx += weight * bytes * bytes;
        xy += weight * bytes * ns;
    }
    AlphaBeta fit;
    fit.sizes = static_cast<std::int64_t>(envelope.size());
    fit.nsPerByte = (weights * xy - x * y) / (weights * xx - x * x);
    fit.latencyNs = (y - fit.nsPerByte * x) / weights;
    // Outside of what can be: the better of the two borders is through the origin, or flat.
    if (fit.latencyNs < 0) return {0, xy / xx, fit.sizes};
    if (fit.nsPerByte < 0) return {y / weights, 0, fit.sizes};
    return fit;
}

std::map<Like, std::vector<std::int64_t>> timesByLike(const std::vector<Transfer>& transfers) {
    std::map<Like, std::vector<std::int64_t>> times;
    for (const Transfer& transfer : transfers)
        if (transfer.transfer) times[likeOf(transfer)].push_back(transfer.transfer->ns);
    return times;
}

void addTo(TransferClass& sum, const Transfer& transfer, bool outlier) {
    ++sum.count;
    sum.ranks = std::max(sum.ranks, transfer.ranks);
    sum.waited += transfer.waited;
    sum.outliers += outlier;
    if (transfer.size != kUnknownSize) sum.bytes += transfer.size;
    if (!transfer.transfer) return;
    sum.moved += *transfer.transfer;
    ++sum.timed;
    if (const auto bus = transfer.busBandwidth())
        sum.bestBusBandwidth = std::max(sum.bestBusBandwidth.value_or(0), *bus);
}

/// What needs all of a class at once.
struct Gathered {
    std::vector<SizedTime> times, completions;
    std::vector<std::int64_t> skews;
};

void finish(TransferClass& sum, const Gathered& gathered) {
    if (!gathered.skews.empty()) sum.medianSkew = Duration{medianOf(gathered.skews)};
    double bytes = 0, seconds = 0;
    for (const auto& [size, time] : gathered.times) {
        bytes += static_cast<double>(size.count);
        seconds += time.seconds();
    }
    if (seconds > 0) {
        sum.algorithmBandwidth = bytes / seconds;
        if (const auto factor = busFactor(sum.operation, sum.ranks))
            sum.busBandwidth = *sum.algorithmBandwidth * *factor;
    }
    sum.fit = fitAlphaBeta(gathered.completions);
}

}  // namespace

std::optional<Duration> Transfer::completion() const {
    return skew ? std::optional(range.duration() - *skew) : transfer;
}

std::optional<double> Transfer::algorithmBandwidth() const {
    if (!moves(operation) || size == kUnknownSize || !transfer || transfer->ns <= 0)
        return std::nullopt;
    return static_cast<double>(size.count) / transfer->seconds();
}

std::optional<double> Transfer::busBandwidth() const {
    const auto bandwidth = algorithmBandwidth(), factor = busFactor(operation, ranks);
    if (!bandwidth || !factor) return std::nullopt;
    return *bandwidth * *factor;
}

std::optional<double> busFactor(CollectiveOp operation, std::int32_t ranks) {
    if (ranks < 2) return std::nullopt;
    const double others = static_cast<double>(ranks - 1) / ranks;
    switch (operation) {
        case CollectiveOp::kAllReduce:
            return 2 * others;
        case CollectiveOp::kAllGather:
        case CollectiveOp::kReduceScatter:
        case CollectiveOp::kAllToAll:
            return others;
        case CollectiveOp::kBroadcast:
        case CollectiveOp::kSend:
        case CollectiveOp::kReceive:
            return 1;
        case CollectiveOp::kBarrier:
            break;
    }
    return std::nullopt;
}

static std::pair<std::uint32_t, std::uint64_t> keyOf(const CollectiveEvent& event) {
    return {event.group, event.sequence};
}

void TransferTally::add(const RankEvents& events) {
    m_groups.push_back(outlineOf(events));
    const auto before = [](const Seen& seen, const auto& key) { return seen.key() < key; };
    std::vector<const CollectiveEvent*> fresh;
    auto next = m_seen.begin();  // ranks tell of the same ones, in the same order
    for (const CollectiveEvent& event : events.collectives) {
        // A message is numbered between two ranks, so its number says nothing to others.
        if (entryOf(event.operation) != nullptr && entryOf(event.operation)->message) continue;
        const std::pair key = keyOf(event);
        if (next == m_seen.end() || next->key() != key)
            next = std::lower_bound(m_seen.begin(), m_seen.end(), key, before);
        if (next != m_seen.end() && next->key() == key)
            see(*next++, event);
        else
            fresh.push_back(&event);
    }
    addFresh(std::move(fresh));
}

/// Sorted at once: the collectives of several groups come in turn.
void TransferTally::addFresh(std::vector<const CollectiveEvent*> fresh) {
    const auto before = [](const CollectiveEvent* a, const CollectiveEvent* b) {
        return keyOf(*a) < keyOf(*b);
    };
    if (!std::is_sorted(fresh.begin(), fresh.end(), before))
        std::stable_sort(fresh.begin(), fresh.end(), before);
    const auto middle = static_cast<std::ptrdiff_t>(m_seen.size());
    m_seen.reserve(m_seen.size() + fresh.size());
    for (std::size_t at = 0; at < fresh.size(); ++at) {
        if (at == 0 || keyOf(*fresh[at]) != keyOf(*fresh[at - 1])) m_seen.emplace_back();
        see(m_seen.back(), *fresh[at]);
    }
    std::inplace_merge(m_seen.begin(), m_seen.begin() + middle, m_seen.end(),
                       [](const Seen& a, const Seen& b) { return a.key() < b.key(); });
}

void TransferTally::see(Seen& seen, const CollectiveEvent& event) {
    Transfer& transfer = seen.transfer;
    const Timestamp met = event.lastArrival();
    if (seen.ranks++ == 0) {
        transfer.operation = event.operation;
        transfer.group = event.group;
        transfer.sequence = event.sequence;
        transfer.step = event.step;
        transfer.layer = event.layer;
        transfer.cause = event.cause;
        transfer.size = event.size;
        transfer.range = {event.start, event.end};
        seen.leastFromStart = event.end - event.start;
        seen.leastFromArrival = event.end - met;
    }
    transfer.range.begin = std::min(transfer.range.begin, event.start);
    transfer.range.end = std::max(transfer.range.end, event.end);
    transfer.waited += met - event.start;
    seen.lasted += event.end - event.start;
    seen.leastFromStart = std::min(seen.leastFromStart, event.end - event.start);
    seen.leastFromArrival = std::min(seen.leastFromArrival, event.end - met);
    if (event.arrivals.size() > std::max<std::size_t>(1, seen.arrivals.size())) {
        seen.arrivals = event.arrivals;
        seen.met = met;
    }
}

Transfer TransferTally::transferOf(const Seen& seen, const Groups& groups,
                                   const HostClocks& clocks) {
    Transfer transfer = seen.transfer;
    const std::vector<RankId>& members = groups.of(transfer.group);
    if (!seen.arrivals.empty() && seen.arrivals.size() >= members.size()) {
        CollectiveEvent event;
        event.arrivals = seen.arrivals;
        transfer.ranks = static_cast<std::int32_t>(seen.arrivals.size());
        transfer.transfer = seen.leastFromArrival;
        if (clocks.tellsLast(event, members)) {
            transfer.skew = seen.met - seen.arrivals.first();
            transfer.late = lastToArrive(event, members);
        }
    } else if (seen.ranks == members.size() && seen.ranks > 1) {
        const auto ranks = static_cast<std::int32_t>(seen.ranks);
        transfer.ranks = ranks;
        transfer.transfer = seen.leastFromStart;
        transfer.waited = seen.lasted - Duration{ranks * seen.leastFromStart.ns};
    }
    return transfer;
}

std::vector<Transfer> TransferTally::transfers(const HostClocks& clocks) const {
    const Groups groups(m_groups);
    std::vector<Transfer> transfers;
    transfers.reserve(m_seen.size());
    for (const Seen& seen : m_seen) transfers.push_back(transferOf(seen, groups, clocks));
    const auto before = [](const Transfer& a, const Transfer& b) {
        return a.range.begin < b.range.begin;
    };
    if (!std::is_sorted(transfers.begin(), transfers.end(), before))
        std::stable_sort(transfers.begin(), transfers.end(), before);
    return transfers;
}

std::vector<Transfer> transfersOf(const std::vector<RankEvents>& ranks, const HostClocks& clocks) {
    TransferTally tally;
    for (const RankEvents& events : ranks) tally.add(events);
    return tally.transfers(clocks);
}

std::optional<AlphaBeta> fitAlphaBeta(const std::vector<SizedTime>& times) {
    std::map<std::int64_t, Duration> envelope;
    for (const auto& [size, time] : times) {
        if (size.count <= 0 || time.ns <= 0) continue;
        const auto [found, fresh] = envelope.try_emplace(size.count, time);
        if (!fresh) found->second = std::min(found->second, time);
    }
    if (envelope.size() < 2 || envelope.rbegin()->first < 2 * envelope.begin()->first)
        return std::nullopt;
    AlphaBeta fit = lineThrough(envelope);
    fit.least = {envelope.begin()->first};
    fit.most = {envelope.rbegin()->first};
    return fit;
}

std::vector<std::optional<double>> overTypical(const std::vector<Transfer>& transfers) {
    std::map<Like, std::int64_t> medians;
    for (auto& [like, times] : timesByLike(transfers))
        if (times.size() >= kLeastAlike) medians[like] = medianOf(std::move(times));
    std::vector<std::optional<double>> over;
    over.reserve(transfers.size());
    for (const Transfer& transfer : transfers) {
        const auto median = medians.find(likeOf(transfer));
        over.emplace_back();
        if (transfer.transfer && median != medians.end() && median->second > 0)
            over.back() =
                static_cast<double>(transfer.transfer->ns) / static_cast<double>(median->second);
    }
    return over;
}

std::vector<TransferClass> classesOf(const std::vector<Transfer>& transfers) {
    const auto over = overTypical(transfers);
    std::map<std::pair<CollectiveOp, std::uint32_t>, std::pair<TransferClass, Gathered>> classes;
    for (std::size_t i = 0; i < transfers.size(); ++i) {
        const Transfer& transfer = transfers[i];
        if (!moves(transfer.operation)) continue;
        auto& [sum, gathered] = classes[{transfer.operation, transfer.group}];
        sum.operation = transfer.operation;
        sum.group = transfer.group;
        addTo(sum, transfer, over[i].value_or(0) > kTransferOutlier);
        if (transfer.skew) gathered.skews.push_back(transfer.skew->ns);
        if (transfer.size == kUnknownSize) continue;
        if (transfer.transfer) gathered.times.push_back({transfer.size, *transfer.transfer});
        if (const auto completion = transfer.completion())
            gathered.completions.push_back({transfer.size, *completion});
    }
    std::vector<TransferClass> sorted;
    for (auto& [key, each] : classes) {
        finish(each.first, each.second);
        sorted.push_back(each.first);
    }
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.moved > b.moved; });
    return sorted;
}

}  // namespace shardscope::analysis
