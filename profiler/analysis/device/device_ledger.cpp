#include "profiler/analysis/device/device_ledger.h"

#include "profiler/analysis/findings.h"
#include "profiler/analysis/steps/ledger.h"
#include "storage/model/step_facts.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace shardscope::analysis {
namespace {

/// By DeviceWorkKind.
using WorkTime = std::array<Intervals, 5>;

WorkTime workTime(const DeviceTimeline& device) {
    WorkTime times;
    for (const DeviceWork& work : device.work)
        times[static_cast<std::size_t>(work.kind)].push_back(work.range);
    for (Intervals& time : times) time = unionOf(std::move(time));
    return times;
}

const Intervals& of(const WorkTime& times, DeviceWorkKind kind) {
    return times[static_cast<std::size_t>(kind)];
}

Intervals operationTime(const RankEvents& events, CollectiveOp operation) {
    std::vector<TimeRange> ranges;
    for (const CollectiveEvent& each : events.collectives)
        if (each.operation == operation) ranges.push_back({each.start, each.end});
    return unionOf(std::move(ranges));
}

Intervals communicationOf(const RankEvents& events, const WorkTime& work) {
    const Intervals& kernels = of(work, DeviceWorkKind::kCommunication);
    if (!kernels.empty()) return kernels;
    std::vector<TimeRange> collectives;
    for (const CollectiveEvent& each : events.collectives)
        collectives.push_back({each.start, each.end});
    return unionOf(std::move(collectives));
}

/// From the beginning of a call to that of the work it launched.
Intervals launchedTime(const DeviceTimeline& device) {
    std::vector<TimeRange> ranges;
    for (const DeviceWork& work : device.work)
        if (work.launch && !work.range.empty()) ranges.push_back({*work.launch, work.range.begin});
    return unionOf(std::move(ranges));
}

/// Gaps between work that end with one whose launch is not recorded, and what lies behind it all.
Intervals unknownGaps(const DeviceTimeline& device, const WorkTime& work) {
    constexpr Timestamp kFirst{std::numeric_limits<std::int64_t>::min() / 2},
        kLast{std::numeric_limits<std::int64_t>::max() / 2};
    std::vector<Timestamp> begins;
    for (const DeviceWork& each : device.work)
        if (!each.launch && !each.range.empty()) begins.push_back(each.range.begin);
    Timestamp ended = kFirst;
    for (const Intervals& time : work)
        if (!time.empty()) ended = std::max(ended, time.back().end);
    if (begins.empty()) return {{ended, kLast}};
    if (!std::is_sorted(begins.begin(), begins.end())) std::sort(begins.begin(), begins.end());
    std::vector<TimeRange> busy;
    for (const Intervals& time : work) busy.insert(busy.end(), time.begin(), time.end());
    Intervals gaps;
    ended = kFirst;
    for (const TimeRange& range : unionOf(std::move(busy))) {
        if (std::binary_search(begins.begin(), begins.end(), range.begin))
            gaps.push_back({ended, range.begin});
        ended = range.end;
    }
    gaps.push_back({ended, kLast});
    return gaps;
}

/// Hands out the time of steps, each instant once.
class Parts {
public:
    explicit Parts(Intervals steps) : m_rest(std::move(steps)) {}

    /// What is left of `set` goes to the part.
    void take(LedgerPart part, const Intervals& set) {
        Intervals own = intersection(m_rest, set);
        if (own.empty()) return;
        m_rest = difference(m_rest, own);
        m_taken.emplace_back(part, std::move(own));
    }

    /// What nothing took is host-bound.
    [[nodiscard]] LedgerRow rowOf(const StepFacts& step) const {
        LedgerRow row{step.rank, step.step, step.range().duration(), {}};
        Duration rest = row.wall;
        for (const auto& [part, set] : m_taken) {
            const Duration own = total(set, step.range());
            row.parts[at(part)] += own;
            rest -= own;
        }
        row.parts[at(LedgerPart::kHostBound)] += rest;
        return row;
    }

