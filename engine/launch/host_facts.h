// What this machine is, for the recording, and what of it a process may use.
#pragma once

#include "storage/model/host_facts.h"
#include "storage/model/recording.h"
#include "storage/model/result.h"
#include "storage/model/run_facts.h"
#include "storage/model/units.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope::launch {

[[nodiscard]] HostFacts hostFacts();
/// What is not in those, of this moment. Files are read below `root`, "" for this machine.
[[nodiscard]] std::vector<FactRow> hostFactRows(const std::string& root = "");

/// Memory that new processes can have without swapping, as the kernel estimates it; nothing where
/// that is unknown.
[[nodiscard]] std::optional<Bytes> freeMemory();

// Whether this host's processor can run a rank at all.

/// LibTorch is compiled for x86-64-v2 (SSE4.2, SSSE3, POPCNT: x86-64 psABI, 2020) and dies of an
/// illegal instruction below it. kLaunch, with what is missing.
Result<void> checkProcessor();

// What of this machine's processor a process may use. Linux; read anew at each call.
//
// Files are read below `root`, "" for this machine. Thread-safe.

/// Hardware threads in the affinity mask, at least 1.
[[nodiscard]] int usableCores();

/// Cores behind them: hardware threads that share a core count once, since products gain nothing
/// from the second one. At least 1.
[[nodiscard]] int usablePhysicalCores(const std::string& root = "");

/// Processor time that the control groups of this process leave it, in cores; nothing: no limit.
/// The smallest of all groups above it (cgroup v2 cpu.max, v1 cpu.cfs_quota_us).
[[nodiscard]] std::optional<double> processorQuota(const std::string& root = "");

/// Threads for each of `ranks` on this host such that ranks x threads is at most what may be used,
/// cores and quota both; at least 1.
[[nodiscard]] int threadsPerRank(int ranks, const std::string& root = "");

}  // namespace shardscope::launch
