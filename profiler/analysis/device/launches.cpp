#include "profiler/analysis/device/launches.h"

#include "profiler/analysis/findings.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace shardscope::analysis {
namespace {

/// By start; of those that start together the first launched, then those with no call.
bool isBefore(const LaunchedWork& a, const LaunchedWork& b) {
    if (a.time.begin != b.time.begin) return a.time.begin < b.time.begin;
    if (!a.call || !b.call) return a.call.has_value() && !b.call;
    return a.call->time.begin < b.call->time.begin;
}

IdleCause causeOf(const LaunchedWork& next, TimeRange gap) {
    if (!next.call) return IdleCause::kUnknown;
    if (next.call->time.begin > gap.begin) return IdleCause::kHost;
    return gap.duration() < kShortGap ? IdleCause::kKernel : IdleCause::kOther;
}

/// What one call launched: a graph's nodes are many.
struct OfCall {
    const LaunchedWork* first = nullptr;  ///< by start
    Duration work;                        ///< of all
};
/// In order of the first start.
std::vector<std::pair<TimeRange, OfCall>> byCall(const std::vector<LaunchedWork>& work) {
    std::vector<std::pair<TimeRange, OfCall>> calls;
    std::unordered_map<std::uint64_t, std::size_t> places;
    places.reserve(work.size());
    for (const LaunchedWork& each : work) {
        if (!each.call) continue;
        const auto [at, fresh] = places.try_emplace(each.call->correlation, calls.size());
        if (fresh) calls.push_back({each.call->time, {&each, {}}});
        OfCall& launched = calls[at->second].second;
        if (each.time.begin < launched.first->time.begin) launched.first = &each;
        launched.work += each.time.duration();
    }
    return calls;
}

}  // namespace

Duration LaunchedWork::delay() const {
    return call ? std::max(Duration{}, time.begin - call->time.end) : Duration{};
}

std::vector<LaunchedWork> joinLaunches(const std::vector<StreamWork>& work,
                                       const std::vector<LaunchCall>& calls) {
    std::unordered_map<std::uint64_t, const LaunchCall*> byCorrelation;
    byCorrelation.reserve(calls.size());
    for (const LaunchCall& call : calls) {
        if (call.correlation == 0) continue;
        const auto [at, fresh] = byCorrelation.try_emplace(call.correlation, &call);
        if (!fresh && call.time.begin < at->second->time.begin) at->second = &call;
    }
    std::vector<LaunchedWork> joined;
    joined.reserve(work.size());
    for (const StreamWork& each : work) {
        const auto call = byCorrelation.find(each.correlation);
        LaunchedWork& launched = joined.emplace_back();
        launched.time = each.time;
        if (call != byCorrelation.end()) launched.call = *call->second;
    }
    std::stable_sort(joined.begin(), joined.end(), isBefore);
    return joined;
}

LaunchTotals launchTotals(const std::vector<LaunchedWork>& work) {
    LaunchTotals totals;
    std::vector<Duration> delays;
    for (const auto& [call, launched] : byCall(work)) {
        const Duration delay = launched.first->delay();
        ++totals.count;
        totals.calls += call.duration();
        totals.work += launched.work;
        totals.delay += delay;
        totals.longestDelay = std::max(totals.longestDelay, delay);
        totals.shortWork += call.duration() <= kSlowCall && launched.work < call.duration();
        totals.slowCalls += call.duration() > kSlowCall;
        totals.lateStarts += delay > kLateLaunch;
        delays.push_back(delay);
    }
    if (!delays.empty()) totals.medianDelay = medianOf(std::move(delays));
    return totals;
}

std::optional<double> QueueLength::mean() const {
    if (span.ns <= 0) return std::nullopt;
    return lengthTimesNs / static_cast<double>(span.ns);
}

QueueLength queueLength(const std::vector<LaunchedWork>& work) {
    QueueLength queue;
    const std::vector<QueueSample> samples = queueSamples(work);
    if (samples.empty()) return queue;
    queue.launches = static_cast<std::int64_t>(samples.size()) / 2;
    queue.span = samples.back().time - samples.front().time;
    QueueSample before = samples.front();
    for (const QueueSample& sample : samples) {
        const Duration past = sample.time - before.time;
        queue.lengthTimesNs += static_cast<double>(before.length) * static_cast<double>(past.ns);
        if (before.length >= kFullQueue) queue.full += past;
        queue.longest = std::max(queue.longest, sample.length);
        before = sample;
    }
    return queue;
}

std::vector<QueueSample> queueSamples(const std::vector<LaunchedWork>& work) {
    /// What comes counts before what goes: it was there for no time, but it was.
    std::vector<std::pair<Timestamp, int>> changes;
    for (const auto& [call, launched] : byCall(work)) {
        const Timestamp begin = launched.first->time.begin;
        changes.emplace_back(std::min(call.begin, begin), -1);
        changes.emplace_back(begin, 1);
    }
    std::sort(changes.begin(), changes.end());
    std::vector<QueueSample> samples;
    samples.reserve(changes.size());
    std::int64_t length = 0;
    for (const auto& [time, change] : changes) samples.push_back({time, length -= change});
    return samples;
}

Duration IdleCauses::idle() const {
    Duration sum;
    for (const Duration each : by) sum += each;
    return sum;
}

IdleCauses idleCauses(const std::vector<LaunchedWork>& work) {
    IdleCauses causes;
    if (work.empty()) return causes;
    const Timestamp first = work.front().time.begin;
    Timestamp reached = first;
    for (const LaunchedWork& each : work) {
        const TimeRange gap{reached, each.time.begin};
        if (!gap.empty()) causes.by[static_cast<std::size_t>(causeOf(each, gap))] += gap.duration();
        reached = std::max(reached, each.time.end);
    }
    causes.span = reached - first;
    return causes;
}

}  // namespace shardscope::analysis
