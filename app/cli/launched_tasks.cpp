#include "app/cli/launched_tasks.h"

#include "app/cli/console.h"
#include "app/cli/version.h"
#include "engine/launch/tasks/task_member.h"
#include "engine/run/config/host_list.h"
#include "engine/run/config/run_option.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace shardscope::cli {
namespace {

constexpr const char* kNobody = "nobody";
/// Tasks of a launcher are started within it; nobody is to sit at a prompt for longer.
constexpr std::chrono::seconds kDismissPatience{10};

launch::Variables ownVariables() {
    launch::Variables variables;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        const std::size_t equals = text.find('=');
        if (equals != text.npos) variables.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    ::unsetenv(launch::kTaskToken);
    return variables;
}

std::string listOf(const std::vector<launch::TaskHost>& hosts) {
    std::string text;
    for (const launch::TaskHost& host : hosts)
        text += fmt::format("{}{}:{}", text.empty() ? "" : ", ", host.name, host.tasks);
    return text;
}

int complain(const launch::TaskPlace& task, const Error& error) {
    tellError(fmt::format("task {} of {}: {}", task.rank, task.size, error.message));
    return exitStatus(error);
}

}  // namespace

void addLaunchedBy(CLI::App& app, std::string& launchedBy) {
    std::vector<std::string> words = wordVector<launch::Launcher>();
    words.emplace_back(kNobody);
    app.add_option("--launched-by", launchedBy,
                   "what started this process as one of several tasks that are one run: torchrun, "
                   "mpirun, slurm; environment: a script or cluster that sets RANK, WORLD_SIZE, "
                   "MASTER_ADDR and MASTER_PORT for each of them; nobody: it is a run by itself, "
                   "whatever is set [told by these launchers' variables]")
        ->type_name("WHO")
        ->check(CLI::IsMember(words))
        ->group(toWord(run::OptionSection::kHosts));
}

Result<std::optional<launch::TaskPlace>> ownTask(const std::string& launchedBy) {
    const launch::Variables variables = ownVariables();
    if (launchedBy == kNobody) return std::optional<launch::TaskPlace>();
    return launch::taskOf(variables, fromWord<launch::Launcher>(launchedBy));
}

LaunchedTasks oneAHost(const launch::TaskPlace& task) {
    LaunchedTasks tasks{task.launcher, {}};
    for (std::int32_t rank = 0; rank < task.size; ++rank)
        tasks.hosts.push_back({fmt::format("host-{}", rank), 1, {}});
    return tasks;
}

LaunchedTasks onOneHost(const launch::TaskPlace& task) {
    return {task.launcher, {{"localhost", task.size, {}}}};
}

int serveTask(const launch::TaskPlace& task) {
    auto signals = SignalRequests::open();
    if (!signals) return complain(task, signals.error());
    const auto status = launch::serveAsTask(
        {task, productVersion(), [&] { return signals->timesAsked(); }, launch::kTaskPatience,
         [&](const std::string& text) {
             tellError(fmt::format("task {} of {}: {}", task.rank, task.size, text));
         }});
    return status ? *status : complain(task, status.error());
}

Result<launch::TaskMeeting> meetTasks(const launch::TaskPlace& task, const std::string& interface,
                                      SignalRequests& signals, RunProgress& progress) {
    auto meeting = launch::TaskMeeting::open(task, productVersion(), interface);
    if (!meeting) return meeting;
    const auto say = [&](const std::string& text) { progress.log("info", text); };
    auto gathered = meeting->gather([&] { return !signals.askedToStop(); }, say);
    if (!gathered) {
        meeting->end(exitStatus(gathered.error()));
        return failure(gathered);
    }
    say(fmt::format("{} has started {} {} on {} {}: {}", entryOf(task.launcher)->name, task.size,
                    task.size == 1 ? "task" : "tasks", meeting->hosts().size(),
                    meeting->hosts().size() == 1 ? "host" : "hosts", listOf(meeting->hosts())));
    return meeting;
}

void dismissTasks(const launch::TaskPlace& task, const std::string& interface, int status) {
    auto signals = SignalRequests::open();
    auto meeting = launch::TaskMeeting::open(task, productVersion(), interface);
    if (!signals || !meeting) return;
    // Who does not come is told by nobody.
    static_cast<void>(meeting->gather([&] { return !signals->askedToStop(); },
                                      [](const std::string&) {}, kDismissPatience));
    meeting->end(status);
}

Result<void> LaunchedTasks::settle(run::RunConfig& config,
                                   std::optional<std::int32_t> ranks) const {
    std::int32_t tasks = 0;
    for (const launch::TaskHost& host : hosts) tasks += host.tasks;
    const bool onePerHost = tasks == static_cast<std::int32_t>(hosts.size());
    const std::int32_t wanted = ranks.value_or(tasks);
    if (wanted % tasks != 0)
        return failure(
            ErrorCode::kUsage,
            fmt::format("--ranks {} does not go with the {} tasks that {} has started; leave it "
                        "out, or start one task a host and give a multiple of them",
                        wanted, tasks, entryOf(by)->name));
    if (wanted != tasks && !(onePerHost && wanted % tasks == 0))
        return failure(
            ErrorCode::kUsage,
            fmt::format("--ranks {} does not go with the {} tasks on {} {} that {} has started; "
                        "leave it out, or start one task a host and give a multiple of them",
                        wanted, tasks, hosts.size(), hosts.size() == 1 ? "host" : "hosts",
                        entryOf(by)->name));
    config.ranks = wanted;
    std::vector<run::HostConfig> list;
    for (const launch::TaskHost& host : hosts) {
        run::HostConfig each;
        each.name = host.name;
        each.slots = host.tasks * (wanted / tasks);
        list.push_back(std::move(each));
    }
    config.hosts = list.size() == 1 ? "" : run::toText(list);
    return {};
}

}  // namespace shardscope::cli
