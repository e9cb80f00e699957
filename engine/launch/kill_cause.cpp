#include "engine/launch/kill_cause.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>

namespace shardscope::launch {
namespace {

/// Of all processes of the system, those of memory cgroups included; -1: it does not say.
std::int64_t processesEndedForMemory() {
    std::ifstream file("/proc/vmstat");
    std::string name;
    std::int64_t count = 0;
    while (file >> name >> count)
        if (name == "oom_kill") return count;
    return -1;
}

/// The kernel ends a process at the hard limit, and warns it (SIGXCPU) at the soft one.
bool usedItsTime(double seconds) {
    rlimit limit{};
    return ::getrlimit(RLIMIT_CPU, &limit) == 0 && limit.rlim_max != RLIM_INFINITY &&
           seconds + 1 >= static_cast<double>(limit.rlim_max);
}

}  // namespace

KillCauses::KillCauses() : m_before(processesEndedForMemory()) {}

std::string KillCauses::of(const ProcessEnd& end) const {
    if (end.signal == SIGXCPU || (end.signal == SIGKILL && usedItsTime(end.processorSeconds)))
        return "it used up the processor time it may have (ulimit -t)";
    if (end.signal == SIGXFSZ) return "a file of it reached the largest size (ulimit -f)";
    if (end.signal != SIGKILL) return {};
    if (m_before >= 0 && processesEndedForMemory() > m_before)
        return "memory ran out: the system ended a process for lack of it meanwhile; lower --batch "
               "or use fewer ranks, or give the run more memory";
    return "another process sent it";
}

}  // namespace shardscope::launch
