#include "profiler/analysis/steps/ledger.h"

#include "profiler/analysis/findings.h"
#include "profiler/analysis/steps/cores_taken.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <set>
#include <utility>

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

/// What a phase that waits is booked under, and when what it waited for had ended.
struct Wait {
    LedgerPart part = LedgerPart::kExposedOther;
    Timestamp until;
};

/// A rank's collectives, to tell what a phase waits for.
class Collectives {
public:
    explicit Collectives(const RankEvents& events) {
        for (const CollectiveEvent& each : events.collectives) {
            m_all.push_back(&each);
            if (each.operation == CollectiveOp::kAllGather) m_gathers.push_back(&each);
            if (each.operation == CollectiveOp::kReduceScatter ||
                each.operation == CollectiveOp::kAllReduce)
                m_reductions.push_back(&each);
        }
        for (ByEnd* list : {&m_all, &m_gathers, &m_reductions})
            std::stable_sort(list->begin(), list->end(),
                             [](const auto* a, const auto* b) { return a->end < b->end; });
    }

    [[nodiscard]] Wait waitOf(const SpanEvent& phase) const {
        if (phase.phase == Phase::kWaitReduction) return waitForReduction(phase);
        const bool gather = phase.phase == Phase::kWaitGather;
        const CollectiveEvent* ended = endedIn(gather ? m_gathers : m_all, phase);
        return {partOf(phase.phase), ended != nullptr ? ended->end : phase.end()};
    }

private:
    using ByEnd = std::vector<const CollectiveEvent*>;

    /// The first that ends behind `time`.
    static ByEnd::const_iterator behind(const ByEnd& list, Timestamp time) {
        return std::upper_bound(list.begin(), list.end(), time,
                                [](Timestamp t, const auto* each) { return t < each->end; });
    }

    /// Of those that ended within the phase the last one of its layer, else the last one; null:
    /// none did.
    static const CollectiveEvent* endedIn(const ByEnd& list, const SpanEvent& phase) {
        const auto end = behind(list, phase.end());
        const CollectiveEvent* last = nullptr;
        for (auto each = end; each != list.begin();) {
            const CollectiveEvent* before = *--each;
            if (before->end <= phase.start) break;
            if (last == nullptr) last = before;
            if (before->layer == phase.layer) return before;
        }
        return last;
    }

    /// The one that ended last within the wait, else the next to end, if it had begun.
    [[nodiscard]] Wait waitForReduction(const SpanEvent& phase) const {
        if (const CollectiveEvent* ended = endedIn(m_reductions, phase))
            return {partOf(*ended), ended->end};
        const auto later = behind(m_reductions, phase.end());
        if (later != m_reductions.end() && (*later)->start < phase.end())
            return {partOf(**later), phase.end()};
        return {LedgerPart::kExposedReduceScatter, phase.end()};
    }

    static LedgerPart partOf(const CollectiveEvent& reduction) {
        return reduction.operation == CollectiveOp::kAllReduce ? LedgerPart::kExposedAllReduce
                                                               : LedgerPart::kExposedReduceScatter;
    }
    static LedgerPart partOf(Phase phase) { return analysis::partOf(phase); }

