#include "profiler/analysis/steps/ledger.h"

#include "profiler/analysis/findings.h"
#include "storage/model/step_facts.h"

#include <set>

namespace shardscope::analysis {
namespace {

LedgerPart partOf(Phase phase) {
    switch (phase) {
        case Phase::kForward:
        case Phase::kHead:
        case Phase::kBackward:
        case Phase::kRecompute:
            return LedgerPart::kCompute;
        case Phase::kClip:
        case Phase::kOptimizer:
            return LedgerPart::kOptimizer;
        case Phase::kWaitGather:
            return LedgerPart::kExposedGather;
        case Phase::kWaitReduction:
            return LedgerPart::kExposedReduceScatter;
        case Phase::kWaitOther:
            return LedgerPart::kExposedOther;
        case Phase::kData:
            return LedgerPart::kData;
        case Phase::kEvaluation:
            return LedgerPart::kEvaluation;
        case Phase::kCheckpoint:
            return LedgerPart::kCheckpoint;
        case Phase::kNone:
        case Phase::kCalibration:
        case Phase::kRelease:
        case Phase::kOther:
        case Phase::kSample:
            return LedgerPart::kOther;
    }
    return LedgerPart::kOther;
}

/// Gradient reductions of a rank, to tell what a phase waits for.
class Reductions {
public:
    explicit Reductions(const RankEvents& events) {
        for (const CollectiveEvent& each : events.collectives) {
            if (each.operation == CollectiveOp::kReduceScatter ||
                each.operation == CollectiveOp::kAllReduce)
                m_byEnd.push_back({{each.start, each.end}, each.operation});
        }
        std::stable_sort(m_byEnd.begin(), m_byEnd.end(),
                         [](const auto& a, const auto& b) { return a.range.end < b.range.end; });
    }

