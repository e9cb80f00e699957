#include "engine/launch/tasks/task_environment.h"

#include <fmt/format.h>

#include <charconv>

namespace shardscope::launch {
namespace {

constexpr std::int32_t kUsualPort = 29500;
constexpr std::int32_t kLastPort = 65535;
/// Ports of Slurm jobs that name none, by their number; below those that systems give away.
constexpr std::int32_t kFirstJobPort = 20000;
constexpr std::int64_t kJobPorts = 10000;
constexpr std::int64_t kStepsOfAJob = 16;

tl::unexpected<Error> complain(std::string text) {
    return failure(ErrorCode::kUsage,
                   std::move(text) + "; or say with --launched-by none that this is not a task");
}

/// The variables, with complaints that name them.
class Reader {
public:
    explicit Reader(const Variables& variables) : m_variables(variables) {}

    [[nodiscard]] bool has(const char* name) const { return !text(name).empty(); }
    [[nodiscard]] std::string text(const char* name) const {
        const auto at = m_variables.find(name);
        return at == m_variables.end() ? std::string() : at->second;
    }
    /// -1 when it is not set.
    Result<std::int32_t> number(const char* name) const {
        const std::string written = text(name);
        if (written.empty()) return -1;
        std::int32_t value = 0;
        const char* end = written.data() + written.size();
        const auto [last, error] = std::from_chars(written.data(), end, value);
        if (error != std::errc() || last != end || value < 0)
            return complain(fmt::format("{} is '{}', which is not a number", name, written));
        return value;
    }

private:
    const Variables& m_variables;
};

/// What one launcher calls things; nullptr: it does not tell.
struct Names {
    const char* rank;
    const char* size;
    const char* localRank;
    const char* localSize;
    const char* node;
};
constexpr Names kTorchNames{"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK"};
constexpr Names kMpirunNames{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                             "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", nullptr};
constexpr Names kSlurmNames{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr,
                            "SLURM_NODEID"};

const Names& namesOf(Launcher launcher) {
    if (launcher == Launcher::kMpirun) return kMpirunNames;
    return launcher == Launcher::kSlurm ? kSlurmNames : kTorchNames;
}

/// Rank and size, and what the tasks of the node are, as far as they are known.
struct Counts {
    std::int32_t rank = 0, size = 0;
    std::int32_t localSize = -1;
};

Result<Counts> countsOf(const Reader& read, Launcher launcher) {
    const Names& names = namesOf(launcher);
    for (const char* name : {names.rank, names.size})
        if (!read.has(name))
            return complain(
                fmt::format("{} sets {} for each task, and it is not there: start the "
                            "program with {}",
                            entryOf(launcher)->name, name, entryOf(launcher)->name));
    const auto rank = read.number(names.rank);
    if (!rank) return failure(rank);
    const auto size = read.number(names.size);
    if (!size) return failure(size);
    if (*rank >= *size)
        return complain(fmt::format("{} is {}, and with {} {} there are tasks 0 to {} only",
                                    names.rank, *rank, names.size, *size, *size - 1));
    Counts counts{*rank, *size, -1};
    if (names.localSize == nullptr) return counts;
    const auto localSize = read.number(names.localSize);
    if (!localSize) return failure(localSize);
    const auto localRank = read.number(names.localRank);
    if (!localRank) return failure(localRank);
    if (*localSize == 0 || *localSize > *size)
        return complain(fmt::format("{} is {}, and {} is {}: they contradict each other",
                                    names.localSize, *localSize, names.size, *size));
    if (*localSize > 0 && *localRank >= *localSize)
        return complain(fmt::format("{} is {}, and {} is {}: they contradict each other",
                                    names.localRank, *localRank, names.localSize, *localSize));
    counts.localSize = *localSize;
    return counts;
}

Result<std::int32_t> portOr(const Reader& read, std::int32_t usual) {
    const auto port = read.number("MASTER_PORT");
    if (!port) return failure(port);
    if (*port == 0 || *port > kLastPort)
        return complain(fmt::format("MASTER_PORT is {}, and ports are 1 to {}", *port, kLastPort));
    return *port < 0 ? usual : *port;
}

/// Not by how many tasks there are: one that counts others is refused.
std::string identityOf(const Reader& read, std::initializer_list<const char*> names) {
    std::string identity;
    for (const char* name : names) identity += read.text(name) + ' ';
    return identity;
}

/// torchrun, and environments that are set as it sets them.
Result<TaskPlace> torchPlace(const Reader& read, Launcher launcher, const Counts& counts) {
    TaskPlace place{launcher, counts.rank, counts.size, {}, {}, 0, {}, {}};
    for (const char* name : {"MASTER_ADDR", "MASTER_PORT"})
        if (!read.has(name))
            return complain(
                fmt::format("RANK is {} of {}, but {} is not set, by which tasks meet "
                            "rank 0's: set MASTER_ADDR and MASTER_PORT alike for all",
                            counts.rank, counts.size, name));
    auto port = portOr(read, kUsualPort);
    if (!port) return failure(port);
    // torchrun's own store listens there; the next port is ours.
    if (read.text("TORCHELASTIC_USE_AGENT_STORE") == "True") ++*port;
    if (*port > kLastPort)
        return complain(
            "MASTER_PORT is the last one, and torchrun itself listens there: choose a "
            "lower one with --master-port");
    if (read.has("GROUP_RANK")) place.node = "group " + read.text("GROUP_RANK");
    place.identity = identityOf(read, {"TORCHELASTIC_RESTART_COUNT", "MASTER_PORT"});
    if (counts.localSize == counts.size) return place;
    place.address = read.text("MASTER_ADDR");
    place.port = *port;
    return place;
}

Result<TaskPlace> mpirunPlace(const Reader& read, const Counts& counts) {
    TaskPlace place{Launcher::kMpirun, counts.rank, counts.size, {}, {}, 0, {}, {}};
    place.identity = identityOf(read, {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "MASTER_PORT"});
    if (counts.localSize == counts.size) return place;
    if (!read.has("MASTER_ADDR"))
        return complain(
            "mpirun has started tasks on several hosts and tells them no address to "
            "meet at: add -x MASTER_ADDR=HOST, the host of rank 0 (and -x "
            "MASTER_PORT=29500 to choose the port)");
    auto port = portOr(read, kUsualPort);
    if (!port) return failure(port);
    place.address = read.text("MASTER_ADDR");
    place.port = *port;
    return place;
}

Result<TaskPlace> slurmPlace(const Reader& read, const Counts& counts) {
    TaskPlace place{Launcher::kSlurm, counts.rank, counts.size, {}, {}, 0, {}, {}};
    const auto job = read.number("SLURM_JOB_ID");
    if (!job) return failure(job);
    const auto step = read.number("SLURM_STEP_ID");
    if (!step) return failure(step);
    const auto nodes = read.number("SLURM_STEP_NUM_NODES");
    if (!nodes) return failure(nodes);
    const std::string hosts = read.text("SLURM_STEP_NODELIST");
    if (*job < 0 || *step < 0 || *nodes < 1 || (hosts.empty() && !read.has("MASTER_ADDR")))
        return complain(
            "srun sets SLURM_JOB_ID, SLURM_STEP_ID, SLURM_STEP_NUM_NODES and "
            "SLURM_STEP_NODELIST for each task, and not all are there: start the "
            "program with srun");
    if (read.has("SLURM_NODEID")) place.node = "node " + read.text("SLURM_NODEID");
    place.identity = identityOf(read, {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"});
    if (*nodes == 1) return place;
    const std::int64_t number = std::int64_t{*job} * kStepsOfAJob + *step;
    auto port = portOr(read, kFirstJobPort + static_cast<std::int32_t>(number % kJobPorts));
    if (!port) return failure(port);
    place.address = read.has("MASTER_ADDR") ? read.text("MASTER_ADDR") : firstOfNodeList(hosts);
    place.port = *port;
    return place;
}

/// torchrun's run id is the secret of several hosts where its user has chosen one and there is no
/// token; else it is merely what the run is called.
void nameRun(const Reader& read, TaskPlace& place) {
    constexpr const char* kDefaultRunId = "none";
    const std::string runId = read.text(kTorchrunId);
    place.secret = read.text(kTaskToken);
    if (place.launcher != Launcher::kTorchrun && place.launcher != Launcher::kEnvironment) return;
    const bool chosen = place.launcher == Launcher::kTorchrun && runId != kDefaultRunId;
    if (place.secret.empty() && chosen && !place.onOneHost())
        place.secret = runId;
    else
        place.identity = runId + ' ' + place.identity;
}

Result<std::optional<TaskPlace>> placeBy(const Reader& read, Launcher launcher) {
    const auto counts = countsOf(read, launcher);
    if (!counts) return failure(counts);
    auto place = launcher == Launcher::kMpirun  ? mpirunPlace(read, *counts)
                 : launcher == Launcher::kSlurm ? slurmPlace(read, *counts)
                                                : torchPlace(read, launcher, *counts);
    if (!place) return failure(place);
    nameRun(read, *place);
    return std::optional<TaskPlace>(std::move(*place));
}

/// More than one task was started by the launcher that sets these.
bool startedSeveral(const Reader& read, const Names& names) {
    const auto size = read.number(names.size);
    return read.has(names.rank) && size && *size > 1;
}

/// Wrappers copy one launcher's rank into the variables of another; anything else is an accident.
Result<void> checkAgree(const Reader& read, Launcher launcher) {
    const Names& names = namesOf(launcher);
    for (const auto& [mine, other] : {std::pair(names.rank, "RANK"), {names.size, "WORLD_SIZE"}})
        if (read.has(other) && read.text(mine) != read.text(other))
            return complain(fmt::format(
                "{} says {} {} and {} {}: they contradict each other; say which of them started "
                "this task with --launched-by {} or --launched-by environment",
                entryOf(launcher)->name, mine, read.text(mine), other, read.text(other),
                toWord(launcher)));
    return {};
}

}  // namespace

std::string firstOfNodeList(std::string_view list) {
    std::string first;
    for (std::size_t i = 0; i < list.size() && list[i] != ','; ++i) {
        if (list[i] != '[') {
            first += list[i];
            continue;
        }
        const std::size_t end = list.find_first_of("-,]", i + 1);
        const std::size_t close = list.find(']', i);
        if (end == list.npos || close == list.npos) return {};
        first += list.substr(i + 1, end - i - 1);
        i = close;
    }
    return first;
}

Result<std::optional<TaskPlace>> taskOf(const Variables& variables, std::optional<Launcher> by) {
    const Reader read(variables);
    if (by) return placeBy(read, *by);
    if (read.has(kTorchrunId) && startedSeveral(read, kTorchNames))
        return placeBy(read, Launcher::kTorchrun);
    for (const Launcher launcher : {Launcher::kMpirun, Launcher::kSlurm}) {
        if (!startedSeveral(read, namesOf(launcher))) continue;
        if (auto agree = checkAgree(read, launcher); !agree) return failure(agree);
        return placeBy(read, launcher);
    }
    if (startedSeveral(read, kTorchNames)) return placeBy(read, Launcher::kEnvironment);
    return std::optional<TaskPlace>();
}

}  // namespace shardscope::launch
