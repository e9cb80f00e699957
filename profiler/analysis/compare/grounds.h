// What a verdict on two runs can rest on: whether their times, and their memory, are of the same
// work done in the same way with cores of their own.
//
// Times: as recorded where neither run lacked cores for more than a few percent (cores_taken.h,
// CoreUse::takenOfSteps); by running time where both lacked them for less than kManyTaken; else,
// and where one lacked them and of the other it is unknown, on nothing. Running time of a step: of
// the rank that has most of it, wall time without waiting for the slowest rank, without waiting for
// a core and without what was stolen. It does not see what neighbours take of caches, memory and
// clocks, so that where much was taken it is not relied on either. Kernels that each run chose by
// itself when it started (storage/model/run_facts.h) and that differ: neither time nor memory is
// judged, since the choice, not the change, may be what is seen. Where the options asked for them
// the difference is what was to be compared.
#pragma once

#include "profiler/analysis/steps/cores_taken.h"
#include "storage/model/recording.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope::analysis {

/// Each rests on less than the one before it.
enum class TimeBasis : std::uint8_t { kAsRecorded, kRunning, kNone };

/// From here on running time is judged instead of wall time.
inline constexpr double kFewTaken = 0.03;

struct Grounds {
    TimeBasis time = TimeBasis::kAsRecorded;
    bool memory = true;      ///< can be judged
    std::string timeReason;  ///< of any basis but kAsRecorded: a phrase
    std::string memoryReason;
    std::vector<std::string> sentences;  ///< of facts that differ, and how to make runs alike
    /// Of another baseline: what both leave to rest on.
    Grounds& operator+=(const Grounds& other);
};

/// What two runs are called in sentences, where they do not begin one.
struct SideNames {
    std::string first = "the first run", second = "the second run";
};

struct RunMachine {
    const RecordingSummary* summary = nullptr;
    CoreUse cores;
};
[[nodiscard]] Grounds groundsOf(const RunMachine& first, const RunMachine& second,
                                const SideNames& names = {});

}  // namespace shardscope::analysis
