#include "engine/launch/host_facts.h"

#include "storage/model/host_facts.h"
#include "storage/model/plain_text.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>
#include <vector>

namespace shardscope::launch {
namespace {

std::string firstLine(const char* path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

std::string processorName() {
    std::ifstream file("/proc/cpuinfo");
    std::string line;
    while (std::getline(file, line)) {
        if (!line.starts_with("model name")) continue;
        const auto colon = line.find(": ");
        if (colon != std::string::npos) return line.substr(colon + 2);
    }
    utsname names{};
    return ::uname(&names) == 0 ? std::string(names.machine) : "unknown";
}

namespace fs = std::filesystem;

/// Numbers of the processors in the affinity mask; empty when there is no telling (machines with
/// more of them than the mask holds).
std::vector<int> allowedProcessors() {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<int> allowed;
    if (::sched_getaffinity(0, sizeof set, &set) != 0) return allowed;
    for (int i = 0; i < CPU_SETSIZE; ++i)
        if (CPU_ISSET(static_cast<unsigned>(i), &set)) allowed.push_back(i);
    return allowed;
}

std::string firstLine(const fs::path& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

/// "max 100000" or "200000 100000", microseconds of time in each period.
std::optional<double> quotaOfVersion2(const fs::path& group) {
    std::ifstream file(group / "cpu.max");
    double time = 0, period = 0;
    if (file >> time >> period && period > 0) return time / period;
    return std::nullopt;
}

/// -1: no limit.
std::optional<double> quotaOfVersion1(const fs::path& group) {
    std::ifstream timeFile(group / "cpu.cfs_quota_us"), periodFile(group / "cpu.cfs_period_us");
    double time = 0, period = 0;
    if (timeFile >> time && periodFile >> period && time > 0 && period > 0) return time / period;
    return std::nullopt;
}

/// Paths of this process in "0::/user.slice/session" and "4:cpu,cpuacct:/docker/1".
struct Groups {
    fs::path version1 = "/", version2 = "/";
};

Groups groupsOf(const std::string& root) {
    Groups groups;
    std::ifstream file(root + "/proc/self/cgroup");
    std::string number, controllers, path;
    while (std::getline(file, number, ':') && std::getline(file, controllers, ':') &&
           std::getline(file, path)) {
        if (controllers.empty()) groups.version2 = path;
        std::istringstream words(controllers);
        for (std::string word; std::getline(words, word, ',');)
            if (word == "cpu") groups.version1 = path;
    }
    return groups;
}

/// The smallest limit from `group` up to the mount's own. A container may not see its own path
/// below the mount: what is missing sets no limit.
template <class QuotaOf>
void tighten(std::optional<double>& quota, const fs::path& mount, fs::path group, QuotaOf quotaOf) {
    for (;; group = group.parent_path()) {
        if (const auto found = quotaOf(mount / group.relative_path()))
            quota = std::min(*found, quota.value_or(*found));
        if (!group.has_relative_path()) return;
    }
}

/// Empty where the kernel does not say.
std::string numaNodes(const std::string& root) {
    std::error_code error;
    int nodes = 0;
    for (const auto& entry : fs::directory_iterator(root + "/sys/devices/system/node", error)) {
        const std::string name = entry.path().filename().string();
        nodes += name.starts_with("node") && name.size() > 4 && name[4] >= '0' && name[4] <= '9';
    }
    return nodes > 0 ? std::to_string(nodes) : std::string();
}

}  // namespace

std::optional<Bytes> freeMemory() {
    std::ifstream file("/proc/meminfo");
    std::string key;
    for (std::int64_t kilobytes = 0; file >> key >> kilobytes; std::getline(file, key))
        if (key == "MemAvailable:") return Bytes{kilobytes * 1024};
    return std::nullopt;
}

HostFacts hostFacts() {
    HostFacts facts;
    utsname names{};
    facts.name = ::uname(&names) == 0 ? names.nodename : "unknown";
    facts.cpu = processorName();
    facts.cores = usableCores();
    facts.memory = Bytes{static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) *
                         static_cast<std::int64_t>(::sysconf(_SC_PAGESIZE))};
    facts.bootId = firstLine("/proc/sys/kernel/random/boot_id");
    return facts;
}

/// Hypervisors show themselves in CPUID; empty: the processor's flags say nothing of it.
std::string hardwareOf(const std::string& root) {
    std::ifstream cpus(root + "/proc/cpuinfo");
    std::string line;
    while (std::getline(cpus, line))
        if (line.starts_with("flags"))
            return (line + ' ').find(" hypervisor ") != std::string::npos ? kVirtualHardware
                                                                          : "physical";
    return {};
}

std::vector<FactRow> hostFactRows(const std::string& root) {
    std::vector<FactRow> rows;
    const auto add = [&rows](Fact fact, std::string value) {
        if (!value.empty()) rows.push_back({toWord(fact), 0, -1, std::move(value)});
    };
    utsname names{};
    if (::uname(&names) == 0)
        add(Fact::kKernel, fmt::format("{} {}", names.sysname, names.release));
    add(Fact::kOnlineCores, std::to_string(::sysconf(_SC_NPROCESSORS_ONLN)));
    const auto quota = processorQuota(root);
    add(Fact::kQuota, quota ? fmt::format("{:g} cores", *quota) : "none");
    const std::string governor =
        firstLine(fs::path(root + "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
    add(Fact::kGovernor, governor.empty() ? "unknown" : printableLine(governor));
    add(Fact::kNumaNodes, numaNodes(root));
    add(Fact::kHardware, hardwareOf(root));
    const std::string load = firstLine(fs::path(root + "/proc/loadavg"));
    add(Fact::kLoad, load.substr(0, load.find(' ')));
    return rows;
}

Result<void> checkProcessor() {
#ifdef __x86_64__
    std::string missing;
    const auto need = [&](bool there, const char* name) {
        if (!there) missing += (missing.empty() ? "" : ", ") + std::string(name);
    };
    need(__builtin_cpu_supports("ssse3"), "SSSE3");
    need(__builtin_cpu_supports("sse4.2"), "SSE4.2");
    need(__builtin_cpu_supports("popcnt"), "POPCNT");
    if (missing.empty()) return {};
    return failure(ErrorCode::kLaunch,
                   fmt::format("this processor lacks {}, which LibTorch is compiled for (the level "
                               "x86-64-v2); train on another machine. Recordings can be read, "
                               "imported and exported here",
                               missing));
#else
    return {};
#endif
}

int usableCores() {
    const std::size_t allowed = allowedProcessors().size();
    if (allowed > 0) return static_cast<int>(allowed);
    return static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

int usablePhysicalCores(const std::string& root) {
    std::set<std::string> cores;
    for (const int processor : allowedProcessors()) {
        const std::string number = std::to_string(processor);
        std::string core =
            firstLine(root + "/sys/devices/system/cpu/cpu" + number + "/topology/core_cpus_list");
        if (core.empty())  // kernels before 5.3
            core = firstLine(root + "/sys/devices/system/cpu/cpu" + number +
                             "/topology/thread_siblings_list");
        cores.insert(core.empty() ? "processor " + number : core);
    }
    return cores.empty() ? usableCores() : static_cast<int>(cores.size());
}

std::optional<double> processorQuota(const std::string& root) {
    const Groups groups = groupsOf(root);
    std::optional<double> quota;
    tighten(quota, root + "/sys/fs/cgroup", groups.version2, quotaOfVersion2);
    tighten(quota, root + "/sys/fs/cgroup/cpu", groups.version1, quotaOfVersion1);
    return quota;
}

int threadsPerRank(int ranks, const std::string& root) {
    double cores = usablePhysicalCores(root);
    if (const auto quota = processorQuota(root)) cores = std::min(cores, *quota);
    return std::max(1, static_cast<int>(cores / std::max(ranks, 1)));
}

}  // namespace shardscope::launch
