// Goes through the runs of a bench: round after round, so that what disturbs a machine for a while
// disturbs all of them alike; the same again finds what is there.
#pragma once

#include "app/cli/bench/bench_kind.h"
#include "storage/model/result.h"
#include "storage/model/units.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::cli {

struct RunningOptions {
    std::string folder;  ///< that there is, or that can be made
    std::int32_t repetitions = 1;
    bool force = false;  ///< replaces recordings of something else
    bool quiet = false;  ///< nothing about progress
    /// BenchKind::beside
    Result<void> (*beside)(const run::RunConfig& config, std::int32_t repetition,
                           const std::string& folder) = nullptr;
};

struct BenchRuns {
    std::vector<RunResult> results;  ///< in the order of the plan
    std::optional<Error> ended;      ///< why it ended early
    std::optional<Error> failed;     ///< by what the first run failed that did
};

/// What a run needs of this host's memory by theory, its ranks together with their program; nothing
/// where it does not run on this host's CPUs.
[[nodiscard]] std::optional<Bytes> hostMemoryNeeded(const run::RunConfig& config);
/// A rank's program and libraries beside its tensors: 151 to 155 MB of resident set were measured
/// of ranks of a tiny model (LibTorch 2.11, Debian 12).
inline constexpr Bytes kRankProgram{160'000'000};

/// Error (kFailure): the folder cannot be made. What stops it later is in BenchRuns: what a rank
/// or a setting of one run fails by is that run's own.
[[nodiscard]] Result<BenchRuns> goThrough(const std::vector<PlannedRun>& plan,
                                          const RunningOptions& options);

}  // namespace shardscope::cli
