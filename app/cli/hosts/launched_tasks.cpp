#include "app/cli/hosts/launched_tasks.h"

#include "app/cli/console.h"
#include "app/cli/hosts/run_hosts.h"
#include "app/cli/options.h"
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

constexpr const char* kNone = "none";
constexpr const char* kFormerNone = "nobody";
/// Tasks of a launcher are started within it; the user should not wait longer at the prompt.
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

run::TaskTerms termsOf(const Result<run::RunConfig>& own) {
    run::TaskTerms terms;
    terms.rankProgram = rankProgram();
    if (own)
        terms.config = *own;
    else
        terms.trouble = own.error().message;
    return terms;
}

/// Short secrets are worth a warning, not a refusal: a test run need not be safe.
void warnOfSecret(const launch::TaskPlace& task, RunProgress& progress) {
    if (task.onOneHost() || task.secret.empty() || task.secret.size() >= launch::kShortSecret)
        return;
    progress.log("warning",
                 fmt::format("the secret of this run's tasks has {} characters and may be guessed; "
                             "use one of {} or more, e.g. from openssl rand -hex 16",
                             task.secret.size(), launch::kShortSecret));
}

int complain(const launch::TaskPlace& task, const Error& error) {
    tellError(fmt::format("task {} of {}: {}", task.rank, task.size, error.message));
    return exitStatus(error);
}

}  // namespace

void TaskOptions::addTo(CLI::App& app) {
    const char* group = toWord(run::OptionSection::kHosts);
    std::vector<std::string> words = wordVector<launch::Launcher>();
    words.insert(words.end(), {kNone, kFormerNone});
    addOption(app, "--launched-by", launchedBy,
              "what started this process as one of several tasks that are one run: torchrun, "
              "mpirun, slurm; environment: a script or cluster that sets RANK, WORLD_SIZE, "
              "MASTER_ADDR and MASTER_PORT for each of them; none: it is a run by itself, "
              "whatever is set [by these launchers' variables]")
        .takes("WHO")
        .oneOf(words)
        .under(group);
    addOption(app, "--task-token-file", trust.tokenFile,
              "file of mode 600 with the secret by which the tasks of several hosts know each "
              "other; else the variable SHARDSCOPE_TASK_TOKEN, or torchrun's --rdzv-id")
        .takes("FILE")
        .checkedBy([](const std::string& name) {
            return name.empty() ? "names no file (an empty variable?)" : "";
        })
        .under(group);
    addFlag(app, "--trust-network", trust.trustNetwork,
            "let tasks of several hosts meet without a secret: any program on their network "
            "can take part; the recording says so")
        .under(group);
}

Result<std::optional<launch::TaskPlace>> ownTask(const TaskOptions& options) {
    const launch::Variables variables = ownVariables();
    if (options.launchedBy == kNone || options.launchedBy == kFormerNone)
        return std::optional<launch::TaskPlace>();
    auto task = launch::taskOf(variables, fromWord<launch::Launcher>(options.launchedBy));
    // Where torchrun's run id is the secret, ranks need not have it.
    const auto runId = variables.find(launch::kTorchrunId);
    if (task && *task && runId != variables.end() && (*task)->secret == runId->second)
        ::unsetenv(launch::kTorchrunId);
    if (task && *task)
        if (auto settled = launch::settleSecret(**task, options.trust); !settled)
            return failure(settled);
    return task;
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

int serveTask(const launch::TaskPlace& task, const std::function<Result<run::RunConfig>()>& own) {
    auto signals = SignalRequests::open();
    if (!signals) return complain(task, signals.error());
    launch::TaskService service{task, productVersion(), [&] { return signals->timesAsked(); },
                                launch::kTaskPatience, [&] { return termsOf(own()); }};
    service.say = [&](const std::string& text) {
        tellError(fmt::format("task {} of {}: {}", task.rank, task.size, text));
    };
    const auto status = launch::serveAsTask(service);
    return status ? *status : complain(task, status.error());
}

Diagnostic trustedNetworkNote() {
    return {Severity::kWarning,
            "trusted-network",
            "the tasks of this run's hosts proved no secret to each other (--trust-network): "
            "any program on their network could take part, or change what was recorded",
            fmt::format("Give all tasks a {}.", launch::kTaskToken),
            std::nullopt,
            Timestamp{0},
            1};
}

Result<launch::TaskMeeting> meetTasks(const launch::TaskPlace& task, const std::string& interface,
                                      const launch::TaskMeeting::GoOn& goOn, RunProgress& progress,
                                      launch::TaskWork work) {
    auto meeting = launch::TaskMeeting::open(task, productVersion(), interface, work);
    if (!meeting) return meeting;
    warnOfSecret(task, progress);
    const auto say = [&](const std::string& text) { progress.log("info", text); };
    auto gathered = meeting->gather(goOn, say);
    if (!gathered) {
        meeting->end(exitStatus(gathered.error()));
        return failure(gathered);
    }
    say(fmt::format("{} has started {} {} on {} {}: {}", entryOf(task.launcher)->name, task.size,
                    task.size == 1 ? "task" : "tasks", meeting->hosts().size(),
                    meeting->hosts().size() == 1 ? "host" : "hosts", listOf(meeting->hosts())));
    return meeting;
}

void dismissTasks(const launch::TaskPlace& task, const std::string& interface, int status,
                  launch::TaskWork work) {
    auto signals = SignalRequests::open();
    auto meeting = launch::TaskMeeting::open(task, productVersion(), interface, work);
    if (!signals || !meeting) return;
    // Tasks that do not come are not reported.
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
            fmt::format(
                "--ranks {} does not match the {} tasks that {} has started; leave it out, or "
                "start one task per host and give a multiple of them",
                wanted, tasks, entryOf(by)->name));
    if (wanted != tasks && !(onePerHost && wanted % tasks == 0))
        return failure(
            ErrorCode::kUsage,
            fmt::format(
                "--ranks {} does not match the {} tasks on {} {} that {} has started; leave it "
                "out, or start one task per host and give a multiple of them",
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
