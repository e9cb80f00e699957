#include "profiler/collectors/host/process_usage.h"

#include "profiler/collectors/host/stolen_time.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <string_view>

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

bool isLastThread() {
    constexpr nlink_t kOfTwo = 4;  // the first thread is there until the process ends
    struct stat threads {};
    if (::stat("/proc/self/task", &threads) != 0 || threads.st_nlink != kOfTwo) return false;
    std::array<char, 512> room;
    const std::string_view facts = KernelFile("/proc/self/stat").read(room);
    const auto name = facts.rfind(')');
    return name != std::string_view::npos && facts.substr(name).starts_with(") Z");
}

}  // namespace shardscope::collectors
