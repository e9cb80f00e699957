#include "app/cli/console.h"
#include "app/cli/hosts/launched_tasks.h"
#include "app/cli/record/passed_signals.h"
#include "app/cli/record/program_parts.h"
#include "app/cli/record/program_peak.h"
#include "app/cli/record/program_recording.h"
#include "app/cli/record/record_modes.h"
#include "app/cli/record/run_progress.h"
#include "app/cli/record/run_recorder.h"
#include "engine/launch/agent_file.h"
#include "engine/launch/host_facts.h"
#include "engine/launch/process.h"
#include "engine/launch/program/program_environment.h"
#include "engine/launch/program/program_start.h"
#include "engine/launch/program/program_supervisor.h"
#include "storage/model/quantity_text.h"
#include "storage/model/shell_word.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace shardscope::cli {
namespace {

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
        if (!end.whole)
            return tellLine("The recording ends early; what could be written: shardscope info " +
                            typedWord(end.output));
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

Result<RunEnd> record(const run::RunConfig& config, const RecordOptions& options,
                      RunProgress& progress) {
    auto signals = PassedSignals::open();
    if (!signals) return failure(signals);
    auto folder = launch::makeUserFolder();
    if (!folder) return failure(folder);
    auto recording = ProgramRecording::open(config, options, progress);
    if (!recording) return failure(recording);
    RunRecorder& recorder = recording->recorder();
    const std::int64_t originNs = recording->originNs();
    HostFacts host = launch::hostFacts();
    host.clockOffsetNs = -originNs;
    recorder.hostReady(host);

    launch::ProgramRequest request;
    request.command = options.program;
    request.folder = *folder;
    request.originNs = originNs;
    if (options.stall) request.stall = static_cast<std::int64_t>(*options.stall * 1e9);
    request.detached = !options.control.empty();
    request.peak = programPeaks();
    request.figures = [&progress](const run::ProgramFigures& all) { progress.programFigures(all); };
    launch::ProgramSupervisor program(std::move(request), recorder);
    const auto prepared =
        program.prepare({"", run::captureWishOf(config), originNs, options.stepRange,
                         launch::injectionHome(), programVariables(options)});
    if (!prepared) return failure(prepared);
    recording->attach(program, options);
    signals->attach(program);
    return recording->conclude(program.run());
}

/// Where the program works; files that are named to us were found before.
Result<void> enterFolder(const std::string& folder) {
    if (folder.empty() || ::chdir(folder.c_str()) == 0) return {};
    return failure(ErrorCode::kUsage, fmt::format("--folder {}: {}; name another folder",
                                                  typedWord(folder), std::strerror(errno)));
}

RunEnd notStarted(const launch::StartObstacle& obstacle) {
    RunEnd end;
    end.status = RunStatus::kFailed;
    end.exitStatus = obstacle.status;
    end.message = obstacle.message;
    return end;
}

/// A task that does not get so far lets the others end.
Result<RunEnd> recordAsTask(const RecordOptions& options, const launch::TaskPlace& task,
                            RunProgress& progress) {
    auto config = programConfig(options);
    if (config)
        if (const auto entered = enterFolder(options.folder); !entered) config = failure(entered);
    if (config) return recordTaskOfProgram(*config, options, task, progress);
    if (task.isFirst())
        dismissTasks(task, options.interface(), exitStatus(config.error()),
                     launch::TaskWork::kProgram);
    return failure(config);
}

/// From the options to the end; what keeps the program from being started is an error.
Result<RunEnd> configureAndRecord(RecordOptions& options, RunProgress& progress) {
    if (options.flags().given("hosts")) return recordProgramOnHosts(options, progress);
    // A window's run is one by itself.
    const auto task =
        options.control.empty() ? programTask(options) : Result<std::optional<launch::TaskPlace>>();
    if (!task) return failure(task);
    if (*task) return recordAsTask(options, **task, progress);
    const auto config = programConfig(options);
    if (!config) return failure(config);
    if (const auto entered = enterFolder(options.folder); !entered) return failure(entered);
    if (const auto obstacle = launch::startObstacle(options.program.front()))
        return notStarted(*obstacle);
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
