// A damaged recording, opened in spite of it: a copy with a mended header. Part of salvage.
#pragma once

#include "storage/recording/repair/salvage_recording.h"
#include "storage/recording/verify/argument_audit.h"
#include "storage/recording/write/chunk_writer.h"
#include "storage/recording/write/row_writer.h"
#include "storage/sqlite/connection.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::storage {

/// The copy is removed with it.
class DamagedFile {
public:
    /// Copies `input` (and its WAL) to `scratch`, mends what a recording's header always holds and
    /// fills up what was cut off with zeros, which SQLite knows for damaged pages.
    static Result<DamagedFile> open(const std::string& input, const std::string& scratch);
    DamagedFile(DamagedFile&& other) noexcept
        : m_path(std::exchange(other.m_path, {})), m_connection(std::move(other.m_connection)) {}
    DamagedFile& operator=(DamagedFile&&) = delete;
    ~DamagedFile();

    [[nodiscard]] Connection& connection() { return *m_connection; }

private:
    explicit DamagedFile(std::string path) : m_path(std::move(path)) {}

    std::string m_path;
    std::optional<Connection> m_connection;
};

/// Reads rows of a table by an integer key around whatever cannot be read.
class TolerantScan {
public:
    using Use = std::function<void(const Statement&)>;

    /// `select` ends in a WHERE clause that takes the key's bounds as ?1 and ?2; column 0 is `key`.
    TolerantScan(Connection& connection, std::string select, std::string key)
        : m_connection(connection), m_select(std::move(select)), m_key(std::move(key)) {}

    /// Calls `use` for every row with a key in [low, high]; some rows may come twice.
    void read(std::int64_t low, std::int64_t high, const Use& use);

    struct Gap {
        std::int64_t from, to;
    };
    /// Stretches of keys in which rows may have been lost.
    [[nodiscard]] const std::vector<Gap>& gaps() const { return m_gaps; }

private:
    /// The last key read in that direction, and whether the end was reached without an error.
    struct Reach {
        std::optional<std::int64_t> last;
        bool whole = false;
        bool prepared = true;  ///< false: there is no such table, whatever the keys
    };
    /// `statement` is prepared when it is first run.
    Reach run(std::optional<Statement>& statement, const char* order, std::int64_t low,
              std::int64_t high, const Use& use);
    void noteGap(std::int64_t from, std::int64_t to);

    /// Each takes some microseconds.
    static constexpr int kMaxProbes = 20'000;

    Connection& m_connection;
    std::string m_select;
    std::string m_key;
    std::optional<Statement> m_upwards, m_downwards;
    std::vector<Gap> m_gaps;
    int m_probes = 0;
};

/// What the parts of salvageRecording share. Internal to storage/recording.
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
