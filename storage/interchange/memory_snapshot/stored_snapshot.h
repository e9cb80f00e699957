// What an import of a memory snapshot left in the run's configuration for who writes the snapshot
// again: which lanes hold what of which device.
//
// Memory events and instants of the lane `history` are its entries, with their number as argument
// "entry"; instants of the lane `state` its segments and blocks at the end.
#pragma once

#include "storage/model/recording.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope::interchange {

struct SnapshotLanes {
    RankId rank;
    std::int64_t device = 0;
    LaneId history, state, annotations, loneAnnotations;
};

struct StoredSnapshot {
    std::vector<SnapshotLanes> ranks;
    std::int64_t devices = 0;  ///< that the history has a list for
    std::string document;      ///< JSON object: all else of the snapshot
};

[[nodiscard]] std::string snapshotConfig(const StoredSnapshot& snapshot);
/// All snapshots that the run was imported from.
[[nodiscard]] std::vector<StoredSnapshot> storedSnapshots(const RunFacts& run);

}  // namespace shardscope::interchange
