// Asks `shardscope-rank --probe` what it finds, without being held up or brought down by it.
#pragma once

#include <nlohmann/json.hpp>

#include <chrono>
#include <map>
#include <string>

namespace shardscope::cli {

struct ProbeOutcome {
    std::map<std::string, nlohmann::json> parts;  ///< by name; see engine/worker/probe.h
    /// Why it did not come to its end, e.g. "was ended by signal 11 (Segmentation fault) while
    /// asking the driver"; empty: it did.
    std::string problem;

    /// Null when the part was not told.
    [[nodiscard]] const nlohmann::json* part(const std::string& name) const;
};

/// Kills the probe, and whatever it started, after `patience`. Main thread (launch/process.h).
[[nodiscard]] ProbeOutcome runProbe(const std::string& rankProgram,
                                    std::chrono::milliseconds patience);

}  // namespace shardscope::cli
