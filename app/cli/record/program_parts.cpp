#include "app/cli/record/program_parts.h"

#include "app/cli/console.h"
#include "app/cli/hosts/launched_tasks.h"
#include "app/cli/hosts/ssh_hosts.h"
#include "app/cli/record/passed_signals.h"
#include "app/cli/record/program_peak.h"
#include "app/cli/record/program_recording.h"
#include "app/cli/record/record_modes.h"
#include "app/cli/record/run_environment.h"
#include "app/cli/record/run_requests.h"
#include "app/cli/version.h"
#include "engine/launch/agent_file.h"
#include "engine/launch/process.h"
#include "engine/launch/program/far_program.h"
#include "engine/launch/program/process_evidence.h"
#include "engine/launch/program/program_hosts.h"
#include "engine/launch/program/program_start.h"
#include "engine/launch/tasks/task_meeting.h"
#include "engine/launch/tasks/task_member.h"
#include "engine/run/config/host_list.h"
#include "storage/model/plain_text.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace shardscope::cli {
namespace {

run::ProgramLaunch launchOf(const run::RunConfig& config, const RecordOptions& options) {
    run::ProgramLaunch launch;
    launch.command = options.program;
    launch.environment = programVariables(options);
    launch.capture = run::captureWishOf(config);
    launch.stepRange = options.stepRange;
    return launch;
}

std::chrono::nanoseconds stallOf(const RecordOptions& options) {
    if (!options.stall) return std::chrono::nanoseconds(launch::ProgramRequest{}.stall);
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(*options.stall));
}

/// This process's part of the program.
Result<launch::FarPart> ownPart(const run::RunConfig& config, const RecordOptions& options,
                                PassedSignals& signals) {
    auto folder = launch::makeUserFolder();
    if (!folder) return failure(folder);
    launch::FarPart part;
    part.product = productVersion();
    part.folder = std::move(*folder);
    part.own = launchOf(config, options);
    part.peak = programPeaks();
    part.keepsLast = options.keepLast.has_value();
    part.goOn = [&signals] { return !signals.askedToStop(); };
    part.attach = [&signals](launch::ProgramSupervisor& program) { signals.attach(program); };
    return part;
}

/// Task 0's own program in a process of its own, so that its recorder has all of them alike.
class OwnTask final : public launch::AgentTransport {
public:
    OwnTask(pid_t pid, FileDescriptor socket) : m_pid(pid), m_channel(std::move(socket)) {}
    launch::FrameChannel takeChannel() override { return std::move(m_channel); }
    [[nodiscard]] bool isLocal() const override { return true; }
    std::string endText() override { return "its process ended"; }
    /// It ends with its program.
    void end() override {}
    [[nodiscard]] pid_t pid() const { return m_pid; }

private:
    pid_t m_pid;
    launch::FrameChannel m_channel;
};

/// As a shell's where there is no such program here.
int statusOfError(const Error& error, const RecordOptions& options) {
    const auto obstacle = launch::startObstacle(options.program.front());
    return obstacle ? obstacle->status : exitStatus(error);
}

/// In the child: the status to end with.
int runOwnTask(FileDescriptor socket, const run::RunConfig& config, const RecordOptions& options) {
    auto signals = PassedSignals::open();
    if (!signals) return exitStatus(signals.error());
    auto part = ownPart(config, options, *signals);
    if (!part) return exitStatus(part.error());
    part->near = true;
    launch::FarProgram program(launch::FrameChannel(std::move(socket)), std::move(*part));
    const auto end = program.run();
    return end ? statusOf(*end) : statusOfError(end.error(), options);
}

/// Before this process has any other thread.
Result<std::unique_ptr<OwnTask>> startOwnTask(const run::RunConfig& config,
                                              const RecordOptions& options) {
    auto sockets = launch::socketPair();
    if (!sockets) return failure(sockets);
    const pid_t pid = ::fork();
    if (pid < 0) return failure(ErrorCode::kLaunch, "no process can be started for the program");
    if (pid == 0) {
        sockets->first.reset();
        ::_exit(runOwnTask(std::move(sockets->second), config, options));
    }
    return std::make_unique<OwnTask>(pid, std::move(sockets->first));
}

