// What a colour means. One meaning, one colour, on every page (widgets/theme.h has the colours).
#pragma once

#include "profiler/analysis/report/report.h"
#include "storage/model/events.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace shardscope::desktop {

enum class Meaning : std::uint8_t {
    kNone = 0,
    kCompute,
    kGather,           ///< all-gather, gathered parameters
    kReduction,        ///< reduce-scatter, full gradients
    kOtherCollective,  ///< all-reduce, broadcast, barrier, communication buffers
    kCopy,             ///< copies, input data
    kOptimizer,
    kActivation,
    kHost,           ///< host, runtime, other
    kGradientShard,  ///< reduced gradients: a darker shade of kReduction
    kEvaluation,     ///< a lighter shade of kCompute
    kIdle,
    kOutside,     ///< device memory that is not ours to manage
    kWaitGather,  ///< hatched variants: waiting for a peer
    kWaitReduction,
    kWaitOther,
    kWaiting,  ///< waiting, whatever the collective
    kTheory,
    kReserved,      ///< a line: what an allocator holds, used or not
    kAllReduce,     ///< its own name, the colour of kOtherCollective
    kDeviceCopy,    ///< a device's copies: a darker shade of kCopy
    kIdleLaunched,  ///< hatched kIdle: launched work has not begun
    kNoCore,        ///< hatched kCompute: ready to run, without a core
    kStolen,        ///< the same, lighter: the hypervisor had it
    kCheckpoint,
    kProfiler,
};

inline constexpr std::size_t kMeanings = static_cast<std::size_t>(Meaning::kProfiler) + 1;

[[nodiscard]] Meaning meaningOf(analysis::LedgerPart part);
[[nodiscard]] Meaning meaningOf(MemoryCategory category);
[[nodiscard]] Meaning meaningOf(CollectiveOp operation);
/// Colour of a phase on the compute or step lane.
[[nodiscard]] Meaning meaningOf(Phase phase);

/// Categories from the bottom of the stack to its top: what stays first. Memory outside the
/// allocator lies on top, so that theory and reserve meet the stack where they speak of it.
[[nodiscard]] const std::vector<MemoryCategory>& stackOrder();

}  // namespace shardscope::desktop
