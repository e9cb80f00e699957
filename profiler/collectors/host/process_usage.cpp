#include "profiler/collectors/host/process_usage.h"

#include <unistd.h>

#include <cstdio>
#include <ctime>

namespace shardscope::collectors {

ProcessUsage processUsage() {
    ProcessUsage usage;
    timespec cpu{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    usage.cpuTimeNs = std::int64_t{cpu.tv_sec} * 1'000'000'000 + cpu.tv_nsec;
    // proc(5): second field of statm is the resident set in pages.
    if (std::FILE* file = std::fopen("/proc/self/statm", "re")) {
        long total = 0;
        long resident = 0;
        if (std::fscanf(file, "%ld %ld", &total, &resident) == 2) {
            usage.residentSet = {resident * sysconf(_SC_PAGESIZE)};
        }
        std::fclose(file);
    }
    return usage;
}

}  // namespace shardscope::collectors
