#include "app/cli/doctor/doctor_checks.h"
#include "engine/launch/host_facts.h"
#include "storage/model/host_facts.h"
#include "storage/model/quantity_text.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

namespace shardscope::cli {
namespace {

namespace fs = std::filesystem;

/// What NCCL takes there for the ranks of a host, with a margin; containers often give 64 MiB.
constexpr std::int64_t kSharedMemory = std::int64_t{1} << 30;
/// A recorder and its agent need a few descriptors for each rank.
constexpr rlim_t kOpenFiles = 1024;

std::string firstLine(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

std::optional<std::int64_t> number(const std::string& text) {
    std::int64_t value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    if (parsed.ec != std::errc()) return std::nullopt;
    return value;
}

/// Of those that matter here, the ones this processor has.
std::vector<std::string> instructionSets(const std::string& root) {
    std::ifstream file(root + "/proc/cpuinfo");
    std::set<std::string> flags;
    for (std::string line; flags.empty() && std::getline(file, line);) {
        if (!line.starts_with("flags")) continue;
        std::istringstream words(line.substr(line.find(':') + 1));
        for (std::string word; words >> word;) flags.insert(word);
    }
    std::vector<std::string> found;
    for (const char* name : {"avx2", "fma", "avx512f", "avx512_bf16", "amx_bf16"})
        if (flags.contains(name)) found.emplace_back(name);
    return found;
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

Check systemCheck() {
    utsname names{};
    if (::uname(&names) != 0) return {"host.system", CheckStatus::kProblem, "unknown", ""};
    return {
        "host.system", CheckStatus::kOk,
        fmt::format("{}: {} {} {}", names.nodename, names.sysname, names.release, names.machine),
        ""};
}

Check processorCheck(const HostFacts& facts, const std::string& root) {
    const auto sets = instructionSets(root);
    const bool fast = std::find(sets.begin(), sets.end(), "fma") != sets.end();
    Check check{"host.processor", fast ? CheckStatus::kOk : CheckStatus::kNote,
                fmt::format("{}, {}", facts.cpu, sets.empty() ? "no AVX2" : joined(sets)), ""};
    if (const auto possible = launch::checkProcessor(); !possible) {
        check.status = CheckStatus::kProblem;
        check.remedy = possible.error().message;
        return check;
    }
    if (!fast) check.remedy = "expect slow steps: LibTorch's fast kernels need AVX2 and FMA";
    return check;
}

/// Affinity, and a container's quota.
Check coresCheck(const HostFacts& facts, const std::string& root) {
    Check check{"host.cores", CheckStatus::kOk, fmt::format("{} usable", facts.cores), ""};
    const auto quota = launch::processorQuota(root);
    if (!quota || *quota >= facts.cores) return check;
    check.status = CheckStatus::kNote;
    check.found += fmt::format(", and time of {:.1f} of them", *quota);
    check.remedy = "use no more ranks x threads than that, or raise the container's CPU quota";
    return check;
}

Check memoryCheck(const HostFacts& facts, const std::string& root) {
    Check check{"host.memory", CheckStatus::kOk, bytesText(facts.memory), ""};
    const auto limit = number(firstLine(root + "/sys/fs/cgroup/memory.max"));
    if (!limit || *limit >= facts.memory.count) return check;
    check.status = CheckStatus::kNote;
    check.found =
        fmt::format("{} of {}: the control group's limit", bytesText({*limit}), check.found);
    return check;
}

Check sharedMemoryCheck(const std::string& root) {
    struct statvfs facts {};
    if (::statvfs((root + "/dev/shm").c_str(), &facts) != 0) {
        return {"host.shared_memory", CheckStatus::kNote,
                "no /dev/shm, which NCCL exchanges data through",
                "mount -t tmpfs tmpfs /dev/shm, for GPU ranks"};
    }
    const auto size = static_cast<std::int64_t>(facts.f_blocks * facts.f_frsize);
    Check check{"host.shared_memory", CheckStatus::kOk, bytesText({size}) + " in /dev/shm", ""};
    if (size >= kSharedMemory) return check;
    check.status = CheckStatus::kNote;
    check.found += ", little for NCCL between GPU ranks";
    check.remedy = "mount -o remount,size=8G /dev/shm; docker run --shm-size=8g";
    return check;
}

Check openFilesCheck() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    const bool enough = limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= kOpenFiles;
    return {"host.open_files", enough ? CheckStatus::kOk : CheckStatus::kNote,
            limit.rlim_cur == RLIM_INFINITY ? "unlimited" : fmt::format("{}", limit.rlim_cur),
            enough ? "" : fmt::format("ulimit -n {}, for many ranks", kOpenFiles)};
}

}  // namespace

std::vector<Check> hostChecks(const std::string& root) {
    const HostFacts facts = launch::hostFacts();
    return {systemCheck(),           processorCheck(facts, root),
            coresCheck(facts, root), memoryCheck(facts, root),
            sharedMemoryCheck(root), openFilesCheck()};
}

std::string inPath(const std::string& program) {
    const char* path = std::getenv("PATH");
    std::istringstream folders(path != nullptr ? path : "");
    for (std::string folder; std::getline(folders, folder, ':');) {
        std::string file = folder;
        file.append("/").append(program);
        if (!folder.empty() && ::access(file.c_str(), X_OK) == 0) return file;
    }
    return {};
}

std::vector<Check> toolChecks(const std::string& folder) {
    Check ssh{"tools.ssh", CheckStatus::kOk, inPath("ssh"), ""};
    if (ssh.found.empty()) {
        ssh = {"tools.ssh", CheckStatus::kMissing, "no ssh in PATH, so no ranks on other hosts",
               "apt-get install openssh-client"};
    }
    Check desktop{"tools.desktop", CheckStatus::kOk, folder + "/shardscope-desktop", ""};
    if (::access(desktop.found.c_str(), X_OK) != 0) {
        desktop = {"tools.desktop", CheckStatus::kMissing,
                   "no shardscope-desktop in " + folder + ": it was not built",
                   "apt-get install qt6-base-dev qt6-svg-dev, configure and build again"};
    }
    return {ssh, desktop};
}

std::vector<std::string> pciGpus(const std::string& root) {
    std::vector<std::string> found;
    std::error_code error;
    for (const auto& device : fs::directory_iterator(root + "/sys/bus/pci/devices", error)) {
        const std::string folder = device.path().string();
        if (firstLine(folder + "/vendor") != "0x10de") continue;
        if (firstLine(folder + "/class").starts_with("0x03"))
            found.push_back("NVIDIA " + device.path().filename().string());
    }
    std::sort(found.begin(), found.end());
    return found;
}

int toolkitVersion(const std::string& nvcc) {
    constexpr std::string_view kDefine = "#define CUDART_VERSION";
    std::error_code error;
    const fs::path root = fs::canonical(nvcc, error).parent_path().parent_path();
    std::ifstream header(root / "include" / "cuda_runtime_api.h");
    for (std::string line; std::getline(header, line);) {
        if (line.starts_with(kDefine)) return std::atoi(line.c_str() + kDefine.size());
    }
    return 0;
}

}  // namespace shardscope::cli
