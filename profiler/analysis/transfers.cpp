#include "profiler/analysis/transfers.h"

#include "profiler/analysis/collective_figures.h"
#include "profiler/analysis/findings.h"
#include "profiler/analysis/groups.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace shardscope::analysis {
namespace {

using Key = std::pair<std::uint32_t, std::uint64_t>;  ///< group, sequence
/// Operation, group, bytes.
using Like = std::tuple<CollectiveOp, std::uint32_t, std::int64_t>;

Like likeOf(const Transfer& transfer) {
    return {transfer.operation, transfer.group, transfer.size.count};
}

/// One rank's view of a collective.
struct View {
    RankId rank;
    const CollectiveEvent* event = nullptr;
};

/// Arrivals of all members, where some rank knows them.
const CollectiveEvent* withArrivals(const std::vector<View>& views, std::size_t members) {
    for (const View& view : views)
        if (view.event->arrivals.size() > 1 && view.event->arrivals.size() >= members)
            return view.event;
    return nullptr;
}

std::optional<Duration> shortest(const std::vector<View>& views, bool fromLastArrival) {
    std::optional<Duration> least;
    for (const auto& [rank, event] : views) {
        const Timestamp begin = fromLastArrival ? event->lastArrival() : event->start;
        const Duration time = event->end - begin;
        if (!least || time < *least) least = time;
    }
    return least;
}

Transfer transferOf(const std::vector<View>& views, const std::vector<RankId>& members,
                    const HostClocks& clocks) {
    const CollectiveEvent& first = *views.front().event;
    Transfer transfer;
    transfer.operation = first.operation;
    transfer.group = first.group;
    transfer.sequence = first.sequence;
    transfer.step = first.step;
    transfer.layer = first.layer;
    transfer.cause = first.cause;
    transfer.size = first.size;
    transfer.range = {first.start, first.end};
    for (const auto& [rank, event] : views) {
        transfer.range.begin = std::min(transfer.range.begin, event->start);
        transfer.range.end = std::max(transfer.range.end, event->end);
        transfer.waited += event->lastArrival() - event->start;
    }
    const CollectiveEvent* met = withArrivals(views, members.size());
    const bool whole = views.size() == members.size() && views.size() > 1;
    if (met != nullptr) {
        transfer.ranks = static_cast<std::int32_t>(met->arrivals.size());
        transfer.transfer = shortest(views, true);
        if (clocks.tellsLast(*met, members)) {
            transfer.skew = met->lastArrival() - met->arrivals.first();
            transfer.late = lastToArrive(*met, members);
        }
    } else if (whole) {
        transfer.ranks = static_cast<std::int32_t>(views.size());
        transfer.transfer = shortest(views, false);
        transfer.waited = {};
        for (const auto& [rank, event] : views)
            transfer.waited += event->end - event->start - *transfer.transfer;
    }
    return transfer;
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
    std::vector<SizedTime> times;
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
    sum.fit = fitAlphaBeta(gathered.times);
}

}  // namespace

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

std::vector<Transfer> transfersOf(const std::vector<RankEvents>& ranks, const HostClocks& clocks) {
    std::map<Key, std::vector<View>> views;
    const Groups groups(ranks);
    for (const RankEvents& events : ranks)
        for (const CollectiveEvent& event : events.collectives) {
            // A message is numbered between two ranks, so its number says nothing to others.
            if (entryOf(event.operation) != nullptr && entryOf(event.operation)->message) continue;
            views[{event.group, event.sequence}].push_back({events.rank, &event});
        }
    std::vector<Transfer> transfers;
    transfers.reserve(views.size());
    for (const auto& [key, each] : views)
        transfers.push_back(transferOf(each, groups.of(key.first), clocks));
    std::stable_sort(transfers.begin(), transfers.end(), [](const Transfer& a, const Transfer& b) {
        return a.range.begin < b.range.begin;
    });
    return transfers;
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
    return lineThrough(envelope);
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
        if (transfer.transfer && transfer.size != kUnknownSize)
            gathered.times.push_back({transfer.size, *transfer.transfer});
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