int waitFor(pid_t pid) {
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// A task that is not the first: its program, recorded by the first one's process.
Result<RunEnd> serve(const run::RunConfig& config, const RecordOptions& options,
                     const launch::TaskPlace& task) {
    auto signals = PassedSignals::open();
    if (!signals) return failure(signals);
    int asked = 0;
    launch::TaskService service{task, productVersion(),
                                [&] { return asked += signals->askedToStop() ? 1 : 0; },
                                launch::kTaskPatience, [] { return run::TaskTerms{}; }};
    service.say = [&](const std::string& text) {
        tellError(fmt::format("task {} of {}: {}", task.rank, task.size, text));
    };
    service.program = [&](launch::FrameChannel recorder) -> Result<int> {
        auto part = ownPart(config, options, *signals);
        if (!part) return failure(part);
        launch::FarProgram program(std::move(recorder), std::move(*part));
        const auto end = program.run();
        if (end) return statusOf(*end);
        tellError(end.error().message);
        return statusOfError(end.error(), options);
    };
    const auto status = launch::serveAsTask(service);
    if (!status) return failure(status, fmt::format("task {} of {}", task.rank, task.size));
    RunEnd end;
    end.exitStatus = *status;
    return end;
}

std::vector<launch::HostRun> partsOf(std::unique_ptr<OwnTask> own, launch::TaskMeeting& meeting,
                                     std::int32_t tasks) {
    std::vector<launch::HostRun> parts(static_cast<std::size_t>(tasks));
    const auto first = std::make_shared<std::unique_ptr<OwnTask>>(std::move(own));
    parts.front().start = [first]() -> Result<std::unique_ptr<launch::AgentTransport>> {
        return std::unique_ptr<launch::AgentTransport>(std::move(*first));
    };
    for (std::size_t i = 1; i < parts.size(); ++i)
        parts[i].start = [&meeting, i]() -> Result<std::unique_ptr<launch::AgentTransport>> {
            return meeting.takeAgent(i);
        };
    return parts;
}

/// Signals of another process are the program's; each other task has heard of them by itself.
void passSignals(PassedSignals& signals, launch::RunControl& run, pid_t program) {
    signals.attach(run, [program](int number, bool fromTerminal) {
        if (!fromTerminal) ::kill(program, number);
    });
}

/// Task 0: meets the others, and records all.
Result<RunEnd> recordAll(const run::RunConfig& config, const RecordOptions& options,
                         const launch::TaskPlace& task, std::unique_ptr<OwnTask> own,
                         PassedSignals& signals, RunProgress& progress) {
    const auto goOn = [&signals] { return !signals.askedToStop(); };
    auto meeting = meetTasks(task, options.interface(), goOn, progress, launch::TaskWork::kProgram);
    if (!meeting) return failure(meeting);
    auto connected = meeting->startAgents(goOn);
    auto recording = connected ? ProgramRecording::open(config, options, progress)
                               : Result<ProgramRecording>(failure(connected));
    if (!recording) {
        own.reset();
        meeting->end(exitStatus(recording.error()));
        return failure(recording);
    }
    const pid_t program = own->pid();
    launch::ProgramHostsRequest request;
    request.launch.originNs = recording->originNs();
    request.parts = partsOf(std::move(own), *meeting, task.size);
    request.stall = stallOf(options);
    request.tasks = true;
    launch::ProgramHosts run(std::move(request), recording->recorder());
    recording->attach(run, options);
    if (meeting->trustsNetwork()) recording->recorder().addDiagnostic(trustedNetworkNote());
    passSignals(signals, run, program);
    RunEnd end = recording->conclude(run.run());
    meeting->end(end.exitStatus);
    return end;
}

/// An agent on each host, which starts the program there.
Result<std::vector<launch::HostRun>> partsOn(const std::vector<run::HostConfig>& hosts,
                                             const run::RunConfig& config, SignalRequests& signals,
                                             RunProgress& progress) {
    auto agents = connectAgents(hosts, config, signals, progress, AgentWork::kProgram);
    if (!agents) return failure(agents);
    std::vector<launch::HostRun> parts(hosts.size());
    for (std::size_t i = 0; i < hosts.size(); ++i) {
        parts[i].environment = passedEnvironment();
        for (const auto& [name, value] : hosts[i].environment) parts[i].environment[name] = value;
        parts[i].start = std::move((*agents)[i].start);
        if (!hosts[i].isLocal()) parts[i].name = hosts[i].name;
        if (hosts[i].isLocal())
            parts[i].start = [] {
                return launch::startLocalAgent(launch::ownProgram(), {"agent", "--local"});
            };
    }
    return parts;
}

/// torchrun would take the number of nodes from PET_NNODES, and wait for them on each host alone.
Result<void> checkIsNotAlone(const std::vector<run::HostConfig>& hosts,
                             const std::vector<std::string>& program) {
    const auto alone = std::find(program.begin(), program.end(), "--standalone");
    if (hosts.size() < 2 || alone == program.end()) return {};
    std::string before;
    for (auto word = program.begin(); word != alone; ++word) before += *word + " ";
    if (launch::roleByCommand("", before) != ProcessRole::kLauncher) return {};
    return failure(
        ErrorCode::kUsage,
        "--standalone starts ranks on one host only; leave it out, --hosts gives torchrun "
        "the number of hosts and where they meet");
}

}  // namespace

