#include "app/cli/record/record_options.h"

#include "app/cli/options.h"
#include "app/cli/record/data_path.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/run/config/run_file.h"
#include "engine/run/config/run_option.h"
#include "storage/model/shell_word.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <regex.h>

#include <array>
#include <chrono>
#include <optional>
#include <utility>

namespace shardscope::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  shardscope record --strategy zero3 --ranks 2 --model shakespeare --steps 40 --output run.sscope
  shardscope record --model small --batch 4 --data corpus/ --output small.sscope
  shardscope record run.toml --lr 3e-4 --force
  shardscope record --checkpoint ckpt --checkpoint-every 20 --output first.sscope
  shardscope record --resume ckpt --steps 80 --ranks 4 --output second.sscope
  shardscope record --model ref --strategy zero3 --ranks 8 --dry-run
  shardscope record -o run.sscope -- torchrun --nproc-per-node 2 train.py
  shardscope record --kineto --window 1s -o run.sscope -- python -I train.py

After -- any program is recorded as it is (docs/any_program.md): it keeps terminal, signals and exit
status. Of the options only those of the recording count then.

Ctrl-C stops after the step and finishes the recording, a second one kills. A closed terminal
(SIGHUP) ends nothing: `kill PID` does what Ctrl-C would. --force replaces only a recording, and
none that is being written.)";

using checkpoint::Checkpoint;

/// Whether the checkpoint fits the run, before anything is started.
Result<void> checkResume(run::RunConfig& config, const std::optional<Checkpoint>& from) {
    if (!from) return {};
    if (!config.weights.empty())
        return failure(ErrorCode::kUsage,
                       "--resume brings its own weights; leave out --weights, or start anew");
    auto whole = wholePath(from->path());
    if (!whole) return failure(whole);
    config.resume = *whole;
    if (const auto wrong = checkpoint::mismatch(from->manifest(), config.model))
        return failure(ErrorCode::kUsage, fmt::format("{}: {}", from->path(), *wrong));
    if (from->manifest().nextStep >= config.steps)
        return failure(ErrorCode::kUsage,
                       fmt::format("{} has done all of its {} steps; give more with --steps",
                                   from->path(), from->manifest().nextStep));
    return {};
}

/// As the library in the program compiles it; empty: nothing.
std::string faultOfExpression(const std::string& text) {
    regex_t expression{};
    const int error = ::regcomp(&expression, text.c_str(), REG_EXTENDED | REG_NOSUB);
    std::array<char, 128> why{};
    if (error != 0) ::regerror(error, &expression, why.data(), why.size());
    if (error == 0) ::regfree(&expression);
    return error == 0 ? "" : fmt::format("{} is not a regular expression: {}", text, why.data());
}

}  // namespace