    /// The one that ended last within the wait, else the next to end, if it had begun.
    [[nodiscard]] LedgerPart waitedFor(TimeRange wait) const {
        const auto later = std::upper_bound(
            m_byEnd.begin(), m_byEnd.end(), wait.end,
            [](Timestamp time, const auto& each) { return time < each.range.end; });
        if (later != m_byEnd.begin() && std::prev(later)->range.end > wait.begin)
            return partOf(*std::prev(later));
        if (later != m_byEnd.end() && later->range.begin < wait.end) return partOf(*later);
        return LedgerPart::kExposedReduceScatter;
    }

private:
    struct Reduction {
        TimeRange range;
        CollectiveOp operation{};
    };
    static LedgerPart partOf(const Reduction& reduction) {
        return reduction.operation == CollectiveOp::kAllReduce ? LedgerPart::kExposedAllReduce
                                                               : LedgerPart::kExposedReduceScatter;
    }
    std::vector<Reduction> m_byEnd;
};

/// Calls `gap` with what lies between the phases of a step and `own` with each phase and what of it
/// lies in the step, in order of time; false: no phase does. Phases never overlap by contract;
/// should some do, the earlier one keeps the time, so that the parts always add up.
template <class Gap, class Own>
bool walkPhases(const StepFacts& step, const RankEvents& events, Gap gap, Own each) {
    bool recorded = false;
    Timestamp reached = step.start;
    // Phases are by start and, but for malformed ones, disjoint: the first that can reach into the
    // step is one before the first that starts in it.
    auto phase =
        std::lower_bound(events.phases.begin(), events.phases.end(), step.start,
                         [](const SpanEvent& event, Timestamp time) { return event.start < time; });
    if (phase != events.phases.begin()) --phase;
    for (; phase != events.phases.end() && phase->start < step.end; ++phase) {
        const TimeRange own = phase->range().intersection({reached, std::max(reached, step.end)});
        if (own.empty()) continue;
        recorded = true;
        gap(TimeRange{reached, own.begin});
        reached = own.end;
        each(*phase, own);
    }
    if (recorded) gap(TimeRange{reached, step.end});
    return recorded;
}

LedgerPart partOf(const SpanEvent& phase, const Reductions& reductions) {
    return phase.phase == Phase::kWaitReduction ? reductions.waitedFor(phase.range())
                                                : partOf(phase.phase);
}

std::optional<LedgerRow> rowOf(const StepFacts& step, const RankEvents& events, Coverage& waiting,
                               const Reductions& reductions) {
    LedgerRow row{step.rank, step.step, step.range().duration(), {}};
    const bool recorded = walkPhases(
        step, events, [&](TimeRange gap) { row.parts[at(LedgerPart::kOther)] += gap.duration(); },
        [&](const SpanEvent& phase, TimeRange own) {
            Duration rest = own.duration();
            if (isWait(phase.phase)) {
                const Duration waited = waiting.within(own);
                row.parts[at(LedgerPart::kWaiting)] += waited;
                rest -= waited;
            }
            row.parts[at(partOf(phase, reductions))] += rest;
        });
    if (!recorded) return std::nullopt;
    return row;
}

/// One that goes on is one piece.
void addPiece(LedgerPart part, TimeRange range, std::vector<LedgerPiece>& pieces) {
    if (range.empty()) return;
    if (!pieces.empty() && pieces.back().part == part && pieces.back().range.end == range.begin)
        pieces.back().range.end = range.end;
    else
        pieces.push_back({range, part});
}

}  // namespace

std::vector<LedgerPiece> phasePieces(const StepFacts& step, const RankEvents& events) {
    const Intervals waiting = waitingTime(events);
    const Reductions reductions(events);
    std::vector<LedgerPiece> pieces;
    walkPhases(
        step, events, [&](TimeRange gap) { addPiece(LedgerPart::kOther, gap, pieces); },
        [&](const SpanEvent& phase, TimeRange own) {
            const LedgerPart part = partOf(phase, reductions);
            Timestamp reached = own.begin;
            if (isWait(phase.phase))
                for (const TimeRange& waited : intersection(waiting, {own})) {
                    addPiece(part, {reached, waited.begin}, pieces);
                    addPiece(LedgerPart::kWaiting, waited, pieces);
                    reached = waited.end;
                }
            addPiece(part, {reached, own.end}, pieces);
        });
    return pieces;
}

std::vector<LedgerRow> rankLedger(const RecordingSummary& summary, const RankEvents& events) {
    Coverage waiting(waitingTime(events));
    const Reductions reductions(events);
    std::vector<LedgerRow> rows;
    for (const StepFacts& step : summary.steps) {
        if (step.rank != events.rank) continue;
        if (auto row = rowOf(step, events, waiting, reductions)) rows.push_back(*row);
    }
    return rows;
}

std::vector<LedgerRow> rankLedger(const RecordingSummary& summary, const RankEvents& events,
                                  const std::vector<LedgerRow>& deviceRows) {
    std::set<StepIndex> wanted;
    for (const StepFacts& step : summary.steps)
        if (step.rank == events.rank) wanted.insert(step.step);
    std::vector<LedgerRow> rows;
    for (const LedgerRow& row : deviceRows)
        if (row.rank == events.rank && wanted.erase(row.step) == 1) rows.push_back(row);
    // Most ranks have rows of one kind only.
    if (!rows.empty() && wanted.empty()) return rows;
    for (const LedgerRow& row : rankLedger(summary, events))
        if (wanted.contains(row.step)) rows.push_back(row);
    std::stable_sort(rows.begin(), rows.end(),
                     [](const LedgerRow& a, const LedgerRow& b) { return a.step < b.step; });
    return rows;
}

Duration blockedIn(const LedgerParts& parts) {
    return parts[at(LedgerPart::kExposedGather)] + blockedInReductions(parts) +
           parts[at(LedgerPart::kExposedOther)] + parts[at(LedgerPart::kWaiting)];
}

Duration blockedInReductions(const LedgerParts& parts) {
    return parts[at(LedgerPart::kExposedReduceScatter)] + parts[at(LedgerPart::kExposedAllReduce)];
}

LedgerParts medianParts(const std::vector<LedgerRow>& rows, RankId rank) {
    LedgerParts medians{};
    for (std::size_t part = 0; part < medians.size(); ++part) {
        std::vector<std::int64_t> values;
        for (const LedgerRow& row : rows)
            if (row.rank == rank) values.push_back(row.parts[part].ns);
        if (!values.empty()) medians[part] = {medianOf(std::move(values))};
    }
    return medians;
}

LedgerParts sumOfParts(const std::vector<LedgerRow>& rows) {
    LedgerParts sum{};
    for (const LedgerRow& row : rows)
        for (std::size_t part = 0; part < sum.size(); ++part) sum[part] += row.parts[part];
    return sum;
}

Duration sumOfWalls(const std::vector<LedgerRow>& rows) {
    Duration sum;
    for (const LedgerRow& row : rows) sum += row.wall;
    return sum;
}

}  // namespace shardscope::analysis
