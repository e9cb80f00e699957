// Saves what can be read of a damaged or truncated recording into a new one: `shardscope repair`.
#pragma once

#include "storage/model/recording.h"
#include "storage/model/result.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace shardscope::storage {

struct SalvagedTable {
    std::string name;
    std::uint64_t copied = 0;
    std::uint64_t refused = 0;      ///< read, but not possible as they stand
    std::vector<std::string> gaps;  ///< keys that could not be read, "rank 0: id 12 to 40"
};

/// Chunks of one kind, rank and lane that are gone.
struct LostEvents {
    EventKind kind;
    RankId rank;
    LaneId lane;
    std::uint64_t chunks = 0;
    std::uint64_t events = 0;
    TimeRange range;
};

struct Salvage {
    std::vector<SalvagedTable> tables;
    std::uint64_t chunks = 0;  ///< copied
    EventCounts events;        ///< copied
    std::vector<LostEvents> lost;
    /// Counted by the ranks but never in the file, whose writer died before it was whole.
    std::uint64_t unreceived = 0;
    /// Of a finalised file, events that its ranks counted and that are neither there nor in `lost`.
    std::uint64_t missed = 0;
    bool finalised = true;  ///< by its writer; else what came after its last commit is unknown
    std::vector<std::string> notes;  ///< what had to be made up, in sentences

    [[nodiscard]] std::uint64_t lostEvents() const;
    /// Whether anything at all was lost or made up.
    [[nodiscard]] bool lossless() const;
};

/// Reads a copy of `input` (its first page must be readable), so that `input` stays as it is.
/// Everything that verifies is copied; pyramids and memory state are made anew. `output` appears
/// only when it is whole. kUsage when it exists and `overwrite` is not set, kUnreadable when
/// `input` is no recording or its first page is gone; kCancelled when `goOn`, asked now and then,
/// says no.
Result<Salvage> salvageRecording(const std::string& input, const std::string& output,
                                 bool overwrite, const std::function<bool()>& goOn = {});

}  // namespace shardscope::storage
