// Asks `shardscope-rank --probe` what it finds, without being held up or brought down by it.
#pragma once

#include "engine/run/protocol/probe_parts.h"

#include <chrono>
#include <string>
#include <variant>
#include <vector>

namespace shardscope::cli {

struct ProbeOutcome {
    std::vector<run::ProbePart> parts;  ///< in the order in which they were reported
    /// Why it did not come to its end, e.g. "was ended by signal 11 (Segmentation fault) while
    /// asking the driver"; empty: it did.
    std::string problem;

    /// The first of its kind; null: not reported.
    template <class Part>
    [[nodiscard]] const Part* part() const {
        for (const run::ProbePart& each : parts)
            if (const Part* found = std::get_if<Part>(&each)) return found;
        return nullptr;
    }
};

/// Kills the probe, and whatever it started, after `patience`. Main thread (launch/process.h).
[[nodiscard]] ProbeOutcome runProbe(const std::string& rankProgram,
                                    std::chrono::milliseconds patience);

}  // namespace shardscope::cli