void RecordOptions::addTo(CLI::App& app) {
    setFooter(app, kExamples);
    addOption(app, "run_file", m_runFile, "TOML run file").takes("RUN.toml");
    addOption(app, "--model", m_model,
              fmt::format("{}: {} [{}]", run::findRunOption("model.name")->help,
                          fmt::join(run::modelPresetNames(), ", "), run::ModelConfig().name))
        .takes("NAME")
        .under(toWord(run::OptionSection::kModel))
        .lastCounts();
    m_flags.addTo(app, [](const run::RunOption&) { return true; });
    m_hosts.addTo(app);
    taskOptions.addTo(app);
    m_slurm =
        addOption(app, "--slurm", slurm,
                  "run in a Slurm job with these options of sbatch ('--nodes 2 --ntasks-per-node "
                  "4', '' for none) and follow it; the output lies on a file system that its "
                  "nodes share")
            .takes("OPTIONS")
            .under(toWord(run::OptionSection::kHosts));
    addAllowCommands(app, allowCommands, "a run file or checkpoint");
    addForce(app, force, kAnOldRecording);
    labelOptions.addTo(app);
    addOption(
        app, "--keep-last", keepLast,
        "of a program after --: keep detail only of so much time, like 60s, before a step is slow, "
        "a rank ends, or SIGUSR1 or `shardscope control FILE keep` asks for it")
        .secondsWithin(1, 3600);
    addOption(app, "--stall", stall,
              "of a program after --: name the rank that has not entered a collective in which "
              "others have waited for so long [60s]")
        .secondsWithin(1, 86'400);
    addOption(app, "--step-range", stepRange,
              "of a program after --: ranges (record_function) whose name matches are steps")
        .takes("REGEX")
        .checkedBy(faultOfExpression);
    addFlag(app, "--kineto", withKineto,
            "of a program after --: a window by PyTorch's own profiler, nothing of ours in it")
        .under(kKinetoHeading);
    kineto.addTo(app);
    kineto.addStacksTo(app,
                       "of a program after --: Python functions too, of each operator at level "
                       "full, or with --kineto of the window; slows ranks more");
    addOption(app, "--folder", folder, "of a program after --: the folder it works in [this one]")
        .takes("DIR");
    addOption(app, "--env", environment,
              "of a program after --: a variable of its environment; may be given several times")
        .takes("NAME=VALUE")
        .oneEach()
        .checkedBy([](const std::string& text) {
            const auto end = text.find('=');
            return end == std::string::npos || end == 0
                       ? fmt::format("{} is not a variable; write NAME=VALUE", text)
                       : std::string();
        });
    addFlag(app, "--dry-run", dryRun,
            "print what each rank needs and whether it fits; start nothing");
    addFlag(app, "--json", json, "print one JSON object at the end");
    addQuiet(app, quiet);
    addOption(app, "--control", control, "speak JSON lines with a program: stdio")
        .takes("stdio")
        .oneOf({"stdio"});
}

Result<void> RecordOptions::checkNoProgramOption() const {
    const char* given = !folder.empty()        ? "--folder"
                        : !environment.empty() ? "--env"
                        : !stepRange.empty()   ? "--step-range"
                        : kineto.stacks()      ? "--stacks"
                                               : nullptr;
    if (given == nullptr) return {};
    return failure(ErrorCode::kUsage,
                   fmt::format("{} is about a program after --, and none is there; name one, or "
                               "leave it out",
                               given));
}

Result<run::RunConfig> RecordOptions::config() {
    if (auto fine = checkNoProgramOption(); !fine) return failure(fine);
    run::RunConfig config;
    bool ranksGiven = m_flags.given("ranks");
    std::optional<Checkpoint> from;
    RunLabel ofRunFile;
    const run::MayRun may = [this](std::string_view key) { return mayRun(key); };
    const auto open = [&](const std::string& resume) -> Result<void> {
        auto opened = Checkpoint::open(resume);
        if (!opened) return failure(opened);
        from = std::move(*opened);
        m_start = checkpoint::settingsToGoOn(from->manifest());
        return {};
    };
    if (const std::string resume = m_flags.text("resume"); !resume.empty()) {
        if (auto opened = open(resume); !opened) return failure(opened);
        if (auto fine = run::checkCommands(m_start, may, from->path(), "a checkpoint"); !fine)
            return failure(fine);
        config = m_start;
        ranksGiven = true;
    }
    if (!m_runFile.empty()) {
        auto read = run::readRunFile(m_runFile, config, may, &ofRunFile);
        if (!read) return failure(read);
        // Named there where it reads alike whatever was there before.
        run::RunConfig other = config;
        ++other.ranks;
        const auto again = run::readRunFile(m_runFile, other, may);
        ranksGiven = ranksGiven || (again && again->ranks == read->ranks);
        config = std::move(*read);
    }
    if (!m_model.empty()) {
        if (auto done = run::setModelPreset(config, m_model); !done) return failure(done);
    }
    if (auto done = m_flags.apply(config); !done) return failure(done);
    if (m_flags.given("hosts") && config.hosts.empty())
        return failure(ErrorCode::kUsage,
                       "--hosts names no host (an empty variable?); name some, or leave it out");
    if (tasks) {
        if (auto settled = settleTasks(config); !settled) return failure(settled);
        ranksGiven = true;
    }
    const bool fromFile = !m_runFile.empty() || !from;
    if (auto fine = checkHostFile(config, may, fromFile ? m_runFile : from->path(),
                                  fromFile ? "a run file" : "a checkpoint");
        !fine)
        return failure(fine);
    if (auto settled = m_hosts.settle(config, ranksGiven); !settled) return failure(settled);
    // One rank is what "single" means; asking for it in words would be pedantic.
    if (config.strategy == run::Strategy::kSingle && !ranksGiven) config.ranks = 1;
    if (auto valid = run::validate(config); !valid) return failure(valid);
    // A run file only names it: its own settings count.
    if (!from && !config.resume.empty()) {
        if (auto opened = open(config.resume); !opened) return failure(opened);
    }
    if (auto possible = checkResume(config, from); !possible) return failure(possible);
    if (auto settled = settleLabel(ofRunFile); !settled) return failure(settled);
    return config;
}

Result<void> RecordOptions::settleLabel(const RunLabel& ofRunFile) {
    auto label = labelOptions.label(ofRunFile);
    if (!label) return failure(label);
    m_label = std::move(*label);
    return {};
}

std::vector<std::string> RecordOptions::arguments(const run::RunConfig& config) const {
    return run::toArguments(config, m_start);
}

std::string RecordOptions::defaultOutput() {
    const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    return fmt::format("run-{:%Y%m%d-%H%M%S}.sscope", fmt::localtime(now));
}

Result<void> RecordOptions::settleTasks(run::RunConfig& config) const {
    if (m_flags.given("hosts"))
        return failure(ErrorCode::kUsage,
                       fmt::format("--hosts starts ranks through ssh, and {} has started tasks on "
                                   "its hosts already; leave one of them out, or say --launched-by "
                                   "none",
                                   entryOf(tasks->by)->name));
    // Of a run file: where a launcher has put the tasks counts.
    config.hosts.clear();
    return tasks->settle(config,
                         m_flags.given("ranks") ? std::optional(config.ranks) : std::nullopt);
}

std::string RecordOptions::commandLine(const run::RunConfig& config) const {
    std::string line = run::toCommandLine(config, m_start);
    for (const std::string& word : labelArguments(m_label)) line += ' ' + typedWord(word);
    return line;
}

bool RecordOptions::bySlurm() const {
    return m_slurm.given();
}

}  // namespace shardscope::cli
