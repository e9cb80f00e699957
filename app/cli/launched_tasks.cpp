#include "app/cli/launched_tasks.h"

#include "app/cli/console.h"
#include "app/cli/version.h"
#include "engine/launch/tasks/task_member.h"
#include "engine/run/config/host_list.h"
#include "engine/run/config/run_option.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace shardscope::cli {
namespace {

constexpr const char* kNobody = "nobody";

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
                   "who started this program once for each rank, or node: torchrun, mpirun, slurm, "
                   "environment (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT), nobody [what its "
                   "variables say]")
        ->type_name("WHO")
        ->check(CLI::IsMember(words))
        ->group(toWord(run::OptionSection::kHosts));
}

Result<std::optional<launch::TaskPlace>> ownTask(const std::string& launchedBy) {
    const launch::Variables variables = ownVariables();
    if (launchedBy == kNobody) return std::optional<launch::TaskPlace>();
    return launch::taskOf(variables, fromWord<launch::Launcher>(launchedBy));
}

int serveTask(const launch::TaskPlace& task) {
    auto signals = SignalRequests::open();
    if (!signals) return complain(task, signals.error());
    const auto status = launch::serveAsTask(
        {task, productVersion(), [&] { return signals->timesAsked(); }, launch::kTaskPatience});
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

Result<void> LaunchedTasks::settle(run::RunConfig& config,
                                   std::optional<std::int32_t> ranks) const {
    std::int32_t tasks = 0;
    for (const launch::TaskHost& host : hosts) tasks += host.tasks;
    const bool onePerHost = tasks == static_cast<std::int32_t>(hosts.size());
    const std::int32_t wanted = ranks.value_or(tasks);
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
