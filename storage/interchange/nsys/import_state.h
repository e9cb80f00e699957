// What all readers of an export's tables share while it is imported.
#pragma once

#include "storage/interchange/import.h"
#include "storage/interchange/nsys/arguments.h"
#include "storage/interchange/nsys/lanes.h"
#include "storage/interchange/nsys/survey.h"

#include <algorithm>

namespace shardscope::interchange::nsys {

inline constexpr const char* kNoTime = "no time, or one that is no whole number";

struct ImportState {
    const ReaderRequest& request;
    NsysFile& file;
    Texts& texts;
    const Survey& survey;
    Lanes lanes;
    std::int64_t shiftNs = 0;  ///< builder's time = the file's + this
    ImportAccount account = {};
    Timestamp ended = {};
    std::uint64_t changedTexts = 0;  ///< beside those of StringIds
    std::uint64_t timeless = 0;      ///< records without a time, which are no events

    [[nodiscard]] TraceBuilder& builder() const { return *request.builder; }

    /// To be called for every row: counts it, and stops the import when it has failed elsewhere
    /// or is not wanted any more.
    Result<void> tick() {
        constexpr std::uint64_t kRowsACheck = 4096;
        ++account.read;
        if (account.read % kRowsACheck != 0) return {};
        if (const auto& state = builder().state(); !state) return failure(state, request.title);
        const double share = static_cast<double>(account.read) /
                             static_cast<double>(std::max<std::uint64_t>(1, survey.rows));
        if (request.progress && !request.progress(std::min(share, 1.0)))
            return failure(ErrorCode::kCancelled, "the import was stopped");
        return {};
    }
    void keep(bool anyWrong) {
        ++account.kept;
        if (anyWrong) account.repair("a column of the wrong type, left out");
    }

    /// Start and length on the builder's clock; rejects what has none. `end` nothing: an instant.
    std::optional<std::pair<Timestamp, Duration>> place(std::optional<std::int64_t> start,
                                                        std::optional<std::int64_t> end,
                                                        bool needsEnd);
};

/// Counts and hands out every row of a table that NsysFile::scan() opened; a table that is absent
/// has none. Stops at the first error, and when the import is cancelled.
template <class Use>
Result<void> forEachRow(ImportState& state, Result<std::optional<storage::TableScan>>& rows,
                        Use use) {
    if (!rows) return failure(rows);
    while (*rows) {
        auto more = (*rows)->next();
        if (!more) return failure(more);
        if (!*more) break;
        if (auto counted = state.tick(); !counted) return counted;
        QueryRow row((*rows)->row());
        if (Result<void> used = use(row); !used) return used;
    }
    return {};
}

/// Spans of one table.
Result<void> readSpans(ImportState& state, const TableSpec& spec);
Result<void> readNvtx(ImportState& state);
/// Counters of GPU_METRICS, and memory events.
Result<void> readMetrics(ImportState& state);
Result<void> readMemory(ImportState& state);
/// Facts of every rank's device, as JSON for the configuration by rank.
Result<std::map<RankId, std::string>> readDevices(ImportState& state);

/// A field's value as an argument, if it has one. `column` moves past the field's columns.
Result<void> addArgument(ImportState& state, const Field& field, QueryRow& row, int& column,
                         ArgumentWriter& arguments);
/// Columns of fields, in the order in which addArgument() takes them.
void appendColumns(std::vector<std::string>& columns, std::span<const Field> fields);

}  // namespace shardscope::interchange::nsys
