// Where the steps of a rank went whose device was traced: by the device's work and by the calls of
// the host that launched it. For GPU ranks, and for imported traces that mark steps.
//
// Each instant of a step's wall time belongs to the first of these that it lies in:
//   1. compute kernels, then kernels of the optimizer, then of validation, where those are known
//   2. waiting: a collective's kernel before its last rank's arrival, where arrivals are recorded;
//      where they are not, as in traces of NCCL kernels, all of it counts as moving
//   3. all-gather, reduce-scatter, all-reduce: a collective's kernel while a collective of that
//      operation is recorded; other collectives: the rest. A rank whose collectives left no kernels
//      goes by the collectives themselves
//   4. copies: copies and sets of memory
// and, as the device is idle, by the host:
//   5. profiler: overhead of the profiler; then data: a data phase or annotation; then checkpoint
//   6. launch-bound: some work was launched (its call had begun) that had not begun itself
//   7. other: the work that ends the gap has no recorded launch, or no work follows in the
//   recording
//   8. host-bound: the rest. The next work's launch is recorded and had not begun.
//
// Against the idle breakdown of HTA (hta/analyzers/breakdown_analysis.py), which looks at gaps
// between two kernels of one stream: a gap is "host wait" where the second was launched after the
// first had ended, "kernel wait" where it was launched earlier and the gap is below 30 us, else
// "other". Here a gap is one of the whole device, needs no threshold, and is split where the launch
// began: host wait is host-bound up to that and launch-bound after it; kernel wait and HTA's other
// are launch-bound. Gaps at the edges of a step count, which HTA's do not.
//
// Units: ns of the recording's clock; half-open; work without length is left out. Denominator: the
// step's wall time.
#pragma once

#include "profiler/analysis/steps/ledger.h"
#include "storage/model/recording.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace shardscope::analysis {

/// Kernels of a device were recorded, those of collectives too.
[[nodiscard]] inline bool ranKernels(const RankEvents& events) {
    return !events.computeKernels.empty() || !events.communicationKernels.empty();
}

enum class DeviceWorkKind : std::uint8_t {
    kCompute,
    kOptimizer,
    kEvaluation,
    kCommunication,
    kCopy,
};

struct DeviceWork {
    TimeRange range;
    std::optional<Timestamp> launch;  ///< when its call began; absent: not recorded
    DeviceWorkKind kind = DeviceWorkKind::kCompute;
};

/// What was traced of a rank's device and of the host meanwhile; in any order, and of the whole
/// recording: what a step's idle time is for may lie behind the step.
struct DeviceTimeline {
    std::vector<DeviceWork> work;
    std::vector<TimeRange> profiler, data, checkpoint;  ///< of the host
};

/// Rows of the steps of `events`' rank, in the order of `summary`. A step in which no device work
/// lies is left out where the rank has phases, which tell more. None without work of the device,
/// and none where there are phases and only communication kernels or copies.
[[nodiscard]] std::vector<LedgerRow> deviceLedger(const RecordingSummary& summary,
                                                  const RankEvents& events,
                                                  const DeviceTimeline& device);

/// One step in order of time, by the device's work. None where deviceLedger() has no row
/// of it.
[[nodiscard]] std::vector<LedgerPiece> devicePieces(const StepFacts& step, const RankEvents& events,
                                                    const DeviceTimeline& device);

}  // namespace shardscope::analysis
