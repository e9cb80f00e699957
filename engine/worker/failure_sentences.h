// Sentences of a rank: what a GPU has to say, and what ends a training step. Pure.
#pragma once

#include "engine/run/config/run_config.h"
#include "engine/training/trainer.h"
#include "profiler/capture/device_sink.h"
#include "profiler/collectors/allocator/device_memory.h"
#include "profiler/collectors/nccl/nccl_join.h"
#include "storage/model/recording.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope::worker {

/// What was asked for, what holds the memory, and what to change.
[[nodiscard]] std::string outOfMemoryText(const collectors::OutOfMemory& outOfMemory,
                                          const DeviceFacts& device);

/// What it means that ranks share `device`; without time and rank.
[[nodiscard]] Diagnostic sharedDeviceWarning(const DeviceFacts& device);
/// Why nothing samples the device's counters; without time and rank.
[[nodiscard]] Diagnostic noTelemetryNote(const std::string& why);

/// One for each way in which the tracer's record is not whole; without time and rank.
[[nodiscard]] std::vector<Diagnostic> lossDiagnostics(const capture::DeviceCounts& counts);

/// "1200 kernels traced, 1200 launched, 1200 with their operator; 96 collectives joined with their
/// kernel, 0 timed by device events"
[[nodiscard]] std::string countsText(const capture::DeviceCounts& counts,
                                     const collectors::NcclJoinCounts& joined);

// Sentences for what ends a training step.

/// `known`: `place` is where the first output that is not finite was found.
[[nodiscard]] std::string notFiniteSentence(const training::StepResult& result,
                                            const training::StepPosition& place, bool known);

/// What could not be allocated since this was last asked, at which place, and what theory says a
/// rank needs; nothing when every allocation succeeded.
[[nodiscard]] std::optional<std::string> outOfMemorySentence(const run::RunConfig& config,
                                                             const training::StepPosition& place);

}  // namespace shardscope::worker
