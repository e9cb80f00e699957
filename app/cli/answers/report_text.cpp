#include "app/cli/answers/report_text.h"

#include "app/cli/answers/answer_text.h"
#include "app/cli/console.h"
#include "engine/run/config/measurement_plan.h"
#include "engine/run/config/run_settings.h"
#include "profiler/analysis/report/lacks.h"
#include "profiler/analysis/rules/notices.h"
#include "profiler/questions/answer/cells.h"
#include "profiler/questions/answer/process_table.h"
#include "profiler/questions/communication.h"
#include "storage/model/quantity_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope::cli {
namespace {

using analysis::Report;
using analysis::RunFinding;
using questions::Answer;
using questions::Cell;
using questions::Figure;
using questions::Table;

/// Of more findings than this the rest is counted.
constexpr std::size_t kShownFindings = 5;
constexpr std::size_t kShownProcesses = 20;

/// Sentences of a part that is too short for a title.
void add(Answer& answer, Answer more) {
    std::move(more.sentences.begin(), more.sentences.end(), std::back_inserter(answer.sentences));
}

void add(Answer& answer, const char* name, std::string value) {
    if (!value.empty()) answer.figures.push_back({{"", name}, std::move(value)});
}

std::string mfuOfSteps(const std::vector<analysis::Mfu::OfStep>& steps) {
    const auto [least, most] = std::minmax_element(
        steps.begin(), steps.end(), [](const auto& a, const auto& b) { return a.value < b.value; });
    return fmt::format("{:.1f} % (step {}) to {:.1f} % (step {}), of the {} that were looked at",
                       100 * least->value, least->step.value, 100 * most->value, most->step.value,
                       steps.size());
}

/// Appends the value of `name`, with its name, to the one of `to`, where there is little room;
/// nothing where either is missing.
void join(Answer& answer, std::string_view name, std::string_view to) {
    const auto find = [&](std::string_view wanted) {
        return std::find_if(answer.figures.begin(), answer.figures.end(),
                            [&](const Figure& each) { return each.what.title == wanted; });
    };
    const auto from = find(name), at = find(to);
    if (from == answer.figures.end() || at == answer.figures.end()) return;
    at->value = fmt::format("{}; {} {}", *at->value.text(), name, *from->value.text());
    answer.figures.erase(from);
}

/// Which rank, which steps, when.
std::string whereText(const RunFinding& finding) {
    std::vector<std::string> parts;
    if (finding.rank) parts.push_back(fmt::format("rank {}", finding.rank->value));
    if (finding.steps && finding.steps->first == finding.steps->second)
        parts.push_back(fmt::format("step {}", finding.steps->first.value));
    else if (finding.steps)
        parts.push_back(
            fmt::format("steps {} to {}", finding.steps->first.value, finding.steps->second.value));
    if (finding.range)
        parts.push_back(
            fmt::format("at {} of the recording", durationText({finding.range->begin.ns})));
    return fmt::format("{}", fmt::join(parts, ", "));
}

Answer findings(const Report& report, bool all) {
    Answer answer;
    const std::size_t count = report.findings.size();
    const std::size_t shown = all ? count : std::min(count, kShownFindings);
    for (const RunFinding& finding : std::span(report.findings).first(shown)) {
        add(answer, toWord(finding.severity), finding.title);
        add(answer, "  where", whereText(finding));
        if (finding.cost)
            add(answer, "  cost", durationText(*finding.cost) + " of all ranks together");
        add(answer, "  evidence", finding.detail);
        add(answer, "  what to try", finding.remedy);
    }
    if (shown < count) answer.sentences.push_back(fmt::format("{} more: --all", count - shown));
    if (count == 0 && report.judged.enough)
        answer.sentences.emplace_back("No findings: nothing stands out");
    for (const std::string& what : report.judged.unknown)
        answer.sentences.push_back("unknown: " + what);
    return answer;
}

void addStatus(const RunFacts& run, Answer& answer) {
    // a trace does not say how its program ended
    const bool imported = sourceOf(run) == RecordingSource::kImport;
    add(answer, "status",
        fmt::format("{}, {} recorded", imported ? "imported" : toWord(run.status),
                    durationText({run.ended.ns})));
}

/// Of a run that trains nothing.
Answer measured(const Report& report, const run::RunConfig& config) {
    Answer answer;
    for (const run::Setting& setting : run::settingsOf(config))
        if (std::string_view(setting.name) == "work") add(answer, setting.name, setting.text);
    if (!config.measureOperations.empty())
        add(answer, "collectives",
            fmt::format("{} of {}", config.measureOperations, config.measureSizes));
    if (config.measureMachine) add(answer, "machine", run::kMachineFigures);
    add(answer, "norms", config.measureNorms);
    add(answer, "ranks", std::to_string(report.run.worldSize));
    addStatus(report.run, answer);
    return answer;
}

std::string modelText(const Report& report) {
    const RunFacts& run = report.run;
    const auto source = sourceOf(run);
    if (source == RecordingSource::kImport) return "unknown: an imported trace does not say it";
    if (source == RecordingSource::kOwnRun)
        return fmt::format("{}, {} parameters", run.model, countText(run.parameters));
    return run.parameters > 0 ? fmt::format("{} parameters", countText(run.parameters))
                              : "unknown: " + analysis::howToGet(report, analysis::Lack::kModel);
}

/// What the ranks of a program did together is no setting of it.
std::string strategyText(const Report& report) {
    const RunFacts& run = report.run;
    const std::string ranks = counted(run.worldSize, "rank");
    if (!run.model.empty()) return fmt::format("{} on {}", run.strategy, ranks);
    if (analysis::hasNoRank(run, report.processes)) return "none: no process was a rank";
    const std::string seen = analysis::seenText(report.seen);
    return seen.empty() ? fmt::format("unknown, on {}", ranks)
                        : fmt::format("unknown, on {}; seen in steps: {}", ranks, seen);
}

Answer configuration(const Report& report, bool brief) {
    const RunFacts& run = report.run;
    Answer answer;
    add(answer, "model", modelText(report));
    add(answer, "strategy", strategyText(report));
    if (sourceOf(run) == RecordingSource::kProgram) add(answer, "command", run.commandLine);
    if (const auto config = run::parseRunConfigJson(run.configJson)) {
        for (const run::Setting& setting : run::settingsOf(*config))
            add(answer, setting.name, setting.text);
        add(answer, "steps",
            fmt::format("{} recorded, {} asked for", countText(report.basis.steps),
                        countText(config->steps)));
    }
    addStatus(run, answer);
    if (!brief) return answer;
    join(answer, "strategy", "model");
    for (const char* each : {"precision", "seed", "threads"}) join(answer, each, "batch");
    for (const char* each : {"steps", "capture", "status"}) join(answer, each, "data");
    return answer;
}

Answer training(const Report& report, bool brief) {
    const auto number = [](const std::optional<double>& value) {
        return value ? fmt::format("{:.4f}", *value) : std::string("not recorded");
    };
    Answer answer;
    add(answer, "loss, first to last",
        report.lossFirst ? number(report.lossFirst) + " to " + number(report.lossLast)
                         : analysis::withHow("not recorded", report, analysis::Lack::kLoss));
    if (report.validationLossLast)
        add(answer, "validation loss", number(report.validationLossLast) + " (last)");
    if (report.tokensPerSecond)
        add(answer, "throughput",
            fmt::format("{} tokens/s over all ranks (median step){}",
                        countText(std::llround(*report.tokensPerSecond)),
                        report.wholeTokensPerSecond
                            ? fmt::format("; {} over the whole run",
                                          countText(std::llround(*report.wholeTokensPerSecond)))
                            : std::string()));
    const bool isOwn = sourceOf(report.run) == RecordingSource::kOwnRun;
    if (report.stepSecondsMedian)
        add(answer, "step, median",
            fmt::format("{} ({} {})", durationText({std::llround(*report.stepSecondsMedian * 1e9)}),
                        report.warmupStepsLeftOut,
                        brief   ? "left out"
                        : isOwn ? "warm-up steps and steps with evaluation left out"
                                : "warm-up steps left out"));
    if (report.cores.known() && (!brief || report.cores.taken() >= analysis::kNotedTaken))
        add(answer, "without a core", analysis::coresText(report.cores));
    const analysis::Mfu& mfu = report.mfu;
    if (mfu.flopsPerSecond && !brief)
        add(answer, "FLOPs",
            fmt::format("{} over all ranks ({}{})",
                        quantityText(*mfu.flopsPerSecond, Unit::kFlops).joined(), mfu.variant,
                        mfu.flopsPerStep
                            ? fmt::format(", {} per step, median",
                                          quantityText(*mfu.flopsPerStep, Unit::kFlop).joined())
                            : std::string()));
    add(answer, "MFU",
        mfu.value ? fmt::format(
                        "{:.1f} % ({}{}; peak {} over all ranks{})", *mfu.value * 100, mfu.variant,
                        mfu.hardware && !brief ? fmt::format("; HFU {:.1f} %", *mfu.hardware * 100)
                                               : std::string(),
                        quantityText(*mfu.peakFlops, Unit::kFlops).joined(),
                        brief ? "" : ", " + mfu.peakSource)
                  : "n/a: " + mfu.reason);
    if (!mfu.steps.empty() && !brief) add(answer, "MFU by step", mfuOfSteps(mfu.steps));
    if (report.measuredPeakUse)
        add(answer, "of measured peak",
            fmt::format("{:.1f} %{}", *report.measuredPeakUse * 100,
                        brief ? "" : " of what matrix products reached on these devices"));
    if (brief) {
        join(answer, "validation loss", "loss, first to last");
        join(answer, "step, median", "throughput");
        join(answer, "without a core", "throughput");
        join(answer, "of measured peak", "MFU");
    }
    return answer;
}

/// What of a rank's time is counted.
const char* countedTime(const Report& report) {
    // of validation only our own runs know
    const bool own = sourceOf(report.run) == RecordingSource::kOwnRun;
    if (!report.basis.whole())
        return own ? "within steps that have detail, validation left out"
                   : "within steps that have detail";
    if (report.withinSteps) return own ? "within steps, validation left out" : "within steps";
    return sourceOf(report.run) == RecordingSource::kProgram
               ? "from the first collective to the last: no steps are recorded"
               : "from the first kernel to the last: no steps are recorded";
}

/// Who was waited for most comes first; in brief those that matter beside the first.
std::span<const analysis::WaitingForRank> namedLate(const Report& report, bool brief) {
    const std::span<const analysis::WaitingForRank> all = report.waiting;
    if (!brief) return all;
    const auto few = all.first(std::min(all.size(), kWorstRanks));
    const auto end = std::find_if(few.begin(), few.end(), [&](const auto& each) {
        return each.waited.ns < few.front().waited.ns / 10;
    });
    return few.first(static_cast<std::size_t>(end - few.begin()));
}

/// Of many hosts the least sure clock says what times of two hosts are worth.
Answer clocks(const Report& report, bool brief) {
    Answer answer;
    if (!report.clocks.several()) return answer;
    const std::vector<analysis::HostClock>& hosts = report.clocks.hosts();
    if (brief && hosts.size() > kWorstRanks) {
        const auto& worst = *std::max_element(
            hosts.begin(), hosts.end(),
            [](const auto& a, const auto& b) { return a.worstResidual < b.worstResidual; });
        answer.sentences.push_back(fmt::format("clocks of {} hosts, least sure {}: {}",
                                               hosts.size(), worst.name,
                                               analysis::clockText(worst)));
    } else {
        for (const analysis::HostClock& host : hosts)
            answer.sentences.push_back(host.name + ": " + analysis::clockText(host));
    }
    for (const analysis::ClockProof& proof : report.clocks.proofs())
        answer.sentences.push_back(fmt::format(
            "collectives prove times of host {} ahead of those of host {} by {} at least, from "
            "{:.0f} s to {:.0f} s",
            proof.first, proof.second, durationText(proof.ahead), proof.window.begin.seconds(),
            proof.window.end.seconds()));
    if (const std::int64_t count = report.clocks.contradictions(); count > 0)
        answer.sentences.push_back(fmt::format(
            "in {} stretches of 10 s collectives contradict these: times of two hosts cannot be "
            "compared there",
            count));
    return answer;
}

/// What communication consists of, in two ways.
Table overlapTable(const analysis::Overlap& all) {
    Table table{"overlap",
                "",
                {{"part", ""},
                 {"ns", "time", Unit::kNanoseconds},
                 {"pct", "of communication", Unit::kPercent}},
                {}};
    const auto addRow = [&](const char* name, Duration time) {
        table.rows.push_back({name, time.ns, questions::share(time, all.communication)});
    };
    addRow("communication", all.communication);
    if (all.computeKnown) addRow("hidden by compute", all.hidden);
    if (all.computeKnown) addRow("exposed: not under compute", all.exposed);
    if (all.waitingKnown) addRow("waiting for the last rank", all.waiting);
    if (all.waitingKnown) addRow("moving data", all.moving);
    return table;
}

/// The same, a line each way.
void addOverlapLines(const analysis::Overlap& all, Answer& answer) {
    const auto part = [&](const char* name, Duration time) {
        return fmt::format(
            "{} {} ({})", name, durationText(time),
            shareText(static_cast<double>(time.ns), static_cast<double>(all.communication.ns)));
    };
    answer.sentences.push_back(durationText(all.communication) + " over all ranks" +
                               (all.computeKnown
                                    ? fmt::format(": {}, {}", part("hidden by compute", all.hidden),
                                                  part("exposed: not under compute", all.exposed))
                                    : std::string()));
    if (all.waitingKnown)
        answer.sentences.push_back(part("waiting for the last rank", all.waiting) + ", " +
                                   part("moving data", all.moving));
}

Answer overlap(const Report& report, bool brief) {
    const analysis::Overlap& all = report.overlap;
    Answer answer;
    if (all.communication.ns == 0) {
        answer.sentences.push_back(
            report.marked.empty()
                ? analysis::withHow("none recorded", report, analysis::Lack::kCollectives)
                : questions::markedText(report.marked));
        return answer;
    }
    if (brief) {
        addOverlapLines(all, answer);
    } else {
        answer.tables.push_back(overlapTable(all));
    }
    if (!all.computeKnown)
        answer.sentences.push_back(
            analysis::withHow("what is hidden and exposed is unknown: phases were not recorded",
                              report, analysis::Lack::kPhases));
    if (const auto reached = all.reachedOfLimit())
        answer.sentences.push_back(fmt::format(
            "this schedule can hide at most {:.1f} % of moving data: {:.3f} of that is reached",
            100 * *all.limit(), *reached));
    if (!report.waitingKnown)
        answer.sentences.emplace_back(
            "waiting and transfer time cannot be separated: the other ranks are not recorded");
    for (const analysis::WaitingForRank& waiting : namedLate(report, brief))
        answer.sentences.push_back(
            fmt::format("rank {} arrived last in {}; the others' collectives waited {} for it",
                        waiting.late.value, counted(waiting.collectives, "collective"),
                        durationText(waiting.waited)));
    if (!report.waiting.empty() && !brief)
        answer.sentences.emplace_back(
            "waiting counts all other ranks together, behind compute too; the finding `late-rank` "
            "and `analyze late` count blocked step threads in steady steps");
    if (report.unknown.collectives > 0)
        answer.sentences.push_back(
            fmt::format("in {} the last rank to arrive is unknown{}; the ranks waited {}",
                        counted(report.unknown.collectives, "collective"),
                        brief ? ", because the hosts' clocks are uncertain"
                              : ": it was late by less than the uncertainty of the hosts' clocks",
                        durationText(report.unknown.waited)));
    if (brief) add(answer, clocks(report, brief));
    return answer;
}

std::string completenessText(const Report& report) {
    if (report.running) return "preliminary: the run is still recording";
    if (!report.completeness.known) return "unknown";
    if (!report.completeness.complete) return "incomplete";
    if (report.basis.whole())
        return "complete: every gather, reduction and phase of every step is there";
    return fmt::format(
        "complete: every gather, reduction and phase of the {} of {} steps that have detail is "
        "there",
        report.basis.detailed, report.basis.steps);
}

Answer recording(const Report& report, bool brief) {
    Answer answer;
    add(answer, "completeness", completenessText(report));
    for (const std::string& phrase : report.basis.leftOut) add(answer, "", phrase);
    // What is not there may still come.
    if (!report.running)
        for (const std::string& sentence : report.completeness.missing) add(answer, "", sentence);
    add(answer, "dropped events", countText(report.dropped));
    if (report.lost > 0) add(answer, "lost events", countText(report.lost));
    add(answer, "events", countText(report.events));
    std::string file = bytesText(report.fileSize);
    if (report.events > 0)
        file += fmt::format(
            ", {:.1f} bytes per event with everything in it",
            static_cast<double>(report.fileSize.count) / static_cast<double>(report.events));
    add(answer, "file", file);
    if (brief) {
        join(answer, "dropped events", "events");
        join(answer, "file", "events");
    }
    for (const Diagnostic& diagnostic : report.diagnostics)
        add(answer, toWord(diagnostic.severity),
            fmt::format("{}{}{}", analysis::sentence(diagnostic.message),
                        diagnostic.remedy.empty() ? "" : " ",
                        analysis::sentence(diagnostic.remedy)));
    return answer;
}

/// Of a recorded program; those that were not recorded are among what is wrong with the recording.
Answer processes(const Report& report) {
    Answer answer;
    if (report.processes.empty()) return answer;
    answer.tables.push_back(questions::processTable(report.processes));
    answer.tables.back().title = "each below the one that started it";
    auto& rows = answer.tables.back().rows;
    if (rows.size() <= kShownProcesses) return answer;
    answer.sentences.push_back(
        fmt::format("the first {} of {}; all: shardscope query RECORDING 'SELECT * FROM processes'",
                    kShownProcesses, rows.size()));
    rows.resize(kShownProcesses);
    return answer;
}

struct Section {
    std::string title;
    Answer answer;
};

std::vector<Section> trainingSections(const Report& report, bool brief) {
    const analysis::StepBasis& basis = report.basis;
    const std::string which = basis.whole()
                                  ? "recorded steps"
                                  : fmt::format("the {} of {} steps that have detail",
                                                countText(basis.detailed), countText(basis.steps));
    Answer devices = devicesAnswer(report, brief), hta = htaAnswer(report, brief);
    if (brief) add(devices, std::exchange(hta, Answer()));
    return {
        {"Configuration", configuration(report, brief)},
        {"Training", training(report, brief)},
        {fmt::format("Devices (kernels {})", countedTime(report)), std::move(devices)},
        {"HTA-compatible (as HolisticTraceAnalysis counts: by kernel names, launched kernels only, "
         "without the trace's last step, and copies as work; the exact numbers are above)",
         std::move(hta)},
        {fmt::format("Communication (all ranks, {})", countedTime(report)), overlap(report, brief)},
        {"Clocks of the hosts", brief ? Answer() : clocks(report, brief)},
        {fmt::format("Step ledger (sum over {}; {})", which,
                     brief ? "parts of 1 % and more of some rank's wall time"
                           : "parts add up to wall time"),
         ledgerAnswer(report, brief)},
        {sourceOf(report.run) == RecordingSource::kOwnRun
             ? "Memory at each rank's peak, against theory"
             : "Memory at each rank's peak",
         memoryAnswer(report, brief)},
    };
}

}  // namespace

