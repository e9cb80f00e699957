#include "profiler/questions/compare.h"

#include "profiler/analysis/compare/comparability.h"
#include "profiler/analysis/compare/difference.h"
#include "profiler/analysis/compare/grounds.h"
#include "profiler/analysis/findings.h"
#include "profiler/analysis/steps/training_health.h"
#include "profiler/questions/answer/cells.h"
#include "profiler/questions/cost_tables.h"
#include "profiler/questions/memory_tables.h"
#include "profiler/questions/question.h"
#include "profiler/questions/read_device.h"
#include "profiler/questions/report_reader.h"
#include "storage/model/quantity_text.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace shardscope::questions {
namespace {

using analysis::Difference;
using analysis::RunFigure;
using analysis::Verdict;

/// One recording, read.
struct Side {
    RecordingSummary summary;
    std::vector<RankEvents> ranks;
    analysis::Report report;
    std::vector<RunFigure> figures;
    Costs costs;
    std::optional<analysis::PeakHolders> memory;  ///< of the rank that needs most
};

/// Of a selection, a rank's device idles for work behind it too.
Result<analysis::Report> readReportOf(const Asked& asked, const RecordingSummary& whole,
                                      const std::vector<RankEvents>& ranks) {
    if (asked.selection.cutsTime()) return readReport(asked.reader, whole, asked.selection);
    const auto rows = deviceRows(asked.reader, asked.summary, ranks);
    if (!rows) return failure(rows);
    return analysis::analyse(asked.summary, ranks, *rows);
}

Result<Side> readSide(storage::RecordingReader& reader, const Selection& selection) {
    const auto whole = reader.summary();
    if (!whole) return failure(whole);
    auto summary = selection.of(*whole);
    if (!summary) return failure(summary);
    const Asked asked{reader, *summary, selection};
    auto ranks = asked.events();
    if (!ranks) return failure(ranks);
    auto costs = readCosts(asked, *ranks);
    if (!costs) return failure(costs);
    auto report = readReportOf(asked, *whole, *ranks);
    if (!report) return failure(report);
    auto figures = analysis::runFigures(*summary, *ranks, *report);
    std::optional<analysis::PeakHolders> holders;
    if (const analysis::RankMemory* worst = report->worstMemory()) {
        auto memory = readHolders(reader, *worst);
        if (!memory) return failure(memory);
        holders = std::move(*memory);
    }
    return Side{std::move(*summary), std::move(*ranks), std::move(*report),
                std::move(figures),  std::move(*costs), std::move(holders)};
}

/// Samples of several baselines one after the other; of what has one value a run, the median.
std::vector<RunFigure> together(const std::vector<Side>& baselines) {
    std::vector<RunFigure> figures = baselines.front().figures;
    for (RunFigure& figure : figures) {
        std::vector<double> wholes;
        if (figure.whole) wholes.push_back(*figure.whole);
        for (std::size_t i = 1; i < baselines.size(); ++i) {
            const RunFigure* more = analysis::findFigure(baselines[i].figures, figure.key);
            if (more == nullptr) continue;
            figure.running.insert(figure.running.end(), more->running.begin(), more->running.end());
            figure.samples.insert(figure.samples.end(), more->samples.begin(), more->samples.end());
            if (more->whole) wholes.push_back(*more->whole);
        }
        if (!wholes.empty()) figure.whole = analysis::medianOf(std::move(wholes));
    }
    return figures;
}

/// Only these know of steps with validation.
bool isOwnRun(const Side& side) {
    return sourceOf(side.summary.run) == RecordingSource::kOwnRun;
}

Table figureTable() {
    return {"figures",
            "Figures, one sample per step; warm-up and steps with validation left out",
            {{"figure", "figure"},
             {"unit", "unit"},
             {"first", "first", Unit::kOfRow, "Median over the steps, or the run's one value."},
             {"second", "second", Unit::kOfRow, "The same of the second run."},
             {"first_spread", "spread", Unit::kOfRow, "Between the quartiles, first run."},
             {"second_spread", "spread", Unit::kOfRow, "Between the quartiles, second run."},
             {"change_pct", "change", Unit::kChange, "Second / first - 1."},
             {"low_pct", "from", Unit::kChange, "Interval of the change, 99.7 %, block bootstrap."},
             {"high_pct", "to", Unit::kChange, "Its other end."},
             {"running_change_pct", "running", Unit::kChange,
              "Where cores were taken: the change of running time, without waiting for the slowest "
              "rank or for a core, on which the verdict rests.",
              Shown::kWhereAny},
             {"running_low_pct", "from", Unit::kChange, "Its interval.", Shown::kWhereAny},
             {"running_high_pct", "to", Unit::kChange, "Its other end.", Shown::kWhereAny},
             {"verdict", "verdict", Unit::kNone,
              "Improved or regressed: 1 % or more and beyond noise. No change: 5 % or more "
              "can be left out. Cannot tell: all other cases, and where cores were taken or each "
              "run chose other kernels."}},
            {}};
}

void addFigures(const std::vector<RunFigure>& first, const std::vector<RunFigure>& second,
                const analysis::Grounds& grounds, Compared& compared) {
    Table table = figureTable();
    const RunFigure none;
    for (const std::string& key : analysis::keysOf(first, second)) {
        const RunFigure* a = analysis::findFigure(first, key);
        const RunFigure* b = analysis::findFigure(second, key);
        const Difference difference =
            analysis::differenceOf(a != nullptr ? *a : none, b != nullptr ? *b : none, grounds);
        const auto& judged = difference.judged;
        table.rows.push_back(
            {key, a != nullptr ? a->unit : b->unit, cell(difference.first), cell(difference.second),
             cell(difference.firstSpread), cell(difference.secondSpread),
             percent(difference.change), percent(difference.low), percent(difference.high),
             judged ? percent(judged->change) : Cell(), judged ? percent(judged->low) : Cell(),
             judged ? percent(judged->high) : Cell(), toWord(difference.verdict)});
        const Unit unit = table.unitOf(table.rows.back(), table.columnAt("first"));
        compared.figures.push_back({key, unit, difference});
    }
    compared.answer.tables.push_back(std::move(table));
}

std::string changeText(double change, double low, double high) {
    const auto text = [](double fraction) {
        return quantityText(100 * fraction, Unit::kChange, Digits::kScreen).joined();
    };
    return fmt::format("{} (between {} and {})", text(change), text(low), text(high));
}

std::string verdictText(const Difference& difference) {
    const bool known = difference.change && difference.low && difference.high;
    const std::string recorded =
        known ? changeText(*difference.change, *difference.low, *difference.high) : std::string();
    if (difference.judged) {
        const auto& judged = *difference.judged;
        return fmt::format(
            "{}, {} of running time; {}, so that the recorded change of {} says "
            "little",
            toWord(difference.verdict), changeText(judged.change, judged.low, judged.high),
            difference.reason, recorded);
    }
    if (!difference.reason.empty())
        return fmt::format(
            "unknown: {}{}", difference.reason,
            known ? fmt::format("; recorded is a change of {}", recorded) : std::string());
    if (known) return fmt::format("{}, {}", toWord(difference.verdict), recorded);
    return fmt::format("{}; it takes {} steps of each without warm-up and validation",
                       toWord(difference.verdict), analysis::kLeastSamples);
}

/// What people look at first.
void addVerdict(const std::vector<RunFigure>& first, const std::vector<RunFigure>& second,
                const analysis::Grounds& grounds, Answer& answer) {
    const char* kAsked = "step.time_ns";
    const RunFigure* a = analysis::findFigure(first, kAsked);
    const RunFigure* b = analysis::findFigure(second, kAsked);
    if (a == nullptr || b == nullptr) {
        answer.unknown.emplace_back("which run is faster is unknown: one has no whole steps");
        return;
    }
    answer.sentences.push_back(
        fmt::format("Step time: {}.", verdictText(analysis::differenceOf(*a, *b, grounds))));
}

/// What all baselines leave to rest on.
analysis::Grounds groundsOf(const std::vector<Side>& baselines, const Side& run,
                            const analysis::SideNames& names) {
    analysis::Grounds grounds;
    for (const Side& baseline : baselines)
        grounds += analysis::groundsOf({&baseline.summary, baseline.report.cores},
                                       {&run.summary, run.report.cores}, names);
    return grounds;
}

Result<void> checkComparable(const std::vector<Side>& baselines, const Side& run,
                             const CompareOptions& options, Answer& answer) {
    for (const Side& baseline : baselines) {
        const auto found = analysis::comparabilityOf(baseline.summary, run.summary, options.names);
        if (!found.refusals.empty() && !options.anyway)
            return failure(ErrorCode::kUsage, fmt::format("these recordings cannot be compared: {} "
                                                          "Use --anyway to see the figures anyway",
                                                          fmt::join(found.refusals, " ")));
        for (const auto* sentences : {&found.refusals, &found.warnings})
            for (const std::string& sentence : *sentences)
                if (std::find(answer.sentences.begin(), answer.sentences.end(), sentence) ==
                    answer.sentences.end())
                    answer.sentences.push_back(sentence);
    }
    return {};
}

void addMemory(const Side& first, const Side& second, Answer& answer) {
    if (first.memory && second.memory)
        answer.tables.push_back(placeTable(*first.memory, *second.memory));
    else
        answer.unknown.emplace_back("what memory grew by is unknown: one has no memory events");
}

Result<std::optional<analysis::GateState>> addGate(const std::vector<RunFigure>& first,
                                                   const std::vector<RunFigure>& second,
                                                   const std::vector<analysis::GateRule>& rules,
                                                   const analysis::Grounds& grounds,
                                                   const analysis::Grounds& alone, Answer& answer) {
    if (rules.empty()) return std::nullopt;
    const auto results = analysis::checkGate(rules, first, second, grounds, alone);
    if (!results) return failure(results);
    Table table{"gate",
                "Rules",
                {{"rule", "rule"},
                 {"state", "state", Unit::kNone, "Broken: beyond the bound and beyond noise."},
                 {"change_pct", "change", Unit::kChange,
                  "Second / first - 1; of running time where cores were taken."}},
                {}};
    auto worst = analysis::GateState::kKept;
    for (const analysis::GateResult& result : *results) {
        // Broken outweighs what could not be judged.
        if (result.state == analysis::GateState::kBroken || worst == analysis::GateState::kKept)
            worst = result.state;
        const Difference& difference = result.difference;
        table.rows.push_back({result.rule.text, toWord(result.state),
                              percent(difference.judged ? std::optional(difference.judged->change)
                                                        : difference.change)});
    }
    answer.tables.insert(answer.tables.begin(), std::move(table));
    return worst;
}

using analysis::LossCurves;
using analysis::LossPair;

}  // namespace

