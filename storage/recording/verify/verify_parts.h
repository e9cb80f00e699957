// What the parts of verifyRecording share. Internal to storage/recording.
#pragma once

#include "storage/columns/arguments.h"
#include "storage/recording/file/chunk_directory.h"
#include "storage/recording/verify/argument_audit.h"
#include "storage/recording/verify/verify_recording.h"

#include <map>
#include <optional>
#include <set>
#include <unordered_set>

namespace shardscope::storage {

/// What rows and events may refer to.
struct KnownRows {
    std::set<std::uint32_t> ranks;
    std::map<std::pair<RankId, LaneId>, LaneRole> lanes;
    std::unordered_set<std::uint64_t> strings;

    static std::uint64_t key(RankId rank, StringId id) {
        return std::uint64_t{rank.value} << 32 | id.value;
    }
    [[nodiscard]] bool hasString(RankId rank, StringId id) const {
        return id == kEmptyString || strings.contains(key(rank, id));
    }
};

struct VerifyContext {
    Connection& connection;
    Verification& found;
    KnownRows known;
    std::map<RankId, std::uint64_t> eventsOfRank;                 ///< stored, collectives included
    std::set<std::pair<std::string, std::int64_t>> missingRanks;  ///< said already, by table
    std::set<std::pair<RankId, LaneId>> spanLanes = {};           ///< that hold spans
    std::optional<ArgumentAudit> arguments = std::nullopt;        ///< of a file that has some
    std::vector<DetailFacts> detail{};

    /// A string, or arguments.
    [[nodiscard]] Timestamp thinnedUntil(RankId rank, LaneId lane) const {
        const auto at = known.lanes.find({rank, lane});
        const bool fullOnly =
            isMemoryLane(lane) || (at != known.lanes.end() && isFullOnly(at->second));
        return shardscope::thinnedUntil(detail, rank, fullOnly);
    }
    [[nodiscard]] bool hasText(RankId rank, StringId id) const {
        if (!columns::isArguments(id)) return known.hasString(rank, id);
        return arguments && arguments->holds(rank, id);
    }
};

/// All tables of rows: who refers to whom, times that run backwards.
void verifyRows(VerifyContext& context);
/// Every chunk, memory state and pyramid segment.
void verifyChunks(VerifyContext& context);

/// Runs `sql` and calls `use` for every row; a file that cannot be read there is a fault of
/// `where`.
template <class Use>
bool forRows(VerifyContext& context, const char* where, const std::string& sql, Use use) {
    auto select = context.connection.prepare(sql);
    while (select) {
        auto row = select->step();
        if (!row) {
            context.found.add(where, "cannot be read to its end: " + row.error().message);
            return false;
        }
        if (!*row) return true;
        use(*select);
    }
    context.found.add(where, "cannot be read: " + select.error().message);
    return false;
}

}  // namespace shardscope::storage
