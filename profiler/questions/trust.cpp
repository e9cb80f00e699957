#include "engine/run/config/run_config.h"
#include "profiler/analysis/communication/host_clocks.h"
#include "profiler/analysis/communication/last_arrivals.h"
#include "profiler/analysis/compare/observer_effect.h"
#include "profiler/analysis/findings.h"
#include "profiler/analysis/part.h"
#include "profiler/analysis/rules/checks.h"
#include "profiler/questions/answer/cells.h"
#include "profiler/questions/answer/process_table.h"
#include "profiler/questions/questions.h"
#include "storage/model/detail.h"
#include "storage/model/host_facts.h"
#include "storage/model/lanes.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::questions {
namespace {

void addCertificate(const analysis::Completeness& completeness, Answer& answer) {
    if (!completeness.known) {
        std::string why;
        for (const std::string& sentence : completeness.missing)
            why += (why.empty() ? "" : "; ") + sentence;
        answer.unknown.push_back("whether every event is there is unknown: " + why);
        return;
    }
    answer.sentences.emplace_back(completeness.complete
                                      ? "Complete: every event that a step must have is there."
                                      : "Not complete:");
    for (const std::string& sentence : completeness.missing) answer.sentences.push_back(sentence);
}

Table checkTable(const std::vector<analysis::Check>& checks) {
    Table table{"checks",
                "What was checked",
                {{"check", "check"},
                 {"what", "what"},
                 {"state", "state", Unit::kNone, "Fine, problem or unknown."},
                 {"found", "found"}},
                {}};
    table.columns.front().shown = Shown::kToScripts;
    for (const analysis::Check& check : checks)
        table.rows.push_back({check.key, check.what, toWord(check.state), check.found});
    return table;
}

Table rankTable(const RecordingSummary& summary) {
    Table table{"ranks",
                "Events by rank",
                {{"rank", "rank"},
                 {"steps", "steps", Unit::kCount, "Steps of the rank that are in the recording."},
                 {"emitted", "seen", Unit::kCount, "Events that the rank saw."},
                 {"dropped", "dropped", Unit::kCount, "Of these, lost to full queues."}},
                {}};
    std::map<RankId, std::int64_t> steps;
    for (const StepFacts& step : summary.steps) ++steps[step.rank];
    for (const RankFacts& rank : summary.ranks)
        table.rows.push_back({std::int64_t{rank.rank.value}, steps[rank.rank],
                              static_cast<std::int64_t>(rank.emitted),
                              static_cast<std::int64_t>(rank.dropped)});
    return table;
}

Table gapTable(const analysis::Completeness& completeness) {
    Table table{"gaps",
                "Steps that lack something",
                {{"rank", "rank"},
                 {"step", "step"},
                 {"what", "what"},
                 {"expected", "must have", Unit::kCount, "By the run's strategy."},
                 {"recorded", "recorded", Unit::kCount}},
                {}};
    for (const analysis::CountGap& gap : completeness.gaps)
        table.rows.push_back({std::int64_t{gap.rank.value}, std::int64_t{gap.step.value}, gap.what,
                              std::int64_t{gap.expected}, std::int64_t{gap.recorded}});
    return table;
}

Table clockTable(const analysis::HostClocks& clocks) {
    Table table{"clocks",
                "Clocks of the hosts",
                {{"host", "host"},
                 {"residual_ns", "right within", Unit::kNanoseconds,
                  "Median bound on the error of its times, tightened by collectives."},
                 {"worst_residual_ns", "at worst", Unit::kNanoseconds},
                 {"drift_ppb", "drift (ppb)", Unit::kNone, "Drift against the recorder's clock."},
                 {"comparisons", "compared", Unit::kCount},
                 {"steps", "set", Unit::kCount, "How often the clock was adjusted."}},
                {}};
    for (const analysis::HostClock& host : clocks.hosts())
        table.rows.push_back({host.name, host.residual.ns, host.worstResidual.ns, host.driftPpb,
                              host.comparisons, host.steps});
    return table;
}

Table diagnosticTable(const RecordingSummary& summary) {
    Table table{"diagnostics",
                "What was noticed while recording",
                {{"severity", "severity"},
                 {"rank", "rank"},
                 {"count", "count", Unit::kCount},
                 {"message", "what"},
                 {"remedy", "what to do"}},
                {}};
    for (const Diagnostic& each : summary.diagnostics) {
        if (each.code == analysis::kSelectedPart || each.code == analysis::kSelectedRanks) continue;
        table.rows.push_back({toWord(each.severity),
                              each.rank ? Cell(std::int64_t{each.rank->value}) : Cell(), each.count,
                              each.message, each.remedy});
    }
    return table;
}

Table levelTable() {
    return {"observer",
            "What recording cost, by steps of different levels",
            {{"level", "level"},
             {"against", "against"},
             {"steps", "steps", Unit::kCount, "Steady ones of the level."},
             {"against_steps", "against", Unit::kCount},
             {"step_ns", "step", Unit::kNanoseconds, "Median of the level's steps."},
             {"against_ns", "against", Unit::kNanoseconds, "The same of the lowest level's."},
             {"cost_pct", "cost", Unit::kChange, "Of a step's time: step / against - 1."},
             {"low_pct", "from", Unit::kChange, "Interval of the cost, 99.7 %, block bootstrap."},
             {"high_pct", "to", Unit::kChange, "Its other end."}},
            {}};
}

/// The run's own level has no separate name among those that steps were left out down to.
std::string levelWord(const RecordingSummary& summary, CaptureLevel level) {
    const auto config = run::parseRunConfigJson(summary.run.configJson);
    return toWord(level == CaptureLevel::kFull && config ? config->capture : level);
}

void addObserver(const RecordingSummary& summary,
                 const std::vector<analysis::ObserverEffect>& effects, Answer& answer) {
    if (effects.empty()) {
        answer.unknown.push_back("observer effect unknown: " +
                                 analysis::sameLevelText(summary.run));
        return;
    }
    Table table = levelTable();
    for (const analysis::ObserverEffect& effect : effects) {
        const analysis::Difference& difference = effect.difference;
        const std::string level = levelWord(summary, effect.level);
        const std::string against = levelWord(summary, effect.against);
        table.rows.push_back({level, against, effect.steps, effect.againstSteps,
                              cell(difference.second), cell(difference.first),
                              percent(difference.change), percent(difference.low),
                              percent(difference.high)});
        if (difference.change && difference.low && difference.high)
            answer.sentences.push_back(fmt::format(
                "Recording at level {} cost {:+.2f} % of a step's time against {} (between {:+.2f} "
                "and {:+.2f} %).",
                level, 100 * *difference.change, against, 100 * *difference.low,
                100 * *difference.high));
        else
            answer.unknown.push_back(
                fmt::format("observer effect of level {} unknown: it takes {} steady steps at it "
                            "and as many at {}",
                            level, analysis::kLeastSamples, against));
    }
    answer.tables.push_back(std::move(table));
}

/// Of one rank, what its tracer says it took of the host's time.
Result<std::optional<analysis::Intervals>> readOverhead(const Asked& asked, RankId rank) {
    std::optional<analysis::Intervals> overhead;
    for (const LaneFacts& lane : asked.summary.lanes) {
        if (lane.rank != rank || !isOverheadLane(lane.lane, lane.name)) continue;
        const auto spans =
            asked.reader.spans(rank, lane.lane, asked.selection.timeOf(asked.summary, rank));
        if (!spans) return failure(spans);
        std::vector<TimeRange> ranges;
        for (const SpanEvent& span : *spans) ranges.push_back(span.range());
        const analysis::Intervals before = overhead.value_or(analysis::Intervals{});
        overhead = analysis::unionOf(before, analysis::unionOf(std::move(ranges)));
    }
    return overhead;
}

/// What tracers of devices took themselves, by their own words.
Result<void> addTracers(const Asked& asked, Answer& answer) {
    Table table{"tracer",
                "What the device's tracer took of the host, within steps",
                {{"rank", "rank"},
                 {"time_ns", "time", Unit::kNanoseconds, "Union over the rank's threads."},
                 {"share_pct", "of step time", Unit::kPercent, "Of the time of the rank's steps."}},
                {}};
    for (const RankFacts& rank : asked.summary.ranks) {
        const auto overhead = readOverhead(asked, rank.rank);
        if (!overhead) return failure(overhead);
        std::vector<TimeRange> ranges;
        for (const StepFacts& step : asked.summary.steps)
            if (step.rank == rank.rank) ranges.push_back(step.range());
        const analysis::Intervals steps = analysis::unionOf(std::move(ranges));
        const Duration whole = analysis::total(steps);
        if (!*overhead || whole.ns <= 0) continue;
        const Duration taken = analysis::common(**overhead, steps);
        table.rows.push_back({std::int64_t{rank.rank.value}, taken.ns,
                              100 * static_cast<double>(taken.ns) / static_cast<double>(whole.ns)});
    }
    if (!table.rows.empty()) answer.tables.push_back(std::move(table));
    return {};
}

}  // namespace