Result<Compared> compareRecordings(const std::vector<storage::RecordingReader*>& recordings,
                                   const CompareOptions& options) {
    std::vector<Side> baselines;
    for (storage::RecordingReader* recording : recordings) {
        auto side = readSide(*recording, options.selection);
        if (!side) return failure(side);
        baselines.push_back(std::move(*side));
    }
    Side run = std::move(baselines.back());
    baselines.pop_back();
    Compared compared;
    compared.answer.question = "compare";
    const auto first = together(baselines);
    if (auto able = checkComparable(baselines, run, options, compared.answer); !able)
        return failure(able);
    const analysis::Grounds grounds = groundsOf(baselines, run, options.names);
    addVerdict(first, run.figures, grounds, compared.answer);
    addFigures(first, run.figures, grounds, compared);
    if (!isOwnRun(run) && std::none_of(baselines.begin(), baselines.end(), isOwnRun))
        compared.answer.tables.back().title = "Figures, one sample per step; warm-up left out";
    addCostTables(baselines.front().costs, run.costs, compared.answer);
    addMemory(baselines.front(), run, compared.answer);
    addLossCurves(baselines.front().summary, run.summary, compared.answer);
    const analysis::RunMachine machine{&run.summary, run.report.cores};
    const auto gate = addGate(first, run.figures, options.rules, grounds,
                              analysis::groundsOf(machine, machine), compared.answer);
    if (!gate) return failure(gate);
    compared.gate = *gate;
    baselines.push_back(std::move(run));
    for (Side& side : baselines)
        compared.sides.push_back({std::move(side.summary), std::move(side.report)});
    return compared;
}

