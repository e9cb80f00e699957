#include "app/cli/record/record_program.h"

#include "app/cli/console.h"
#include "app/cli/record/data_path.h"
#include "app/cli/record/passed_signals.h"
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
#include "storage/model/host_clock.h"
#include "storage/model/quantity_text.h"
#include "storage/model/shell_word.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
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

using Json = nlohmann::ordered_json;

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
                                   m_processes == 1 ? "1 process"
                                                    : fmt::format("{} processes", m_processes),
                                   end.output)
                     : fmt::format("Recorded {} of {} and {} in {}.",
                                   counted(end.stepsKept, "step"), counted(end.ranks, "rank"),
                                   counted(static_cast<std::int64_t>(end.events), "event"),
                                   end.output));
        tellLine("Next: shardscope report " + typedWord(end.output));
    }

    void setProcesses(std::size_t processes) { m_processes = processes; }

private:
    bool m_quiet;
    std::size_t m_processes = 0;
    std::unique_ptr<RunProgress> m_end;
};

std::string randomId() {
    std::random_device random;
    std::string id;
    for (int i = 0; i < 4; ++i) id += fmt::format("{:08x}", random());
    return id;
}

std::string commandText(const std::vector<std::string>& command) {
    std::string text;
    for (const std::string& word : command) text += (text.empty() ? "" : " ") + typedWord(word);
    return text;
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

RunFacts factsOf(const run::RunConfig& config, const RecordOptions& options) {
    RunFacts facts;
    std::error_code ignored;
    facts.id = randomId();
    static_assert(std::string_view(kProgramConfig) == R"({"program":)");
    facts.configJson = Json{{"program",
                             {{"command", options.program},
                              {"folder", std::filesystem::current_path(ignored).string()},
                              {"capture", toWord(config.capture)}}}}
                           .dump(-1, ' ', false, Json::error_handler_t::replace);
    facts.commandLine = "shardscope record -- " + commandText(options.program);
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

Result<RunEnd> record(const run::RunConfig& config, const RecordOptions& options,
                      ProgramProgress& progress) {
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
    launch::ProgramSupervisor program(std::move(request), recorder);
    const auto socket = program.listen();
    if (!socket) return failure(socket);
    const auto environment =
        launch::programEnvironment({*socket, run::captureWishOf(config), originNs,
                                    options.stepRange, launch::injectionHome()});
    program.setEnvironment(environment.added);
    for (const std::string& note : environment.notes)
        recorder.addDiagnostic(
            {Severity::kWarning, "program-environment", note, "", std::nullopt, Timestamp{0}, 1});
    recorder.attach(program);
    signals->attach(program);
    const auto say = [&progress](const std::string& text) { progress.log("info", text); };
    attachControlSocket(program, config.output, run::captureWishOf(config), say);
    const launch::ProgramOutcome outcome = program.run();
    if (outcome.notStarted) {
        RunEnd end = recorder.conclude({*outcome.notStarted, {}, {}, false, false});
        end.exitStatus = kNotExecutable;
        return end;
    }
    describeEnd(recorder, facts, outcome);
    progress.setProcesses(outcome.processes.size());
    return endOf(recorder, outcome);
}

}  // namespace

int recordProgram(RecordOptions& options) {
    ProgramProgress progress(options.quiet);
    auto config = configOf(options);
    if (config && launch::programPath(options.program.front()).empty()) {
        tellError(fmt::format("{}: there is no such program", options.program.front()));
        return kNotFound;
    }
    Result<RunEnd> end = config ? record(*config, options, progress) : failure(config);
    if (!end) {
        RunEnd failed;
        failed.status = RunStatus::kFailed;
        failed.exitStatus = exitStatus(end.error());
        failed.message = end.error().message;
        end = failed;
    }
    progress.finished(*end);
    return end->exitStatus;
}

}  // namespace shardscope::cli