Result<std::optional<launch::TaskPlace>> programTask(RecordOptions& options) {
    const char* id = std::getenv(launch::kTorchrunId);
    const std::string kept = id == nullptr ? "" : id;
    auto task = ownTask(options.taskOptions);
    if (!kept.empty() && std::getenv(launch::kTorchrunId) == nullptr)
        options.environment.insert(options.environment.begin(),
                                   std::string(launch::kTorchrunId) + "=" + kept);
    return task;
}

Result<RunEnd> recordTaskOfProgram(const run::RunConfig& config, const RecordOptions& options,
                                   const launch::TaskPlace& task, RunProgress& progress) {
    std::signal(SIGPIPE, SIG_IGN);  // a recorder or task that is gone is an error of a write
    if (!task.isFirst()) return serve(config, options, task);
    auto own = startOwnTask(config, options);
    if (!own) return failure(own);
    const pid_t pid = (*own)->pid();
    auto signals = PassedSignals::open();
    if (!signals) return failure(signals);
    auto end = recordAll(config, options, task, std::move(*own), *signals, progress);
    const int status = waitFor(pid);
    if (end) end->exitStatus = status;
    return end;
}

Result<RunEnd> recordProgramOnHosts(RecordOptions& options, RunProgress& progress) {
    constexpr std::array<std::string_view, 2> kHostOptions = {"hosts", "ssh_command"};
    // A host that is gone is an error of a write; the program has its own disposition back.
    std::signal(SIGPIPE, SIG_IGN);
    auto config = programConfig(options, kHostOptions);
    if (!config) return failure(config);
    if (auto settled = options.settleHosts(*config); !settled) return failure(settled);
    auto signals = SignalRequests::open();
    if (!signals) return failure(signals);
    const auto hosts = run::hostsOf(*config);
    if (const auto checked = checkIsNotAlone(hosts, options.program); !checked)
        return failure(checked);
    auto parts = partsOn(hosts, *config, *signals, progress);
    if (!parts) return failure(parts);
    auto recording = ProgramRecording::open(*config, options, progress);
    if (!recording) return failure(recording);
    launch::ProgramHostsRequest request;
    request.launch = launchOf(*config, options);
    std::error_code ignored;
    request.launch.folder = options.folder.empty()
                                ? std::filesystem::current_path(ignored).string()
                                : std::filesystem::absolute(options.folder, ignored).string();
    request.launch.originNs = recording->originNs();
    request.parts = std::move(*parts);
    request.stall = stallOf(options);
    request.said = [](const std::string& host, const std::string& line) {
        static_cast<void>(print(printableLine(host + ": " + line) + "\n"));
    };
    launch::ProgramHosts run(std::move(request), recording->recorder());
    recording->attach(run, options);
    const auto say = [&progress](const std::string& text) { progress.log("warning", text); };
    signals->attach(run, say, [&run] { run.requestStop(); });
    return recording->conclude(run.run());
}

}  // namespace shardscope::cli
