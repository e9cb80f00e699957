// What the parts of salvageRecording share. Internal to storage/recording.
#pragma once

#include "storage/recording/repair/damaged_file.h"
#include "storage/recording/repair/salvage_recording.h"
#include "storage/recording/verify/argument_audit.h"
#include "storage/recording/write/chunk_writer.h"
#include "storage/recording/write/row_writer.h"

#include <map>
#include <set>

namespace shardscope::storage {

struct SalvageContext {
    Connection& damaged;
    Connection& output;
    Salvage& account;
    const std::function<bool()>& goOn;                     ///< may be empty
    std::set<std::uint32_t> ranks;                         ///< that rows or events belong to
    std::map<std::pair<RankId, LaneId>, EventKind> lanes;  ///< that events lie on
    std::map<RankId, std::set<std::uint32_t>> strings;     ///< that events refer to
    std::map<RankId, std::vector<IdRun>> arguments;        ///< that events refer to
    std::map<RankId, std::uint64_t> events;                ///< copied, by rank
    TimeRange bounds;                                      ///< of copied events

    /// kCancelled when the result is no longer wanted.
    [[nodiscard]] Result<void> checkWanted() const {
        if (!goOn || goOn()) return {};
        return failure(ErrorCode::kCancelled, "the repair was stopped");
    }
};

/// Every chunk that can be read and decodes.
Result<void> salvageChunks(SalvageContext& context, ChunkWriter& writer);
/// Whether the damaged file may keep the rows of a table as columns.
[[nodiscard]] bool isPacked(SalvageContext& context, const std::string& table);
/// Rows that the damaged file keeps as columns, into their tables.
Result<void> salvagePackedRows(SalvageContext& context);
/// All tables of rows.
Result<void> salvageRows(SalvageContext& context);
/// Takes out unsound arguments and makes up empty ones that events refer to. Strings are mended.
Result<void> mendArguments(SalvageContext& context, RowWriter& rows);
/// Takes out rows that cannot be true and makes up those that others refer to.
Result<void> mendRows(SalvageContext& context);

/// "id 12" or "id 12 to 40".
[[nodiscard]] std::string gapText(const std::string& key, const TolerantScan::Gap& gap);

}  // namespace shardscope::storage
