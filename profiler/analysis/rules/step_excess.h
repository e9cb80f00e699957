// What some steps take more than the others of the run, by rank and by kind of time; and which kind
// is the reason. Internal to profiler/analysis.
//
// Excess of a kind: what a rank's steps have of it more than the median of the rank's other steps,
// summed over the steps. A kind is the reason where it makes up for half of what the rank's own
// time grew: its wall time without waiting for the slowest rank. What the machine took comes first,
// then time in which the rank was at work and used no processor.
#pragma once

#include "profiler/analysis/report/report.h"
#include "profiler/analysis/rules/rule.h"
#include "profiler/analysis/steps/ledger.h"
#include "storage/model/recording.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace shardscope::analysis {

enum class TimeKind : std::uint8_t {
    kInput,
    kCompute,
    kHost,
    kCommunication,  ///< blocked while data moved
    kTaken,          ///< without a core, or stolen
    kAway,           ///< at work, without using a processor, and not waiting for one
    kWaiting,        ///< for the slowest rank
    kWall,
};
inline constexpr std::size_t kTimeKinds = 8;

struct StepTimes {
    std::array<double, kTimeKinds> ns{};
    [[nodiscard]] double of(TimeKind kind) const { return ns[static_cast<std::size_t>(kind)]; }
    [[nodiscard]] double own() const { return of(TimeKind::kWall) - of(TimeKind::kWaiting); }
    StepTimes& operator+=(const StepTimes& other);
};

/// By rank, of those that have rows in the steps and outside of them.
using Excess = std::map<RankId, StepTimes>;
[[nodiscard]] Excess excessOf(const RuleInput& input, const std::set<StepIndex>& steps);
[[nodiscard]] StepTimes sumOf(const Excess& excess);

/// Why a rank, or all of them together, took longer. kUnknown: no kind makes up for half of it.
[[nodiscard]] SlowReason reasonOf(const StepTimes& excess);
/// Whether all ranks compute longer by about as much, in a run of this engine, whose steps do the
/// same work: so it is the machine (clocks, or neighbours on its caches and memory).
[[nodiscard]] bool isOfTheMachine(const RecordingSummary& summary, const Excess& excess);

/// The rank whose lateness made the steps long: which the others waited for for most of what they
/// took longer. None: all of them took longer by themselves, or another one each time.
[[nodiscard]] std::optional<RankId> culpritOf(const RuleInput& input, const Excess& excess,
                                              const std::set<StepIndex>& steps);

}  // namespace shardscope::analysis
