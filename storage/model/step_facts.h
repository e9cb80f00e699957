// Rows of steps and of training metrics (storage/schema/FORMAT.md).
#pragma once

#include "storage/model/events.h"

#include <cstdint>
#include <string>

namespace shardscope {

/// One training step of one rank.
struct StepFacts {
    RankId rank;
    StepIndex step;
    Timestamp start;
    Timestamp end;
    std::int64_t tokens = 0;               ///< processed by this rank
    std::int32_t expectedGathers = -1;     ///< what the strategy implies; -1: not recorded at
    std::int32_t expectedReductions = -1;  ///< this capture level
    std::int32_t expectedPhases = -1;
    std::uint64_t emitted = 0;  ///< events of the rank up to the step's end
    std::uint64_t dropped = 0;
    std::int64_t cpuTimeNs = 0;  ///< process CPU time spent in the step
    Bytes residentSet;           ///< RSS at the step's end
    /// In which the step thread was ready to run and had no core; -1: not known, as of imported
    /// traces, of files before 2.2 and where the kernel does not tell.
    std::int64_t coreWaitNs = -1;
    /// Processor time of all cores of the rank's host that its hypervisor gave to others, counted
    /// to the step at whose end it was read (profiler/collectors/host/stolen_time.h); -1: not
    /// known.
    std::int64_t stolenNs = -1;
    /// Processor time that all programs together used on all cores of the rank's host, read and
    /// counted likewise; -1: not known, as of files before 2.3.
    std::int64_t busyNs = -1;
    /// Of activations between the ranks that share layers; -1 as for gathers, and of files before
    /// 2.5.
    std::int32_t expectedExchanges = -1;

    [[nodiscard]] TimeRange range() const { return {start, end}; }
};

/// A training metric, once a step for the whole run (rank 0's word, already reduced).
struct MetricPoint {
    std::string name;  ///< "loss" "validation_loss" "learning_rate" "gradient_norm" "tokens_per_s"
    StepIndex step;
    Timestamp time;
    double value = 0;
};

}  // namespace shardscope
