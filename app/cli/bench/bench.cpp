// `shardscope bench`: runs that differ in what is asked about, measured in turn, and their figures
// beside each other and beside theory.
#include "app/cli/bench/bench_kind.h"
#include "app/cli/bench/bench_output.h"
#include "app/cli/bench/bench_runs.h"
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/options.h"
#include "app/cli/record/run_flags.h"
#include "engine/launch/host_facts.h"
#include "engine/run/config/measurement_plan.h"
#include "engine/run/config/near_miss.h"
#include "engine/run/config/run_rules.h"
#include "engine/run/theory/theory.h"
#include "storage/model/quantity_text.h"
#include "storage/model/rank_facts.h"
#include "storage/model/shell_word.h"
#include "storage/model/step_facts.h"
#include "storage/recording/read/recording_reader.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <set>

namespace shardscope::cli {
namespace {

using questions::Cell;
using questions::Unit;

struct BenchOptions {
    std::string kind, model, output;
    std::optional<std::string> operations, sizes;  ///< of collectives
    std::optional<std::string> shapes;             ///< of norms
    RunFlags flags;
    BenchRequest request;
    bool markdown = false, csv = false, json = false, explain = false;
    bool quiet = false, dryRun = false, force = false;

    [[nodiscard]] BenchFormat format() const {
        if (markdown) return BenchFormat::kMarkdown;
        if (csv) return BenchFormat::kCsv;
        return json ? BenchFormat::kJson : BenchFormat::kText;
    }
};

std::vector<std::string> kindKeys() {
    std::vector<std::string> keys;
    for (const auto& kind : kBenchKinds) keys.emplace_back(kind().key);
    return keys;
}

Result<BenchKind> findKind(const std::string& key) {
    for (const auto& kind : kBenchKinds)
        if (key == kind().key) return kind();
    return failure(ErrorCode::kUsage,
                   fmt::format("there is no bench '{}'{}", key, run::suggestion(key, kindKeys())));
}

/// What decides the work of a run; the bench decides on its length, its detail and its output.
bool mayBeGiven(const run::RunOption& option) {
    using S = run::OptionSection;
    static const std::set<std::string> kOfData{"data", "tokenizer", "batch", "accumulate", "seed"};
    switch (option.section) {
        case S::kModel:
        case S::kModelParts:
        case S::kStrategy:
        case S::kHosts:
        case S::kCommunication:
        case S::kDevice:
            return true;
        default:
            return kOfData.contains(option.key);
    }
}

/// Whether several values can stand behind its flag.
bool takesList(const run::RunOption& option) {
    const run::RunConfig standard;
    return option.choices != nullptr || !std::holds_alternative<std::string>(option.get(standard));
}

/// Theory divides by them before any run is looked at.
Result<void> checkValues(const BenchRequest& request) {
    for (const auto& [key, values] : request.given)
        for (const std::string& value : values) {
            run::RunConfig config = request.start;
            if (auto done = applySettings({{key, value}}, config); !done) return done;
            if (auto within = run::checkRanges(config); !within) return within;
        }
    return {};
}

Result<void> fillIn(BenchOptions& options) {
    BenchRequest& request = options.request;
    run::RunConfig& start = request.start;
    start.data = run::kSyntheticData;
    start.evaluateEvery = 0;
    start.calibrate = false;
    start.ranks = 1;  // where a strategy has only one
    if (auto done = options.flags.applySwitches(start); !done) return done;
    if (!options.model.empty()) request.given[kModelKey] = valuesIn(options.model);
    for (const std::string& key : options.flags.givenTexts()) {
        const std::string text = options.flags.text(key);
        const bool list = takesList(*run::findRunOption(key));
        request.given[key] = list ? valuesIn(text) : std::vector<std::string>{text};
    }
    for (const auto& [flag, text] :
         {std::pair("--operations", &options.operations), std::pair("--sizes", &options.sizes),
          std::pair("--shapes", &options.shapes)})
        if (*text)
            request.given[std::string(keyOfBenchFlag(flag))] =
                valuesIn(**text).empty() ? std::vector<std::string>{} : std::vector{**text};
    for (const auto& [key, values] : request.given)
        if (values.empty())
            return failure(ErrorCode::kUsage, fmt::format("{} has no value", flagOf(key)));
    return checkValues(request);
}

questions::Table plannedTable(const std::vector<PlannedRun>& plan) {
    constexpr auto kWhereAny = questions::Shown::kWhereAny;
    questions::Table table{
        "planned",
        "Runs, by theory",
        {{"name", "run"},
         {"ranks", "ranks", Unit::kCount},
         {"tokens_per_step", "tokens/step", Unit::kCount, "Of all ranks.", kWhereAny},
         {"state_bytes", "state", Unit::kBytes,
          "Parameters, gradients and optimizer state per rank, by theory.", kWhereAny},
         {"peak_bytes", "peak", Unit::kBytes, "The most that a rank's tensors hold, by theory.",
          kWhereAny},
         {"host_bytes", "of this host", Unit::kBytes,
          "Peaks of all ranks on this host, their programs included.", kWhereAny},
         {"traffic_bytes", "traffic", Unit::kBytes, "Sent by each rank per step, by theory.",
          kWhereAny},
         {"measures", "measures", Unit::kNone, "", kWhereAny},
         {"why_not", "not run because", Unit::kNone, "", kWhereAny}},
        {}};
    const auto free = launch::freeMemory();
    for (const PlannedRun& run : plan) {
        // Theory is of what can be.
        if (!run.impossible.empty() || run.config.work != run::Work::kTraining) {
            const Cell why = run.impossible.empty() ? Cell() : Cell(run.impossible);
            const std::string measures = run::measuredText(run.config);
            table.rows.push_back({run.name,
                                  std::int64_t{run.config.ranks},
                                  {},
                                  {},
                                  {},
                                  {},
                                  {},
                                  measures.empty() ? Cell() : Cell(measures),
                                  why});
            continue;
        }
        const auto needed = hostMemoryNeeded(run.config);
        const bool fits = !needed || !free || needed->count <= free->count;
        const Cell whyNot = fits ? Cell() : Cell("does not fit into the memory that is free");
        table.rows.push_back({run.name,
                              std::int64_t{run.config.ranks},
                              theory::tokensPerStep(run.config),
                              theory::stateTheory(run.config).count,
                              theory::total(theory::memoryTheory(run.config)).count,
                              needed ? Cell(needed->count) : Cell(),
                              theory::trafficPerStep(run.config).count,
                              {},
                              whyNot});
    }
    return table;
}

int printPlan(const BenchKind& kind, const std::vector<PlannedRun>& plan,
              const BenchOptions& options) {
    BenchDocument document{&kind, {}, {}};
    document.result.answer.sentences = {fmt::format(
        "{}: {}, each {}, {} to measure after {} of warm-up; nothing was started, "
        "figures are estimated.",
        kind.title, counted(plan.size(), "run"),
        options.request.repetitions == 1 ? "once"
                                         : fmt::format("{} times", options.request.repetitions),
        counted(options.request.steps, "step"), options.request.warmUp)};
    document.result.answer.tables = {plannedTable(plan)};
    return printLast(textOf(document, options.format(), options.explain));
}

std::string defaultFolder(const BenchKind& kind) {
    const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    return fmt::format("bench-{}-{:%Y%m%d-%H%M%S}", kind.key, fmt::localtime(now));
}

/// What runs have noted about how far to trust them, each once.
std::vector<std::string> cautionsOf(const std::vector<RunResult>& results) {
    std::vector<std::string> sentences;
    for (const RunResult& result : results) {
        for (const std::string& recording : result.recordings) {
            const auto reading = storage::openRecording(recording, 1);
            const auto summary =
                reading ? (*reading)->summary() : Result<RecordingSummary>(failure(reading));
            if (!summary) continue;
            for (const Diagnostic& each : summary->diagnostics) {
                if (each.severity == Severity::kNote) continue;
                const std::string sentence = each.message + ".";
                if (std::find(sentences.begin(), sentences.end(), sentence) == sentences.end())
                    sentences.push_back(sentence);
            }
        }
    }
    return sentences;
}

Result<BenchDocument> documentOf(const BenchKind& kind, const BenchRequest& request,
                                 const BenchRuns& runs) {
    const auto measured = std::find_if(runs.results.begin(), runs.results.end(),
                                       [](const auto& each) { return !each.recordings.empty(); });
    if (measured == runs.results.end()) {
        if (runs.ended) return tl::unexpected<Error>(*runs.ended);
        if (runs.failed) return tl::unexpected<Error>(*runs.failed);
        return failure(ErrorCode::kUsage,
                       fmt::format("none of the runs can be measured: {}: {}",
                                   runs.results.front().run.name, runs.results.front().missing));
    }
    auto result = kind.conclude(request, runs.results);
    if (!result) return failure(result);
    auto machine = machineOf(measured->recordings.front());
    if (!machine) return failure(machine);
    questions::Answer& answer = result->answer;
    answer.figures.insert(answer.figures.begin(), machine->begin(), machine->end());
    answer.figures.push_back(
        {{"steps", "steps", Unit::kCount, "Measured in each run."}, std::int64_t{request.steps}});
    answer.figures.push_back({{"warm_up", "warm-up", Unit::kCount, "Warm-up steps before them."},
                              std::int64_t{request.warmUp}});
    answer.figures.push_back({{"repetitions", "repetitions", Unit::kCount, "Whole runs of each."},
                              std::int64_t{request.repetitions}});
    for (std::string& sentence : cautionsOf(runs.results))
        answer.sentences.push_back(std::move(sentence));
    answer.tables.push_back(tableOf(runs.results));
    std::string note;
    for (const questions::Figure& figure : *machine)
        if (const std::string* text = figure.value.text())
            note += (note.empty() ? "" : "; ") + *text;
    for (Plot& plot : result->pictures) plot.note = note;
    return BenchDocument{&kind, std::move(*result), runs.results};
}

int tellEnd(const Error& error, const std::string& folder, bool some) {
    std::string after;
    if (some)
        after = fmt::format(
            "; what was measured is kept: the same command with --output {} goes "
            "on from there",
            typedWord(folder));
    else if (error.code == ErrorCode::kInterrupted)
        after = "; no run had been measured";
    tellError(inBenchFlags(error.message) + after);
    return exitStatus(error);
}

int measure(const BenchKind& kind, const std::vector<PlannedRun>& plan,
            const BenchOptions& options) {
    const std::string folder = options.output.empty() ? defaultFolder(kind) : options.output;
    if (auto fine = checkFiles(folder); !fine) return tellEnd(fine.error(), folder, false);
    const auto runs = goThrough(
        plan, {folder, options.request.repetitions, options.force, options.quiet, kind.beside});
    if (!runs) return tellEnd(runs.error(), folder, false);
    const auto document = documentOf(kind, options.request, *runs);
    if (!document) return tellEnd(document.error(), folder, false);
    const auto written = writeFiles(*document, folder);
    int status = printLast(textOf(*document, options.format(), options.explain));
    if (!written) status = tellEnd(written.error(), folder, true);
    if (runs->ended) return tellEnd(*runs->ended, folder, true);
    if (runs->failed) return tellEnd(*runs->failed, folder, true);
    if (written && !options.quiet) tellLine("Recordings, tables and pictures: " + folder);
    return status;
}

int run(BenchOptions& options) {
    std::signal(SIGPIPE, SIG_IGN);
    const auto tellWrong = [](const Error& error) {
        tellError(inBenchFlags(error.message));
        return exitStatus(error);
    };
    const auto kind = findKind(options.kind);
    if (!kind) return tellWrong(kind.error());
    if (const auto filled = fillIn(options); !filled) return tellWrong(filled.error());
    if (options.request.repetitions == 0) options.request.repetitions = kind->repetitions;
    const auto plan = kind->plan(options.request);
    if (!plan) return tellWrong(plan.error());
    return options.dryRun ? printPlan(*kind, *plan, options) : measure(*kind, *plan, options);
}

std::string footer() {
    std::string text = "Kinds:\n";
    for (const auto& kind : kBenchKinds)
        text += fmt::format("  {:<10}{}\n", kind().key, kind().title);
    return text +
           "\nA run option takes several values with commas: every combination is a run. Each run "
           "is\n"
           "a recording in the folder, beside tables and pictures; what lies there of the same\n"
           "settings is used again. Ctrl-C ends it and keeps what there is.\n\n"
           "Examples:\n"
           "  shardscope bench model --model small,medium --precision fp32,bf16\n"
           "  shardscope bench ddp --ranks 2 --bucket-mb 5,25,100 --output ddp\n"
           "  shardscope bench memory --strategy zero1,zero2,zero3 --ranks 2,4 --dry-run\n"
           "  shardscope bench comm --ranks 2,4 --sizes 512KiB-64MiB --operations all-reduce\n"
           "  shardscope bench scaling --ranks 1,2,4 --link-gb-per-s 1 --markdown";
}

}  // namespace

Command addBench(CLI::App& root) {
    const auto options = std::make_shared<BenchOptions>();
    CLI::App* app = addVerb(root, "bench", "measure runs and set them beside theory");
    setFooter(*app, footer());
    addOption(*app, "kind", options->kind, "what to measure, see below")
        .required()
        .offers("KIND", kindKeys());
    BenchRequest& request = options->request;
    const auto number = [&](const char* flag, std::int32_t& value, int least, const char* help) {
        addOption(*app, flag, value, fmt::format("{} [{}]", help, value))
            .takes("NUMBER")
            .lastCounts()
            .within(least, 1'000'000);
    };
    number("--steps", request.steps, 1, "measured steps per run");
    number("--warm-up", request.warmUp, 0, "warm-up steps before them, not measured");
    addOption(*app, "--repetitions", request.repetitions,
              "whole runs of each, in turn [as the kind says: 3, or 1 where bytes are counted]")
        .takes("NUMBER")
        .lastCounts()
        .within(1, 1'000'000);
    addOption(*app, "-o,--output", options->output,
              "folder of recordings, tables and pictures [bench-KIND-DATE]")
        .takes("FOLDER");
    addForce(*app, options->force, "recordings of other settings in it");
    addFlag(*app, "--dry-run", options->dryRun,
            "print the runs and what they need by theory; start nothing");
    const Option markdown = addFlag(*app, "--markdown", options->markdown, "print Markdown");
    const Option csv = addFlag(*app, "--csv", options->csv, "print CSV");
    addJson(*app, options->json, "shardscope.bench/1").excludes(markdown).excludes(csv);
    csv.excludes(markdown);
    addFlag(*app, "--explain", options->explain, "print what columns mean too");
    addQuiet(*app, options->quiet);
    addOption(*app, "--model", options->model,
              fmt::format("{}: {} [{}]", run::findRunOption("model.name")->help,
                          fmt::join(run::modelPresetNames(), ", "), run::ModelConfig().name))
        .takes("NAMES")
        .under(toWord(run::OptionSection::kModel));
    addOption(*app, "--operations", options->operations,
              fmt::format("of comm: collective operations [{}]", run::measurableOperations()))
        .takes("LIST");
    addOption(
        *app, "--sizes", options->sizes,
        fmt::format("of comm: payloads, 1MB,64MB or by doubling 1MB-64MB [{}]", kUsualPayloads))
        .takes("LIST");
    addOption(*app, "--shapes", options->shapes,
              fmt::format("of norms: inputs, rows x width [{}]", kUsualNormShapes))
        .takes("LIST");
    options->flags.addTo(*app, mayBeGiven);
    return {app, [options] { return run(*options); }};
}

}  // namespace shardscope::cli
