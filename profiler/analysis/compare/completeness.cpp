#include "profiler/analysis/findings.h"
#include "storage/model/event_account.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace shardscope::analysis {
namespace {

/// More sentences than this say no more; the rest is counted.
constexpr std::size_t kMaxSentences = 20;

bool isStepGather(const CollectiveEvent& collective) {
    return collective.operation == CollectiveOp::kAllGather &&
           (collective.cause == Cause::kDemand || collective.cause == Cause::kPrefetch ||
            collective.cause == Cause::kUpdate);
}

class Certificate {
public:
    void say(std::string_view sentence) {
        if (m_result.missing.size() < kMaxSentences)
            m_result.missing.emplace_back(sentence);
        else
            ++m_unsaid;
    }
    void compare(const StepFacts& step, const char* what, std::int32_t expected,
                 std::int32_t recorded) {
        if (expected < 0) return;
        m_result.known = true;
        ++m_result.compared;
        if (expected == recorded) return;
        ++m_result.different;
        if (m_result.gaps.size() < Completeness::kMostGaps)
            m_result.gaps.push_back({step.rank, step.step, what, expected, recorded});
        say(fmt::format("rank {} step {}: {} of {} {} are recorded", step.rank.value,
                        step.step.value, recorded, expected, what));
    }
    Completeness take(const RecordingSummary& summary) {
        if (m_unsaid > 0) m_result.missing.push_back(fmt::format("and {} more", m_unsaid));
        m_result.complete = m_result.known && m_result.missing.empty();
        if (!m_result.known)
            m_result.missing.emplace(m_result.missing.begin(), whyUnknown(summary));
        return std::move(m_result);
    }

private:
    static const char* whyUnknown(const RecordingSummary& summary) {
        if (sourceOf(summary.run) == RecordingSource::kProgram)
            return "which events a step of another program must have is unknown";
        if (sourceOf(summary.run) == RecordingSource::kImport)
            return "an imported trace does not say which events a step must have";
        return summary.complete ? "gathers, reductions and phases were not recorded at "
                                  "this capture level"
                                : "no gathers, reductions and phases are in the file, "
                                  "which was not finalised";
    }

    Completeness m_result;
    std::size_t m_unsaid = 0;
};

void certifyEvents(const RecordingSummary& summary, Certificate& certificate) {
    for (const RankFacts& rank : summary.ranks) {
        if (rank.dropped > 0)
            certificate.say(
                fmt::format("rank {}: {} of {} events were dropped because its queue "
                            "was full",
                            rank.rank.value, rank.dropped, rank.emitted));
    }
    const EventAccount account = eventAccount(summary);
    if (account.lost > 0)
        certificate.say(fmt::format("{} of {} emitted events never arrived in the recording",
                                    account.lost, account.emitted));
}

void certifyRows(const RecordingSummary& summary, Certificate& certificate) {
    for (const LostRows& lost : summary.lostRows)
        certificate.say(
            fmt::format("table {}: {} rows are in the file, {} were when it was finalised",
                        lost.table, lost.found, lost.written));
}

/// Events of a step without a row of its own. A part of a recording holds what reaches into it of
/// the steps around its own.
void certifyStepRows(const RecordingSummary& summary,
                     const std::map<RankId, RecordedSteps>& recorded, Certificate& certificate) {
    std::map<RankId, std::set<StepIndex>> rows;
    for (const StepFacts& step : summary.steps) rows[step.rank].insert(step.step);
    const bool part = std::any_of(summary.diagnostics.begin(), summary.diagnostics.end(),
                                  [](const Diagnostic& d) { return d.code == kPartOfRecording; });
    for (const auto& [rank, steps] : recorded) {
        const std::set<StepIndex>& known = rows[rank];
        for (const auto& [step, counts] : steps) {
            if (step == kNoStep || known.contains(step)) continue;
            const bool inside = !known.empty() && *known.begin() < step && step < *known.rbegin();
            if (part && !inside) continue;
            certificate.say(fmt::format("rank {} step {}: has events, its row in steps is missing",
                                        rank.value, step.value));
        }
    }
}

void certifyRanks(const RecordingSummary& summary, Certificate& certificate) {
    std::set<StepIndex> all;
    std::map<RankId, std::set<StepIndex>> byRank;
    for (const StepFacts& step : summary.steps) {
        all.insert(step.step);
        byRank[step.rank].insert(step.step);
    }
    for (std::int32_t rank = 0; rank < summary.run.worldSize; ++rank) {
        const RankId id{static_cast<std::uint32_t>(rank)};
        const std::size_t steps = byRank[id].size();
        const bool here = std::any_of(summary.ranks.begin(), summary.ranks.end(),
                                      [id](const RankFacts& facts) { return facts.rank == id; });
        if (!here && !all.empty())
            certificate.say(fmt::format("rank {}: is not in this recording", rank));
        else if (steps < all.size())
            certificate.say(
                fmt::format("rank {}: {} of {} steps are recorded", rank, steps, all.size()));
    }
}

}  // namespace

/// Gathers of a validation pass do not belong to its step.
RecordedSteps recordedSteps(const RankEvents& events) {
    const Intervals evaluation =
        phaseTime(events, [](Phase phase) { return phase == Phase::kEvaluation; });
    const auto inEvaluation = [&](Timestamp time) {
        const auto next =
            std::upper_bound(evaluation.begin(), evaluation.end(), time,
                             [](Timestamp t, const TimeRange& range) { return t < range.begin; });
        return next != evaluation.begin() && std::prev(next)->contains(time);
    };
    RecordedSteps steps;
    for (const CollectiveEvent& collective : events.collectives) {
        if (inEvaluation(collective.issue)) continue;
        if (isStepGather(collective)) ++steps[collective.step].gathers;
        if (collective.cause == Cause::kGradient) ++steps[collective.step].reductions;
        if (isExchange(collective.cause)) ++steps[collective.step].exchanges;
    }
    for (const SpanEvent& phase : events.phases)
        if (isWork(phase.phase)) ++steps[phase.step].phases;
    return steps;
}

Completeness certify(const RecordingSummary& summary, const std::vector<RankEvents>& ranks) {
    std::map<RankId, RecordedSteps> recorded;
    for (const RankEvents& events : ranks) recorded[events.rank] = recordedSteps(events);
    return certify(summary, std::move(recorded));
}

Completeness certify(const RecordingSummary& summary, std::map<RankId, RecordedSteps> recorded) {
    Certificate certificate;
    // First: it is the reason for most of what follows.
    if (!summary.complete)
        certificate.say(
            "the recording was not finalised: its writer is still at work or died; "
            "what came last may be missing");
    const StepDetail detail(summary.detail);
    for (const StepFacts& step : summary.steps) {
        // What was left out on purpose is declared, and no more to be expected.
        if (detail.of(step.rank, step.step) < CaptureLevel::kLight) continue;
        const RecordedCounts& counts = recorded[step.rank][step.step];
        certificate.compare(step, "gathers", step.expectedGathers, counts.gathers);
        certificate.compare(step, "reductions", step.expectedReductions, counts.reductions);
        certificate.compare(step, "exchanges", step.expectedExchanges, counts.exchanges);
        certificate.compare(step, "phases", step.expectedPhases, counts.phases);
    }
    certifyRanks(summary, certificate);
    certifyStepRows(summary, recorded, certificate);
    certifyRows(summary, certificate);
    certifyEvents(summary, certificate);
    return certificate.take(summary);
}

}  // namespace shardscope::analysis
