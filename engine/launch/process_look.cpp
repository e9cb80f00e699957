#include "engine/launch/process_look.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>

namespace shardscope::launch {
namespace {

using run::ProcessHold;

std::string contentOf(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// As its group's freezer says, of either version: its state does not show it.
bool isFrozen(pid_t pid) {
    std::istringstream groups(contentOf(fmt::format("/proc/{}/cgroup", pid)));
    for (std::string line; std::getline(groups, line);) {
        const std::size_t path = line.find(":/");
        if (path == std::string::npos) continue;
        const std::string group = line.substr(path + 1);
        if (line.find(":freezer:") != std::string::npos &&
            contentOf("/sys/fs/cgroup/freezer" + group + "/freezer.state").starts_with("FR"))
            return true;
        for (const char* root : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"})
            if (line.starts_with("0::") &&
                contentOf(root + group + "/cgroup.events").find("frozen 1") != std::string::npos)
                return true;
    }
    return false;
}

ProcessHold holdOf(char state, pid_t pid) {
    switch (state) {
        case 'T':
            return ProcessHold::kStopped;
        case 't':
            return ProcessHold::kTraced;
        case 'Z':
        case 'X':
            return ProcessHold::kEnded;
        case 'D':
            return isFrozen(pid) ? ProcessHold::kFrozen : ProcessHold::kDisk;
        case 'S':
            return isFrozen(pid) ? ProcessHold::kFrozen : ProcessHold::kSleeping;
        default:
            return ProcessHold::kNone;
    }
}

}  // namespace

/// proc(5): the name in parentheses may hold anything, so fields count from the last ')'.
ProcessLook lookAt(pid_t pid) {
    constexpr int kFieldsBetween = 10;  // from state (3) to user time (14), both excluded
    const std::string text = pid > 0 ? contentOf(fmt::format("/proc/{}/stat", pid)) : "";
    const std::size_t name = text.rfind(')');
    if (name == std::string::npos) return {};
    std::istringstream fields(text.substr(name + 1));
    char state = 0;
    fields >> state;
    std::string skipped;
    for (int i = 0; i < kFieldsBetween; ++i) fields >> skipped;
    std::int64_t user = 0, system = 0;
    fields >> user >> system;
    const std::int64_t tickNs = 1'000'000'000 / ::sysconf(_SC_CLK_TCK);
    return {holdOf(state, pid), Duration{(user + system) * tickNs}};
}

bool isHeld(ProcessHold hold) {
    return hold == ProcessHold::kStopped || hold == ProcessHold::kTraced ||
           hold == ProcessHold::kFrozen;
}

std::string holdText(ProcessHold hold, std::int64_t pid) {
    switch (hold) {
        case ProcessHold::kNone:
            return fmt::format("its process {} runs", pid);
        case ProcessHold::kSleeping:
            return fmt::format("its process {} sleeps", pid);
        case ProcessHold::kDisk:
            return fmt::format(
                "its process {} waits in the kernel (state D), for a disk or a "
                "device",
                pid);
        case ProcessHold::kStopped:
            return fmt::format("its process {} is stopped by a signal", pid);
        case ProcessHold::kTraced:
            return fmt::format("its process {} is held by a debugger", pid);
        case ProcessHold::kFrozen:
            return fmt::format("its process {} is frozen with its cgroup", pid);
        case ProcessHold::kEnded:
            return fmt::format("its process {} has ended, which a debugger has yet to take note of",
                               pid);
    }
    return {};
}

}  // namespace shardscope::launch
