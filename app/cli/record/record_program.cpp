#include "app/cli/console.h"
#include "app/cli/record/data_path.h"
#include "app/cli/record/passed_signals.h"
#include "app/cli/record/record_modes.h"
#include "app/cli/record/run_environment.h"
#include "app/cli/record/run_progress.h"
#include "app/cli/record/run_recorder.h"
#include "app/cli/record/run_requests.h"
#include "app/cli/version.h"
#include "engine/launch/agent_file.h"
#include "engine/launch/host_facts.h"
#include "engine/launch/process.h"
#include "engine/launch/program/program_environment.h"
#include "engine/launch/program/program_supervisor.h"
#include "engine/run/config/program_run.h"
#include "storage/model/host_clock.h"
#include "storage/model/quantity_text.h"
#include "storage/model/shell_word.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope::cli {
namespace {

/// What of a run's options says something about a program that we know nothing of.
constexpr std::array kProgramOptions = {"output",   "capture",  "capture_steps", "capture_every",
                                        "max_size", "max_rate", "capture_slow"};

/// As shells have it.
constexpr int kNotExecutable = 126, kNotFound = 127;

/// Reports nothing while the program has the terminal, but what is wrong.
class ProgramProgress final : public RunProgress {
public:
    explicit ProgramProgress(bool quiet) : m_quiet(quiet), m_end(quietProgress()) {}