Result<Answer> askTrust(const Asked& asked) {
    const RecordingSummary& summary = asked.summary;
    // A rank at a time: those of a long run need not be in memory together.
    std::vector<RankEvents> outlines;
    std::map<RankId, analysis::RecordedSteps> recorded;
    analysis::HostPassages passages(summary);
    for (const RankFacts& rank : summary.ranks) {
        const auto events = asked.events(rank.rank);
        if (!events) return failure(events);
        outlines.push_back(analysis::outlineOf(*events));
        if (!asked.selection.cutsTime()) recorded[rank.rank] = analysis::recordedSteps(*events);
        passages.add(*events);
    }
    Answer answer;
    analysis::Completeness completeness;
    if (asked.selection.cutsTime()) {
        completeness.missing.emplace_back("the certificate is of a whole recording");
        answer.unknown.emplace_back(
            "whether a part is complete is unknown: the certificate is of a whole recording");
    } else {
        completeness = analysis::certify(summary, std::move(recorded));
        addCertificate(completeness, answer);
    }
    if (!summary.complete)
        answer.sentences.emplace_back(
            "The recording was not finalised: its writer is still running or has died, and the "
            "last events may be missing.");
    for (const std::string& phrase : detailPhrases(summary.detail))
        answer.sentences.push_back("Left out on purpose: " + phrase + ".");
    const analysis::HostClocks clocks = passages.clocks(summary);
    const auto effects = analysis::observerEffects(summary, outlines);
    answer.tables.push_back(checkTable(analysis::checksOf(summary, completeness, clocks, effects)));
    answer.tables.push_back(rankTable(summary));
    if (!summary.processes.empty()) answer.tables.push_back(processTable(summary.processes));
    if (!completeness.gaps.empty()) answer.tables.push_back(gapTable(completeness));
    if (clocks.several()) {
        answer.tables.push_back(clockTable(clocks));
        if (const std::int64_t apart = clocks.contradictions(); apart > 0)
            answer.sentences.push_back(fmt::format(
                "In {} windows of 10 s collectives contradict the clocks: nothing that two hosts "
                "stamped there is compared.",
                apart));
    } else if (summary.hosts.size() > 1) {
        answer.unknown.emplace_back(
            "how far times of different hosts can be compared is unknown: no host compared "
            "their clocks");
    }
    if (Table noticed = diagnosticTable(summary); !noticed.rows.empty())
        answer.tables.push_back(std::move(noticed));
    addObserver(summary, effects, answer);
    if (auto added = addTracers(asked, answer); !added) return failure(added);
    return answer;
}

}  // namespace shardscope::questions