    /// In order of time.
    [[nodiscard]] std::vector<LedgerPiece> piecesOf(TimeRange step) const {
        std::vector<LedgerPiece> pieces;
        const auto add = [&](LedgerPart part, const Intervals& set) {
            for (const TimeRange& range : intersection(set, {step}))
                pieces.push_back({range, part});
        };
        for (const auto& [part, set] : m_taken) add(part, set);
        add(LedgerPart::kHostBound, m_rest);
        std::sort(pieces.begin(), pieces.end(), [](const LedgerPiece& a, const LedgerPiece& b) {
            return a.range.begin < b.range.begin;
        });
        return pieces;
    }

private:
    Intervals m_rest;
    std::vector<std::pair<LedgerPart, Intervals>> m_taken;
};

void takeWork(const RankEvents& events, const WorkTime& work, Parts& parts) {
    parts.take(LedgerPart::kCompute, of(work, DeviceWorkKind::kCompute));
    parts.take(LedgerPart::kOptimizer, of(work, DeviceWorkKind::kOptimizer));
    parts.take(LedgerPart::kEvaluation, of(work, DeviceWorkKind::kEvaluation));
    const Intervals communication = communicationOf(events, work);
    parts.take(LedgerPart::kWaiting, intersection(communication, waitingTime(events)));
    const std::pair<LedgerPart, CollectiveOp> operations[] = {
        {LedgerPart::kExposedGather, CollectiveOp::kAllGather},
        {LedgerPart::kExposedReduceScatter, CollectiveOp::kReduceScatter},
        {LedgerPart::kExposedAllReduce, CollectiveOp::kAllReduce}};
    for (const auto& [part, operation] : operations)
        parts.take(part, intersection(communication, operationTime(events, operation)));
    parts.take(LedgerPart::kExposedOther, communication);
    parts.take(LedgerPart::kCopies, of(work, DeviceWorkKind::kCopy));
}

void takeIdle(const DeviceTimeline& device, const WorkTime& work, Parts& parts) {
    parts.take(LedgerPart::kProfiler, unionOf(device.profiler));
    parts.take(LedgerPart::kData, unionOf(device.data));
    parts.take(LedgerPart::kCheckpoint, unionOf(device.checkpoint));
    parts.take(LedgerPart::kLaunchBound, launchedTime(device));
    parts.take(LedgerPart::kOther, unknownGaps(device, work));
}

bool isWorked(TimeRange step, const WorkTime& work) {
    return std::any_of(work.begin(), work.end(),
                       [step](const Intervals& time) { return total(time, step).ns > 0; });
}

/// Whether any work of it makes the ledger one of the device. Where phases tell more than
/// communication and copies do, those do not.
bool hasWork(const RankEvents& events, const WorkTime& work) {
    const bool any =
        std::any_of(work.begin(), work.end(), [](const Intervals& time) { return !time.empty(); });
    return any && (events.phases.empty() || !of(work, DeviceWorkKind::kCompute).empty() ||
                   !of(work, DeviceWorkKind::kOptimizer).empty() ||
                   !of(work, DeviceWorkKind::kEvaluation).empty());
}

bool goesByDevice(const StepFacts& step, const RankEvents& events, const WorkTime& work) {
    return !step.range().empty() && (events.phases.empty() || isWorked(step.range(), work));
}

}  // namespace

std::vector<LedgerPiece> devicePieces(const StepFacts& step, const RankEvents& events,
                                      const DeviceTimeline& device) {
    const WorkTime work = workTime(device);
    if (!hasWork(events, work) || !goesByDevice(step, events, work)) return {};
    Parts parts(Intervals{step.range()});
    takeWork(events, work, parts);
    takeIdle(device, work, parts);
    return parts.piecesOf(step.range());
}

std::vector<LedgerRow> deviceLedger(const RecordingSummary& summary, const RankEvents& events,
                                    const DeviceTimeline& device) {
    const WorkTime work = workTime(device);
    if (!hasWork(events, work)) return {};
    std::vector<StepFacts> steps;
    std::vector<TimeRange> time;
    for (const StepFacts& step : summary.steps) {
        if (step.rank != events.rank || !goesByDevice(step, events, work)) continue;
        steps.push_back(step);
        time.push_back(step.range());
    }
    Parts parts(unionOf(std::move(time)));
    takeWork(events, work, parts);
    takeIdle(device, work, parts);
    std::vector<LedgerRow> rows;
    for (const StepFacts& step : steps) rows.push_back(parts.rowOf(step));
    return rows;
}

}  // namespace shardscope::analysis