    void started(const run::RunConfig&, std::int64_t) override {}
    void step(const StepProgress&) override {}
    void validation(std::int32_t, double) override {}
    void rank(RankId, const char*, std::int64_t) override {}
    void host(const run::HostChanged&) override {}
    void log(const std::string& level, const std::string& text) override {
        if (level != "info") m_end->log(level, text);
    }
    void finished(const RunEnd& end) override {
        if (!end.message.empty()) tellError(end.message);
        if (m_quiet || end.output.empty() || !end.kept) return;
        tellLine(end.ranks == 0
                     ? fmt::format("Recorded {} and no rank in {}.",
                                   end.processes == 1 ? "1 process"
                                                      : fmt::format("{} processes", end.processes),
                                   end.output)
                     : fmt::format("Recorded {} of {} and {} in {}.",
                                   counted(end.stepsKept, "step"), counted(end.ranks, "rank"),
                                   counted(static_cast<std::int64_t>(end.events), "event"),
                                   end.output));
        tellLine("Next: shardscope report " + typedWord(end.output));
    }

private:
    bool m_quiet;
    std::unique_ptr<RunProgress> m_end;
};

std::string randomId() {
    std::random_device random;
    std::string id;
    for (int i = 0; i < 4; ++i) id += fmt::format("{:08x}", random());
    return id;
}

/// Settings of a run of our own say nothing about another program.
Result<run::RunConfig> configOf(const RecordOptions& options) {
    run::RunConfig config;
    for (const run::RunOption& option : run::runOptions()) {
        if (!options.flags().given(option.key)) continue;
        const bool ours = std::find(kProgramOptions.begin(), kProgramOptions.end(),
                                    std::string_view(option.key)) != kProgramOptions.end();
        if (!ours)
            return failure(ErrorCode::kUsage,
                           fmt::format("{} is about Shardscope's own training, and here {} is "
                                       "recorded; leave it out",
                                       option.flag, options.program.front()));
    }
    if (!options.runFile().empty())
        return failure(ErrorCode::kUsage,
                       fmt::format("{} is a run file of Shardscope's own training, and here {} is "
                                   "recorded; leave it out",
                                   options.runFile(), options.program.front()));
    if (auto done = options.flags().apply(config); !done) return failure(done);
    if (auto valid = run::validate(config); !valid) return failure(valid);
    if (config.output.empty()) config.output = RecordOptions::defaultOutput();
    auto whole = wholePath(config.output);
    if (!whole) return failure(whole);
    config.output = *whole;
    return config;
}

/// Where the program works; files that are named to us were found before.
Result<void> enterFolder(const std::string& folder) {
    if (folder.empty() || ::chdir(folder.c_str()) == 0) return {};
    return failure(ErrorCode::kUsage, fmt::format("--folder {}: {}; name another folder",
                                                  typedWord(folder), std::strerror(errno)));
}

std::map<std::string, std::string> environmentOf(const RecordOptions& options) {
    std::map<std::string, std::string> environment;
    for (const std::string& each : options.environment) {
        const auto end = each.find('=');
        environment[each.substr(0, end)] = each.substr(end + 1);
    }
    // Its lines are followed: Python holds them back where it writes to no terminal.
    constexpr const char* kUnbuffered = "PYTHONUNBUFFERED";
    if (!options.control.empty() && std::getenv(kUnbuffered) == nullptr)
        environment.try_emplace(kUnbuffered, "1");
    return environment;
}

RunFacts factsOf(const run::RunConfig& config, const RecordOptions& options) {
    RunFacts facts;
    std::error_code ignored;
    facts.id = randomId();
    facts.configJson = run::toJson(run::ProgramRun{
        options.program, std::filesystem::current_path(ignored).string(), config.capture});
    facts.commandLine = "shardscope record -- " + run::commandText(options.program);
    facts.product = productVersion();
    facts.librariesJson = "{}";
    facts.environmentJson = environmentJson();
    facts.startedUnixNs = std::chrono::duration_cast<std::chrono::nanoseconds>(
                              std::chrono::system_clock::now().time_since_epoch())
                              .count();
    return facts;
}

int statusOf(const launch::ProcessEnd& end) {
    return end.code ? *end.code : 128 + end.signal.value_or(0);
}

std::int64_t numberIn(const std::map<std::string, std::string>& facts, const char* name) {
    const auto found = facts.find(name);
    std::int64_t number = 0;
    if (found != facts.end())
        std::from_chars(found->second.data(), found->second.data() + found->second.size(), number);
    return number;
}

/// What became of the program, as rows.
void describeEnd(RunRecorder& recorder, RunFacts facts, const launch::ProgramOutcome& outcome) {
    // Without any rank, rank 0 stands for the program.
    facts.worldSize = std::max({1, outcome.ranks,
                                static_cast<std::int32_t>(std::min<std::int64_t>(
                                    numberIn(outcome.facts, "world"), kMostRanks))});
    facts.parameters = numberIn(outcome.facts, "parameters");
    recorder.describe(facts);
    for (const ProcessFacts& process : outcome.processes) recorder.addProcess(process);
}

/// By Ctrl-C, `kill` or a closed terminal it was stopped; by anything else that is no success it
/// failed.
RunStatus runStatusOf(const launch::ProcessEnd& end) {
    const int signal = end.signal.value_or(0);
    if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP) return RunStatus::kStopped;
    return statusOf(end) == 0 ? RunStatus::kFinished : RunStatus::kFailed;
}

RunEnd endOf(RunRecorder& recorder, const launch::ProgramOutcome& outcome) {
    RunEnd end = recorder.conclude(outcome.run, runStatusOf(outcome.end));
    end.ranks = outcome.ranks;
    end.exitStatus = statusOf(outcome.end);
    return end;
}

/// For a front end, which has no shell that says it.
std::string endText(const launch::ProcessEnd& end) {
    if (end.signal) return fmt::format("the program ended by {}", launch::signalText(*end.signal));
    return fmt::format("the program ended with status {}", end.code.value_or(0));
}