std::string lossSentence(const LossCurves& curves) {
    const std::string steps = fmt::format("the {} steps that both have", curves.steps.size());
    if (!curves.differs) return "Losses are equal to the last digit in " + steps + ".";
    std::string from = fmt::format("Losses differ from step {} on, by {:.4g} at most",
                                   curves.differs->value, curves.largest);
    if (!curves.noise && !curves.apart) return from + ".";
    const std::string noise =
        curves.noise ? fmt::format(" (noise of a step's difference is {:.4g})", *curves.noise) : "";
    if (!curves.apart) return from + " and never beyond noise" + noise + ".";
    return fmt::format("{}, and beyond noise first at step {}{}.", from, curves.apart->value,
                       noise);
}

void addLossCurves(const RecordingSummary& first, const RecordingSummary& second, Answer& answer) {
    const LossCurves curves = analysis::lossCurves(first, second);
    if (curves.steps.empty()) {
        answer.unknown.emplace_back(
            "how losses differ is unknown: there is no step whose loss both recorded");
        return;
    }
    answer.sentences.push_back(lossSentence(curves));
    if (!curves.noise && curves.differs)
        answer.unknown.push_back(
            fmt::format("whether losses differ beyond noise is unknown: it takes {} steps "
                        "that both have",
                        analysis::kLeastSamples));
    Table table{"losses",
                "Losses, step by step",
                {{"step", "step"},
                 {"first", "first"},
                 {"second", "second"},
                 {"difference", "difference", Unit::kNone, "Second - first."}},
                {}};
    for (const LossPair& pair : curves.steps)
        table.rows.push_back(
            {stepCell(pair.step), cell(pair.first), cell(pair.second), cell(pair.difference())});
    answer.tables.push_back(std::move(table));
}

}  // namespace shardscope::questions
