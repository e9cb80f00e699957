// For how long a thread was ready to run and had no core: others ran on those it may run on.
//
// Second field of /proc/thread-self/schedstat, "time spent waiting on a runqueue" in ns
// (Documentation/scheduler/sched-stats.rst). A thread that sleeps, or is stopped by a signal, is on
// no run queue and does not wait. One whose control group has used up its quota of processor time
// does, although nobody else need run; cpu.stat of the group says so (nr_throttled), not this.
#pragma once

#include "profiler/collectors/host/kernel_file.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace shardscope::collectors {

class CoreWait {
public:
    /// Of the thread that calls, whoever reads it later.
    explicit CoreWait(const char* path = "/proc/thread-self/schedstat") : m_file(path) {}

    /// ns since the thread began; under 1 us. Nothing where the kernel does not count it.
    [[nodiscard]] std::optional<std::int64_t> read() const;

private:
    KernelFile m_file;
};

/// What such a file says: ns on a core, ns of waiting, how often it ran. All are 0 where the kernel
/// does not count.
[[nodiscard]] std::optional<std::int64_t> coreWaitIn(std::string_view text);

}  // namespace shardscope::collectors
