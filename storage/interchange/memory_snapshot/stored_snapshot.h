// What an import of a memory snapshot left in the run's configuration for who writes the snapshot
// again: which lanes hold what of which device.
//
// Memory events and instants of the lane `history` are its entries, with their number as argument
// "entry"; instants of the lane `state` its segments and blocks at the end.
#pragma once

#include "storage/interchange/formats/export_scope.h"
#include "storage/interchange/json_text.h"
#include "storage/interchange/memory_snapshot/pickle_writer.h"
#include "storage/model/recording.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
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

/// Writes what a recording has kept of an imported memory snapshot into a pickle again, entry by
/// entry.
/// Memory: the numbers of a device's entries, and the texts of stacks.
class StoredSnapshotWriter {
public:
    StoredSnapshotWriter(ExportScope& scope, PickleWriter& pickle)
        : m_scope(scope), m_pickle(pickle) {}

    /// Items of `segments`, of all devices.
    Result<void> segments(const std::vector<SnapshotLanes>& ranks);
    /// Items of the device's list in `device_traces`; how many.
    Result<std::uint64_t> history(const SnapshotLanes& lanes);
    /// Items of `external_annotations`.
    Result<void> annotations(const std::vector<SnapshotLanes>& ranks);

private:
    struct Entry {
        std::int64_t index = 0;
        Timestamp time;
        std::uint64_t address = 0;
        std::int64_t size = 0;
        bool memory = false;
        bool allocated = false;
        StringId name, arguments;
    };
    [[nodiscard]] std::string_view text(RankId rank, StringId id);
    void readArguments(RankId rank, StringId id);
    [[nodiscard]] std::optional<std::int64_t> argument(std::string_view key) const;
    [[nodiscard]] std::int64_t microseconds(Timestamp time) const;
    void write(RankId rank, const Entry& entry);
    void member(std::string_view key, std::string_view json);

    ExportScope& m_scope;
    PickleWriter& m_pickle;
    std::string m_json;                                      ///< arguments at hand
    std::vector<Member> m_members;                           ///< of them
    std::unordered_map<std::string, std::uint32_t> m_memos;  ///< of lists and dicts, by their JSON
};

}  // namespace shardscope::interchange
