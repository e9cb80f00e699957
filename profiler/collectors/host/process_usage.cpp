#include "profiler/collectors/host/process_usage.h"

#include "profiler/collectors/host/stolen_time.h"

#include <unistd.h>

#include <array>
#include <ctime>

namespace shardscope::collectors {

ProcessUsage processUsage() {
    ProcessUsage usage;
    timespec cpu{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    usage.cpuTimeNs = std::int64_t{cpu.tv_sec} * 1'000'000'000 + cpu.tv_nsec;
    // proc(5): second field of statm is the resident set in pages.
    // Opened each time: a program may close what it does not know, and use the number again.
    std::array<char, 128> room;
    if (const auto pages = numbersIn<2>(KernelFile("/proc/self/statm").read(room)))
        usage.residentSet = {pages->back() * sysconf(_SC_PAGESIZE)};
    return usage;
}

}  // namespace shardscope::collectors
