// Which table of an Nsight Systems export a lane's spans belong to, and of which process, thread,
// device and stream they are.
//
// Imported lanes say so themselves (the run's configuration); lanes of recordings of our own by
// their role and number (storage/schema/FORMAT.md). What has no table becomes NVTX ranges.
#pragma once

#include "storage/interchange/nsys/table_specs.h"
#include "storage/model/recording.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::interchange::nsys {

struct LaneTarget {
    enum class Kind : std::uint8_t { kTable, kNvtx, kNone };
    Kind kind = Kind::kNone;
    Activity activity = Activity::kKernel;
    std::int64_t globalPid = 0;
    std::int64_t globalTid = 0;
    std::int64_t device = 0;
    std::int64_t stream = 0;
    const std::map<std::int64_t, std::string>* domains = nullptr;  ///< names of NVTX domains
    bool ofExport = false;  ///< came from an Nsight Systems export: arguments are its columns
    /// The correlation is CUDA's; of our own collectives it is their sequence.
    bool correlated = true;
};

/// What an import of the recording noted of a lane.
struct LaneOrigin {
    std::string imported;  ///< "nsys", "kineto"
    std::string process, thread, category;
};

struct RankOrigin {
    std::map<LaneId, LaneOrigin> lanes;
    std::map<std::int64_t, std::string> threads;  ///< by globalTid
    std::map<std::int64_t, std::string> domains;  ///< of NVTX
    std::map<std::string, std::int64_t> device;   ///< TARGET_INFO_GPU's numbers
    std::string chipName;
};
/// From RunFacts::configJson; empty for recordings that were not imported.
[[nodiscard]] std::map<RankId, RankOrigin> originsOf(const std::string& configJson);

class LaneTargets {
public:
    LaneTargets(const RecordingSummary& summary, std::map<RankId, RankOrigin> origins);

    [[nodiscard]] LaneTarget of(const LaneFacts& lane) const;
    [[nodiscard]] std::int64_t globalPid(RankId rank) const;
    /// Number of the rank's device within its process, and of the GPU in the whole run.
    [[nodiscard]] std::int64_t device(RankId rank) const;
    [[nodiscard]] std::int64_t gpu(RankId rank) const;
    [[nodiscard]] const RankOrigin& origin(RankId rank) const;

private:
    [[nodiscard]] LaneTarget imported(const LaneFacts& lane, const LaneOrigin& origin) const;
    [[nodiscard]] LaneTarget recorded(const LaneFacts& lane) const;
    [[nodiscard]] std::int64_t mainThread(RankId rank) const;

    const RecordingSummary* m_summary;
    std::map<RankId, RankOrigin> m_origins;
    std::map<RankId, std::int64_t> m_globalPids, m_devices, m_gpus, m_mainThreads;
};

}  // namespace shardscope::interchange::nsys
