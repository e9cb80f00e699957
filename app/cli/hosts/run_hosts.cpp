#include "app/cli/hosts/run_hosts.h"

#include "app/cli/hosts/ssh_hosts.h"
#include "app/cli/options.h"
#include "app/cli/record/run_environment.h"
#include "engine/launch/host_facts.h"
#include "engine/launch/process.h"
#include "engine/run/config/host_list.h"
#include "engine/run/config/measurement_plan.h"
#include "engine/run/config/run_option.h"
#include "engine/run/theory/theory.h"
#include "storage/model/host_clock.h"
#include "storage/model/input_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

namespace shardscope::cli {
namespace {

constexpr const char* kRankProgram = "SHARDSCOPE_RANK_PROGRAM";
constexpr std::int64_t kMebibyte = 1 << 20;
/// The segment is sparse, so that what is not used costs nothing: weights, gradients and
/// staging of every rank many times over.
constexpr std::int64_t kSegmentBytesPerParameter = 64;

/// A measuring run has no model but payloads, of which a rank allocates the largest that it has
/// memory for.
std::int64_t sharedBytesOfRank(const run::RunConfig& config) {
    if (config.work == run::Work::kTraining)
        return kSegmentBytesPerParameter * theory::parameterCount(config.model);
    const auto plan = run::measurementPlan(config);
    return plan ? run::payloadOf(plan->sizes.back(), config.ranks).count : 0;
}

/// Of the memory that `ranks` ranks of one host share.
std::int64_t segmentBytes(const run::RunConfig& config, std::int32_t ranks) {
    return 64 * kMebibyte + ranks * (sharedBytesOfRank(config) + 64 * kMebibyte);
}

Result<launch::HostRun> here(bool launched) {
    launch::HostRun host;
    host.rankProgram = rankProgram();
    if (::access(host.rankProgram.c_str(), X_OK) != 0) {
        return failure(ErrorCode::kLaunch,
                       fmt::format("there is no training engine at {}; run "
                                   "packaging/fetch-libtorch, configure and build again",
                                   host.rankProgram));
    }
    if (auto possible = launch::checkProcessor(); !possible) return failure(possible);
    std::vector<std::string> words = {"agent", "--local"};
    if (launched) words.emplace_back("--launched");
    host.start = [words] { return launch::startLocalAgent(launch::ownProgram(), words); };
    return host;
}

/// As --data-root has it on other hosts; empty: the same path.
std::string dataBelowRoot(const run::HostConfig& host, const run::RunConfig& config) {
    const bool moved = !config.dataRoot.empty() && config.data != run::kSyntheticData;
    if (!moved || host.isLocal()) return {};
    return (std::filesystem::path(config.dataRoot) / std::filesystem::path(config.data).filename())
        .string();
}

/// Of memory, by theory; of ranks on GPUs it is not the host's, and what measures takes no more
/// than there is.
std::int64_t needBytes(const run::RunConfig& config, std::int32_t ranks) {
    if (config.device != run::Device::kCpu || config.work != run::Work::kTraining) return 0;
    return ranks * theory::total(theory::memoryTheory(config)).count;
}

/// What the list of hosts says of it, the connection apart.
void apply(const run::HostConfig& wanted, const run::RunConfig& config, launch::HostRun& host) {
    if (!wanted.isLocal()) host.name = wanted.name;  // else its own
    host.interface = wanted.interface.empty() ? config.interface : wanted.interface;
    host.data = wanted.data.empty() ? dataBelowRoot(wanted, config) : wanted.data;
    if (!wanted.isLocal()) host.environment = passedEnvironment();
    if (!wanted.devices.empty())
        host.environment["CUDA_VISIBLE_DEVICES"] =
            fmt::format("{}", fmt::join(wanted.devices, ","));
    for (const auto& [name, value] : wanted.environment) host.environment[name] = value;
}

/// Those that have ranks.
std::vector<run::HostConfig> usedHosts(const run::RunConfig& config,
                                       const run::RankPlaces& places) {
    std::vector<run::HostConfig> hosts = run::hostsOf(config);
    hosts.resize(static_cast<std::size_t>(places.hosts()));
    return hosts;
}

Result<std::vector<launch::HostRun>> hostRuns(const run::RunConfig& config,
                                              const run::RankPlaces& places,
                                              SignalRequests& signals, RunProgress& progress) {
    const std::vector<run::HostConfig> wanted = usedHosts(config, places);
    auto agents = connectAgents(wanted, config, signals, progress);
    if (!agents) return failure(agents);
    std::vector<launch::HostRun> hosts;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        auto host = wanted[i].isLocal() ? here(false) : launch::HostRun{};
        if (!host) return failure(host);
        if (!wanted[i].isLocal()) host->start = std::move((*agents)[i].start);
        apply(wanted[i], config, *host);
        if (host->data.empty()) host->data = (*agents)[i].data;
        hosts.push_back(std::move(*host));
    }
    return hosts;
}

/// A host of tasks that a launcher has started; its agent has its task's environment.
Result<launch::HostRun> hostOfTasks(std::size_t number, const run::RunConfig& config,
                                    launch::TaskMeeting& tasks) {
    auto host = number == 0 ? here(true) : launch::HostRun{};
    if (!host) return host;
    host->name = tasks.hosts()[number].name;
    host->interface = config.interface;
    if (number == 0) {
        if (host->interface.empty()) host->interface = tasks.address();
        return host;
    }
    host->start = [&tasks, number]() -> Result<std::unique_ptr<launch::AgentTransport>> {
        return tasks.takeAgent(number);
    };
    return host;
}

Result<std::vector<launch::HostRun>> hostsOfTasks(const run::RunConfig& config,
                                                  launch::TaskMeeting& tasks,
                                                  SignalRequests& signals) {
    auto started = tasks.startAgents([&] { return !signals.askedToStop(); });
    if (!started) return failure(started);
    std::vector<launch::HostRun> hosts;
    for (std::size_t i = 0; i < tasks.hosts().size(); ++i) {
        auto host = hostOfTasks(i, config, tasks);
        if (!host) return failure(host);
        hosts.push_back(std::move(*host));
    }
    return hosts;
}

/// Ranks of a host share a model, and hosts have copies of it.
Result<void> settleGroups(run::RunConfig& config) {
    if (config.strategy != run::Strategy::kHsdp || config.shardRanks != 0) return {};
    const run::RankPlaces places = run::placesOf(config);
    if (!places.even())
        return failure(ErrorCode::kUsage,
                       "hosts have different numbers of ranks; say with --shard-ranks how many "
                       "share a model");
    config.shardRanks = places.ranksOf(0);
    return {};
}

}  // namespace

