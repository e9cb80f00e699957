// How a device's work was launched, how much of it lay in queue, and why the device was idle.
//
// Work (a kernel, a copy, a set) is joined with the call of the host that launched it by their
// correlation. Delay is from the end of the call to the start of the work, 0 where the work began
// before. Idle is what no work covers between the first start and the last end; each gap counts for
// what the work that ends it was waiting for. All in ns, exact.
//
// Definitions: HolisticTraceAnalysis, hta/analyzers/cuda_kernel_analysis.py (launch statistics),
// trace_counters.py (queue length), breakdown_analysis.py (idle), with its default thresholds. HTA
// calls its 30 nanoseconds but compares microseconds, which is what counts here. It differs from
// them in four ways: of work that overlaps on a stream the latest end counts, not the last one's;
// work that begins before its call, by errors of clocks, was never in queue instead of -1; and work
// whose launch is not recorded is said to be so, where HTA leaves it out. What a call launched as a
// graph counts as one launch, where HTA counts each kernel.
#pragma once

#include "storage/model/units.h"
#include "storage/model/words.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace shardscope::analysis {

inline constexpr Duration kShortGap{30'000};      ///< consecutive_kernel_delay
inline constexpr Duration kSlowCall{50'000};      ///< runtime_cutoff
inline constexpr Duration kLateLaunch{100'000};   ///< launch_delay_cutoff
inline constexpr std::int64_t kFullQueue = 1024;  ///< calls that launch block from there on

/// What a stream did.
struct StreamWork {
    TimeRange time;
    std::uint64_t correlation = 0;  ///< 0: joins with nothing
};
/// What a thread of the host asked for.
struct LaunchCall {
    TimeRange time;
    std::uint64_t correlation = 0;
    std::uint32_t name = 0;  ///< whatever the caller tells names by
};

struct LaunchedWork {
    TimeRange time;
    std::optional<LaunchCall> call;  ///< none: it is not recorded

    [[nodiscard]] Duration delay() const;  ///< of work with a call
};

/// Joins work with its calls, by start. A call may have launched much (a graph); of several calls
/// with a correlation, a runtime's and the driver's within it, the first counts.
[[nodiscard]] std::vector<LaunchedWork> joinLaunches(const std::vector<StreamWork>& work,
                                                     const std::vector<LaunchCall>& calls);

struct LaunchTotals {
    std::int64_t count = 0;
    Duration calls, work, delay;  ///< sums
    Duration medianDelay, longestDelay;
    std::int64_t shortWork = 0;   ///< shorter than its call, which is not a slow one
    std::int64_t slowCalls = 0;   ///< longer than kSlowCall
    std::int64_t lateStarts = 0;  ///< delayed by more than kLateLaunch
};
/// Of calls that launched something. What one launched (a graph) counts together: its delay is that
/// of what began first.
[[nodiscard]] LaunchTotals launchTotals(const std::vector<LaunchedWork>& work);

/// Launches of one stream whose work was asked for, less those it has begun with, over time.
struct QueueLength {
    std::int64_t launches = 0;
    std::int64_t longest = 0;
    Duration span;             ///< first call to last start
    Duration full;             ///< of it, with kFullQueue or more
    double lengthTimesNs = 0;  ///< integral

    [[nodiscard]] std::optional<double> mean() const;  ///< by time; none: it took none
};
[[nodiscard]] QueueLength queueLength(const std::vector<LaunchedWork>& work);

/// How much lay in queue from `time` on.
struct QueueSample {
    Timestamp time;
    std::int64_t length = 0;
    friend bool operator==(const QueueSample&, const QueueSample&) = default;
};
/// One a change, by time: what queueLength() sums up.
[[nodiscard]] std::vector<QueueSample> queueSamples(const std::vector<LaunchedWork>& work);

/// What an idle device or stream waited for.
enum class IdleCause : std::uint8_t { kHost, kKernel, kOther, kUnknown };
struct IdleWords {
    IdleCause value;
    const char* word;
    const char* key;
    const char* definition;
};
constexpr auto wordsOf(IdleCause) {
    return wordList<IdleWords>(
        {{IdleCause::kHost, "host wait", "host_wait_ns",
          "The next work was launched after the one before had ended."},
         {IdleCause::kKernel, "kernel wait", "kernel_wait_ns",
          "Else, gaps below 30 us: the device goes from one kernel to the next."},
         {IdleCause::kOther, "other", "other_ns",
          "Launched in time and yet late: waits for an event or another stream."},
         {IdleCause::kUnknown, "launch unknown", "unknown_ns",
          "Before work whose launch is not recorded."}});
}

struct IdleCauses {
    Duration span;  ///< first start to last end
    std::array<Duration, kPlaces<IdleCause>> by{};

    [[nodiscard]] Duration of(IdleCause cause) const { return by[static_cast<std::size_t>(cause)]; }
    [[nodiscard]] Duration idle() const;
};
/// Of one stream's work, or of all of a device's together: then of several that end a gap at once
/// the first launched counts.
[[nodiscard]] IdleCauses idleCauses(const std::vector<LaunchedWork>& work);

}  // namespace shardscope::analysis
