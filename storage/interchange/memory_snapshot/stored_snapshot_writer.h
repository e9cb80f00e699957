// Writes what a recording has kept of an imported memory snapshot into a pickle again, entry by
// entry.
#pragma once

#include "storage/interchange/formats/export_scope.h"
#include "storage/interchange/json_text.h"
#include "storage/interchange/memory_snapshot/pickle_writer.h"
#include "storage/interchange/memory_snapshot/stored_snapshot.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace shardscope::interchange {

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