std::string reportText(const Report& report, const std::string& path, bool everyRank) {
    const RunLabel& label = report.label;
    const std::size_t ranks = std::max(report.memory.size(), report.devices.size());
    const bool brief = !everyRank && ranks > kFewRanks;
    auto config = run::parseRunConfigJson(report.run.configJson);
    std::vector<Section> sections;
    if (config && config->work == run::Work::kMeasuring)
        sections = {{"Configuration", measured(report, *config)},
                    {"Clocks of the hosts", clocks(report, brief)}};
    else
        sections = trainingSections(report, brief);
    sections.insert(sections.begin(), {"Findings", findings(report, everyRank)});
    sections.push_back({"Processes", processes(report)});
    sections.push_back({"Recording", recording(report, brief)});
    std::string text = asLine(fmt::format(
        "Report of {}{}", label.name.empty() ? path : fmt::format("{} ({})", label.name, path),
        brief ? fmt::format(", the spread over {} ranks; --all shows each of them", ranks) : ""));
    if (!label.tags.empty()) text += asLine("Tags: " + tagsText(label));
    for (const Section& section : sections)
        if (section.title == "Findings" || !section.answer.saysNothing())
            text += '\n' + sectionText(section.title, section.answer);
    return text;
}

}  // namespace shardscope::cli
