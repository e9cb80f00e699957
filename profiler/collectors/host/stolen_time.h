// Processor time that the hypervisor gave to other machines while this one wanted it: of all its
// cores together. None is counted on a machine that is no guest.
//
// Field "steal" of the line "cpu" of /proc/stat (proc(5)), in clock ticks, of 10 ms as a rule. The
// kernel prints a line a core and more whenever the file is read, however little of it is taken:
// with 4 cores 8 us. It is read at most every tick and so rarely that reading takes at most a
// thousandth of the time.
#pragma once

#include "profiler/collectors/host/kernel_file.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace shardscope::collectors {

class StolenTime {
public:
    explicit StolenTime(const char* path = "/proc/stat");

    /// ns since the last call that read it; 0 where it is too early to read it again, and of the
    /// first call. Nothing where the kernel does not tell. `nowNs`: of any clock that goes on.
    std::optional<std::int64_t> take(std::int64_t nowNs);

private:
    [[nodiscard]] std::optional<std::int64_t> read();

    KernelFile m_file;
    std::int64_t m_tickNs;
    std::int64_t m_costNs;  ///< least that reading took
    std::optional<std::int64_t> m_last;
    std::int64_t m_nextNs = 0;
};

/// Ticks in the first line of such a file.
[[nodiscard]] std::optional<std::int64_t> stolenTicksIn(std::string_view text);

}  // namespace shardscope::collectors
