// Processor time of all cores of this machine together: what all programs used, and what the
// hypervisor gave to other machines while this one wanted it. None is stolen on a machine that is
// no guest.
//
// Fields of the line "cpu" of /proc/stat (proc(5)), in clock ticks, of 10 ms as a rule: "steal",
// and of use "user", "nice", "system", "irq" and "softirq" (guests are part of "user"). The kernel
// prints a line a core and more whenever the file is read, however little of it is taken: with 4
// cores 8 us. It is read at most every tick and so rarely that reading takes at most a thousandth
// of the time.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>

namespace shardscope::collectors {

/// A small file of the kernel, held open and read again and again. Internal to collectors/host.
class KernelFile {
public:
    explicit KernelFile(const char* path);
    ~KernelFile();
    KernelFile(const KernelFile&) = delete;
    KernelFile& operator=(const KernelFile&) = delete;

    /// Its beginning as it is now, as far as it has room; empty where there is no such file.
    [[nodiscard]] std::string_view read(std::span<char> room) const;

private:
    int m_descriptor;
};

// Whole numbers of a line of /proc. Internal to collectors/host.

/// The first `kCount`, with blanks between them; nothing where there are fewer.
template <std::size_t kCount>
[[nodiscard]] std::optional<std::array<std::int64_t, kCount>> numbersIn(std::string_view line) {
    std::array<std::int64_t, kCount> numbers{};
    for (std::int64_t& number : numbers) {
        const std::size_t begin = line.find_first_not_of(' ');
        if (begin == std::string_view::npos) return std::nullopt;
        line.remove_prefix(begin);
        const auto read = std::from_chars(line.data(), line.data() + line.size(), number);
        if (read.ec != std::errc{}) return std::nullopt;
        line.remove_prefix(static_cast<std::size_t>(read.ptr - line.data()));
    }
    return numbers;
}

struct CoreTimes {
    std::int64_t used = 0, stolen = 0;  ///< in ticks or ns
};

class HostCores {
public:
    explicit HostCores(const char* path = "/proc/stat");

    /// ns since the last call that read it; 0 where it is too early to read it again, and of the
    /// first call. Nothing where the kernel does not tell. `nowNs`: of any clock that goes on.
    std::optional<CoreTimes> take(std::int64_t nowNs);
    /// What went on since the last reading is not asked for; but where the last take() came too
    /// early, what it left is still to be reported, and this does nothing.
    void skip(std::int64_t nowNs);

private:
    [[nodiscard]] std::optional<CoreTimes> read();

    KernelFile m_file;
    std::int64_t m_tickNs;
    std::int64_t m_costNs;  ///< least that reading took
    std::optional<CoreTimes> m_last;
    std::int64_t m_nextNs = 0;
    bool m_left = false;  ///< the last take() came too early
};

/// Ticks in the first line of such a file.
[[nodiscard]] std::optional<CoreTimes> coreTicksIn(std::string_view text);

/// For how long a thread was ready to run and had no core: others ran on those it may run on.
///
/// Second field of /proc/thread-self/schedstat, "time spent waiting on a runqueue" in ns
/// (Documentation/scheduler/sched-stats.rst). A thread that sleeps, or is stopped by a signal, is
/// on no run queue and does not wait. One whose control group has used up its quota of processor
/// time does, even with no other thread to run; cpu.stat of the group says so (nr_throttled), not
/// this.
class CoreWait {
public:
    /// Of the calling thread; another thread may read it later.
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