Result<RunEnd> record(const run::RunConfig& config, const RecordOptions& options,
                      RunProgress& progress) {
    auto signals = PassedSignals::open();
    if (!signals) return failure(signals);
    auto folder = launch::makeUserFolder();
    if (!folder) return failure(folder);
    const std::int64_t originNs = hostNow();
    const RunFacts facts = factsOf(config, options);
    auto writer = storage::RecordingWriter::create(config.output, facts, options.force);
    if (!writer) return failure(writer);
    if (auto limited = writer->limitSize(run::sizeLimitOf(config)); !limited)
        return failure(limited);
    RecordedRun run;
    run.output = config.output;
    run.capture = run::captureWishOf(config);
    run.captureSlow = config.captureSlow;
    run.whenUnwritable = "the program goes on";
    constexpr double kSecondNs = 1e9;
    run.keepLast = {static_cast<std::int64_t>(options.keepLast.value_or(0) * kSecondNs)};
    RunRecorder recorder(run, originNs, std::move(*writer), progress);
    HostFacts host = launch::hostFacts();
    host.clockOffsetNs = -originNs;
    recorder.hostReady(host);

    launch::ProgramRequest request;
    request.command = options.program;
    request.folder = *folder;
    request.originNs = originNs;
    if (options.stall) request.stall = static_cast<std::int64_t>(*options.stall * kSecondNs);
    request.detached = !options.control.empty();
    request.figures = [&progress](const run::ProgramFigures& all) { progress.programFigures(all); };
    launch::ProgramSupervisor program(std::move(request), recorder);
    const auto socket = program.listen();
    if (!socket) return failure(socket);
    const auto environment = launch::programEnvironment(
        {*socket, run::captureWishOf(config), originNs, options.stepRange, launch::injectionHome(),
         environmentOf(options)});
    program.setEnvironment(environment.added);
    for (const std::string& note : environment.notes)
        recorder.addDiagnostic(
            {Severity::kWarning, "program-environment", note, "", std::nullopt, Timestamp{0}, 1});
    recorder.attach(program);
    signals->attach(program);
    const auto say = [&progress](const std::string& text) { progress.log("info", text); };
    if (!options.control.empty()) attachControlInput(program, run::captureWishOf(config), say);
    attachControlSocket(program, config.output, run::captureWishOf(config), say);
    progress.programStarted({config.output, {}, {}, 0, 0, 0, run::commandText(options.program)});
    const launch::ProgramOutcome outcome = program.run();
    if (outcome.notStarted) {
        RunEnd end = recorder.conclude({*outcome.notStarted, {}, {}, false, false});
        end.exitStatus = kNotExecutable;
        return end;
    }
    describeEnd(recorder, facts, outcome);
    RunEnd end = endOf(recorder, outcome);
    end.processes = static_cast<std::int32_t>(outcome.processes.size());
    if (!options.control.empty() && end.status == RunStatus::kFailed && end.message.empty())
        end.message = endText(outcome.end);
    return end;
}

/// From the options to the end; what keeps the program from being started is an error.
Result<RunEnd> configureAndRecord(const RecordOptions& options, RunProgress& progress) {
    const auto config = configOf(options);
    if (!config) return failure(config);
    if (const auto entered = enterFolder(options.folder); !entered) return failure(entered);
    if (launch::programPath(options.program.front()).empty()) {
        RunEnd end;
        end.status = RunStatus::kFailed;
        end.exitStatus = kNotFound;
        end.message = fmt::format("{}: there is no such program", options.program.front());
        return end;
    }
    return record(*config, options, progress);
}

}  // namespace

int recordProgram(RecordOptions& options) {
    const bool controlled = !options.control.empty();
    // The reader of our output may go; that does not end the program.
    if (controlled) std::signal(SIGPIPE, SIG_IGN);
    const auto progress = controlled
                              ? controlProgress()
                              : std::unique_ptr<RunProgress>(new ProgramProgress(options.quiet));
    Result<RunEnd> end = configureAndRecord(options, *progress);
    if (!end) {
        RunEnd failed;
        failed.status = RunStatus::kFailed;
        failed.exitStatus = exitStatus(end.error());
        failed.message = end.error().message;
        end = failed;
    }
    progress->finished(*end);
    return end->exitStatus;
}

}  // namespace shardscope::cli