    ByEnd m_all, m_gathers, m_reductions;
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

/// What of `own` lies before the end of what a phase waited for.
TimeRange blockedPart(const Wait& wait, TimeRange own) {
    return own.intersection({own.begin, std::max(own.begin, wait.until)});
}

struct BookedStep {
    LedgerRow row;
    Duration wokenLate;  ///< of what is other
};

std::optional<BookedStep> bookedStep(const StepFacts& step, const RankEvents& events,
                                     Coverage& waiting, const Collectives& collectives) {
    BookedStep booked{{step.rank, step.step, step.range().duration(), {}}, {}};
    LedgerParts& parts = booked.row.parts;
    const bool recorded = walkPhases(
        step, events, [&](TimeRange gap) { parts[at(LedgerPart::kOther)] += gap.duration(); },
        [&](const SpanEvent& phase, TimeRange own) {
            if (!isWait(phase.phase)) {
                parts[at(partOf(phase.phase))] += own.duration();
                return;
            }
            const Wait wait = collectives.waitOf(phase);
            const TimeRange blocked = blockedPart(wait, own);
            const Duration waited = waiting.within(blocked);
            const Duration late = own.duration() - blocked.duration();
            parts[at(LedgerPart::kWaiting)] += waited;
            parts[at(wait.part)] += blocked.duration() - waited;
            parts[at(LedgerPart::kOther)] += late;
            booked.wokenLate += late;
        });
    if (!recorded) return std::nullopt;
    return booked;
}

/// Moves up to `time` out of `from`, by what each has, to `to`; what was moved.
Duration take(LedgerParts& parts, std::initializer_list<LedgerPart> from, Duration time,
              LedgerPart to) {
    Duration whole;
    for (const LedgerPart part : from) whole += parts[at(part)];
    const Duration moved = std::min(time, whole);
    if (moved.ns <= 0) return {};
    // Rounded so that the shares add up.
    Duration seen, taken;
    for (const LedgerPart part : from) {
        seen += parts[at(part)];
        const std::int64_t until = seen == whole ? moved.ns
                                                 : std::llround(static_cast<double>(moved.ns) *
                                                                static_cast<double>(seen.ns) /
                                                                static_cast<double>(whole.ns));
        parts[at(part)] -= Duration{until} - taken;
        taken = Duration{until};
    }
    parts[at(to)] += moved;
    return moved;
}

void takeWithoutCore(BookedStep& booked, Duration time, LedgerPart to) {
    LedgerParts& parts = booked.row.parts;
    const Duration late = take(parts, {LedgerPart::kOther}, std::min(time, booked.wokenLate), to);
    booked.wokenLate -= late;
    time -= late;
    time -= take(parts,
                 {LedgerPart::kCompute, LedgerPart::kOptimizer, LedgerPart::kData,
                  LedgerPart::kEvaluation, LedgerPart::kCheckpoint, LedgerPart::kOther},
                 time, to);
    take(parts,
         {LedgerPart::kExposedGather, LedgerPart::kExposedReduceScatter,
          LedgerPart::kExposedAllReduce, LedgerPart::kExposedOther, LedgerPart::kWaiting},
         time, to);
}

/// Cores of the rank's host; 0: not known.
std::int32_t coresOf(const RecordingSummary& summary, RankId rank) {
    for (const RankFacts& facts : summary.ranks)
        if (facts.rank == rank) return coresOfHost(summary, facts.host);
    return 0;
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
    const Collectives collectives(events);
    std::vector<LedgerPiece> pieces;
    walkPhases(
        step, events, [&](TimeRange gap) { addPiece(LedgerPart::kOther, gap, pieces); },
        [&](const SpanEvent& phase, TimeRange own) {
            if (!isWait(phase.phase)) return addPiece(partOf(phase.phase), own, pieces);
            const Wait wait = collectives.waitOf(phase);
            const TimeRange blocked = blockedPart(wait, own);
            Timestamp reached = blocked.begin;
            for (const TimeRange& waited : intersection(waiting, {blocked})) {
                addPiece(wait.part, {reached, waited.begin}, pieces);
                addPiece(LedgerPart::kWaiting, waited, pieces);
                reached = waited.end;
            }
            addPiece(wait.part, {reached, blocked.end}, pieces);
            addPiece(LedgerPart::kOther, {blocked.end, own.end}, pieces);
        });
    return pieces;
}

std::vector<LedgerRow> rankLedger(const RecordingSummary& summary, const RankEvents& events) {
    Coverage waiting(waitingTime(events));
    const Collectives collectives(events);
    const std::int32_t cores = coresOf(summary, events.rank);
    std::vector<LedgerRow> rows;
    for (const StepFacts& step : summary.steps) {
        if (step.rank != events.rank) continue;
        auto booked = bookedStep(step, events, waiting, collectives);
        if (!booked) continue;
        takeWithoutCore(*booked, {step.coreWaitNs}, LedgerPart::kNoCore);
        if (cores > 0) takeWithoutCore(*booked, {step.stolenNs / cores}, LedgerPart::kStolen);
        rows.push_back(booked->row);
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

Duration takenFrom(const LedgerParts& parts) {
    return parts[at(LedgerPart::kNoCore)] + parts[at(LedgerPart::kStolen)];
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

std::optional<AgainstMedian> againstMedian(const std::vector<LedgerRow>& rows, StepIndex step,
                                           const std::vector<StepIndex>& among,
                                           const std::vector<RankId>& ranks) {
    struct OfRank {
        const LedgerRow* own = nullptr;
        std::vector<LedgerRow> others;
    };
    std::map<RankId, OfRank> byRank;
    for (const LedgerRow& row : rows) {
        if (!ranks.empty() && !std::binary_search(ranks.begin(), ranks.end(), row.rank)) continue;
        if (row.step == step)
            byRank[row.rank].own = &row;
        else if (std::binary_search(among.begin(), among.end(), row.step))
            byRank[row.rank].others.push_back(row);
    }
    AgainstMedian sum;
    sum.step = step;
    for (const auto& [rank, of] : byRank) {
        if (of.own == nullptr || of.others.empty()) continue;
        std::vector<Duration> walls;
        for (const LedgerRow& row : of.others) walls.push_back(row.wall);
        const LedgerParts medians = medianParts(of.others, rank);
        for (std::size_t part = 0; part < medians.size(); ++part) {
            sum.parts[part] += of.own->parts[part];
            sum.medians[part] += medians[part];
        }
        sum.wall += of.own->wall;
        sum.medianWall += medianOf(std::move(walls));
        sum.others = std::max(sum.others, of.others.size());
        ++sum.ranks;
    }
    if (sum.ranks == 0) return std::nullopt;
    for (LedgerParts* parts : {&sum.parts, &sum.medians})
        for (Duration& part : *parts) part.ns /= sum.ranks;
    sum.wall.ns /= sum.ranks;
    sum.medianWall.ns /= sum.ranks;
    return sum;
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
