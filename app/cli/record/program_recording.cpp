#include "app/cli/record/program_recording.h"

#include "app/cli/record/data_path.h"
#include "app/cli/record/record_modes.h"
#include "app/cli/record/run_environment.h"
#include "app/cli/record/run_requests.h"
#include "app/cli/version.h"
#include "engine/launch/process.h"
#include "engine/launch/program/program_environment.h"
#include "engine/launch/program/program_start.h"
#include "engine/run/config/program_run.h"
#include "storage/model/host_clock.h"
#include "storage/model/quantity_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string_view>
#include <utility>

namespace shardscope::cli {
namespace {

/// What of a run's options says something about a program that we know nothing of.
constexpr std::array<std::string_view, 7> kProgramOptions = {
    "output", "capture", "capture_steps", "capture_every", "max_size", "max_rate", "capture_slow"};

std::string randomId() {
    std::random_device random;
    std::string id;
    for (int i = 0; i < 4; ++i) id += fmt::format("{:08x}", random());
    return id;
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

std::int64_t numberIn(const std::map<std::string, std::string>& facts, const char* name) {
    const auto found = facts.find(name);
    std::int64_t number = 0;
    if (found != facts.end())
        std::from_chars(found->second.data(), found->second.data() + found->second.size(), number);
    return number;
}

/// By Ctrl-C, `kill` or a closed terminal it was stopped; by anything else that is no success it
/// failed.
RunStatus runStatusOf(const launch::ProcessEnd& end) {
    const int signal = end.signal.value_or(0);
    if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP) return RunStatus::kStopped;
    return statusOf(end) == 0 ? RunStatus::kFinished : RunStatus::kFailed;
}

std::string endText(const launch::ProcessEnd& end) {
    if (end.signal) return fmt::format("the program ended by {}", launch::signalText(*end.signal));
    return fmt::format("the program ended with status {}", end.code.value_or(0));
}

}  // namespace

/// Settings of a run of our own say nothing about another program.
Result<run::RunConfig> programConfig(const RecordOptions& options,
                                     std::span<const std::string_view> also) {
    run::RunConfig config;
    for (const run::RunOption& option : run::runOptions()) {
        if (!options.flags().given(option.key)) continue;
        const auto isIn = [&](std::span<const std::string_view> keys) {
            return std::find(keys.begin(), keys.end(), option.key) != keys.end();
        };
        if (!isIn(kProgramOptions) && !isIn(also))
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
    if (auto label = options.labelOptions.label(); !label) return failure(label);
    if (auto done = options.flags().apply(config); !done) return failure(done);
    if (auto valid = run::validate(config); !valid) return failure(valid);
    if (options.kineto.stacks() && config.capture != CaptureLevel::kFull)
        return failure(ErrorCode::kUsage,
                       "--stacks are of operators, and these are recorded at --capture full only; "
                       "say that, or leave --stacks out");
    if (config.output.empty()) config.output = RecordOptions::defaultOutput();
    auto whole = wholePath(config.output);
    if (!whole) return failure(whole);
    config.output = *whole;
    return config;
}

std::map<std::string, std::string> programVariables(const RecordOptions& options) {
    std::map<std::string, std::string> environment;
    for (const std::string& each : options.environment) {
        const auto end = each.find('=');
        environment[each.substr(0, end)] = each.substr(end + 1);
    }
    if (options.kineto.stacks()) environment.try_emplace(launch::kStacksVariable, "1");
    // Its lines are followed: Python holds them back where it writes to no terminal.
    constexpr const char* kUnbuffered = "PYTHONUNBUFFERED";
    if (!options.control.empty() && std::getenv(kUnbuffered) == nullptr)
        environment.try_emplace(kUnbuffered, "1");
    return environment;
}

int statusOf(const launch::ProcessEnd& end) {
    return end.code ? *end.code : 128 + end.signal.value_or(0);
}

Result<ProgramRecording> ProgramRecording::open(const run::RunConfig& config,
                                                const RecordOptions& options,
                                                RunProgress& progress) {
    const auto label = options.labelOptions.label();
    if (!label) return failure(label);
    ProgramRecording made(config, factsOf(config, options), hostNow(), progress);
    auto writer = storage::RecordingWriter::create(config.output, made.m_facts, options.force);
    if (!writer) return failure(writer);
    if (auto limited = writer->limitSize(run::sizeLimitOf(config)); !limited)
        return failure(limited);
    made.m_saysEnd = !options.control.empty();
    RecordedRun run;
    run.output = config.output;
    run.capture = run::captureWishOf(config);
    run.captureSlow = config.captureSlow;
    run.whenUnwritable = "the program goes on";
    constexpr double kSecondNs = 1e9;
    run.keepLast = {static_cast<std::int64_t>(options.keepLast.value_or(0) * kSecondNs)};
    made.m_recorder =
        std::make_unique<RunRecorder>(run, made.m_originNs, std::move(*writer), progress);
    made.m_recorder->addLabel(*label);
    return made;
}

void ProgramRecording::attach(launch::RunControl& run, const RecordOptions& options) {
    m_recorder->attach(run);
    const auto say = [progress = m_progress](const std::string& text) {
        progress->log("info", text);
    };
    const CaptureWish wish = run::captureWishOf(m_config);
    if (!options.control.empty()) attachControlInput(run, wish, say);
    attachControlSocket(run, m_config.output, wish, say);
    m_progress->programStarted(
        {m_config.output, {}, {}, 0, 0, 0, run::commandText(options.program)});
}

/// What became of the program, as rows.
void ProgramRecording::describe(const launch::ProgramOutcome& outcome) {
    // Without any rank, rank 0 stands for the program.
    m_facts.worldSize = std::max({outcome.ranks > 0 ? outcome.ranks : outcome.parts,
                                  static_cast<std::int32_t>(std::min<std::int64_t>(
                                      numberIn(outcome.facts, "world"), kMostRanks))});
    m_facts.parameters = numberIn(outcome.facts, "parameters");
    m_recorder->describe(m_facts);
    for (const ProcessFacts& process : outcome.processes) m_recorder->addProcess(process);
}

RunEnd ProgramRecording::conclude(const launch::ProgramOutcome& outcome) {
    if (outcome.notStarted) {
        RunEnd end = m_recorder->conclude({*outcome.notStarted, {}, {}, false, false});
        end.exitStatus = launch::kNotExecutable;
        return end;
    }
    describe(outcome);
    RunEnd end = m_recorder->conclude(outcome.run, runStatusOf(outcome.end));
    end.ranks = outcome.ranks;
    end.exitStatus = statusOf(outcome.end);
    end.processes = static_cast<std::int32_t>(outcome.processes.size());
    if (m_saysEnd && end.status == RunStatus::kFailed && end.message.empty())
        end.message = endText(outcome.end);
    return end;
}

}  // namespace shardscope::cli