std::string rankProgram() {
    if (const char* named = std::getenv(kRankProgram)) return named;
    return (std::filesystem::path(launch::ownProgram()).parent_path() / "shardscope-rank").string();
}

void settleThreads(run::RunConfig& config) {
    if (config.threads == 0 && config.hosts.empty())
        config.threads = launch::threadsPerRank(config.ranks);
}

Result<launch::RunRequest> requestRun(const run::RunConfig& config, SignalRequests& signals,
                                      RunProgress& progress, launch::TaskMeeting* tasks) {
    launch::RunRequest request;
    request.launch.config = config;
    request.launch.places = run::placesOf(config);
    if (config.hosts.empty() && tasks == nullptr) {
        auto host = here(false);
        if (!host) return failure(host);
        request.hosts.push_back(std::move(*host));
    } else {
        auto hosts = tasks != nullptr ? hostsOfTasks(config, *tasks, signals)
                                      : hostRuns(config, request.launch.places, signals, progress);
        if (!hosts) return failure(hosts);
        request.hosts = std::move(*hosts);
    }
    for (std::size_t i = 0; i < request.hosts.size(); ++i) {
        const std::int32_t ranks = request.launch.places.perHost[i];
        request.hosts[i].segmentBytes = segmentBytes(config, ranks);
        request.hosts[i].needBytes = needBytes(config, ranks);
    }
    request.lease = std::chrono::seconds(config.hostLease);
    request.launch.originNs = hostNow();
    return request;
}

Result<std::string> hostText(const std::string& fileOrList) {
    std::error_code ignored;
    const bool file =
        run::isHostFile(fileOrList) ||
        (!fileOrList.empty() && std::filesystem::is_regular_file(fileOrList, ignored));
    if (!file) return fileOrList;
    auto text = readInput(fileOrList);  // an empty file is one too
    if (!text)
        return failure(text.error().code,
                       fmt::format("the host file {}; check its name", text.error().message));
    return text;
}

Result<void> checkHostFile(const run::RunConfig& config, const run::MayRun& mayRun,
                           const std::string& place, std::string_view source) {
    if (mayRun("hosts")) return {};  // a pipe could not be read again
    auto text = hostText(config.hosts);
    if (!text) return failure(text);
    run::RunConfig read;
    read.hosts = std::move(*text);
    const bool file = read.hosts != config.hosts;
    return run::checkCommands(
        read, mayRun, file ? fmt::format("{}: its host file {}", place, config.hosts) : place,
        source);
}

void HostFlags::addTo(CLI::App& app) {
    const char* group = toWord(run::OptionSection::kHosts);
    addOption(app, "--include", m_include,
              "of --hosts only these, and only these slots of them: a@b:0,2")
        .takes("HOSTS")
        .under(group);
    addOption(app, "--exclude", m_exclude, "of --hosts all but these, or these slots: a@b:1")
        .takes("HOSTS")
        .under(group);
}

Result<void> HostFlags::choose(run::RunConfig& config) const {
    auto text = hostText(config.hosts);
    if (!text) return failure(text);
    auto hosts = run::parseHosts(*text);
    if (!hosts) return failure(hosts, "--hosts");
    if (hosts->empty() && !config.hosts.empty())
        return failure(ErrorCode::kUsage, fmt::format("--hosts {}: names no host", config.hosts));
    if (!m_include.empty()) {
        hosts = run::included(*hosts, m_include);
        if (!hosts) return failure(hosts, "--include");
    }
    if (!m_exclude.empty()) {
        hosts = run::excluded(*hosts, m_exclude);
        if (!hosts) return failure(hosts, "--exclude");
    }
    config.hosts = run::toText(*hosts);
    return {};
}

Result<void> HostFlags::settle(run::RunConfig& config, bool ranksGiven) const {
    if (config.hosts.empty() && !(m_include.empty() && m_exclude.empty()))
        return failure(ErrorCode::kUsage, "--include and --exclude choose among --hosts; add them");
    if (!config.hosts.empty()) {
        if (auto chosen = choose(config); !chosen) return chosen;
        if (!ranksGiven) config.ranks = run::slotsOf(run::hostsOf(config));
    }
    return settleGroups(config);
}

}  // namespace shardscope::cli
