#include "storage/recording/detail_rows.h"

#include "storage/recording/memory_tally.h"

#include <algorithm>
#include <string>

namespace shardscope::storage {
namespace {

DetailFacts factsOf(const Statement& row) {
    DetailFacts facts;
    facts.rank = {static_cast<std::uint32_t>(row.integer(0))};
    facts.first = {static_cast<std::int32_t>(row.integer(1))};
    facts.last = {static_cast<std::int32_t>(row.integer(2))};
    facts.range = {{row.integer(3)}, {row.integer(4)}};
    facts.level = static_cast<CaptureLevel>(row.integer(5));
    facts.reason = static_cast<DetailReason>(row.integer(6));
    if (!row.isNull(7)) facts.removed = static_cast<std::uint64_t>(row.integer(7));
    if (!row.isNull(9))
        facts.peak =
            MemoryPeak{{row.integer(8)}, {row.integer(9)}, MemoryTally::fromBlob(row.blob(10))};
    return facts;
}

constexpr const char* kColumns =
    "rank, first_step, last_step, start_ns, end_ns, level, reason, removed, peak_ns, peak_bytes,"
    " peak";

void bindFacts(Statement& statement, const DetailFacts& detail, std::vector<std::byte>& peak) {
    statement.bind(1, std::int64_t{detail.rank.value})
        .bind(2, std::int64_t{detail.first.value})
        .bind(3, std::int64_t{detail.last.value})
        .bind(4, detail.range.begin.ns)
        .bind(5, detail.range.end.ns)
        .bind(6, static_cast<std::int64_t>(detail.level))
        .bind(7, static_cast<std::int64_t>(detail.reason));
    if (detail.removed)
        statement.bind(8, static_cast<std::int64_t>(*detail.removed));
    else
        statement.bind(8, std::nullopt);
    if (!detail.peak) {
        statement.bind(9, std::nullopt).bind(10, std::nullopt).bind(11, std::nullopt);
        return;
    }
    peak = MemoryTally::toBlob(detail.peak->byCategory);
    statement.bind(9, detail.peak->time.ns)
        .bind(10, detail.peak->size.count)
        .bind(11, std::span<const std::byte>(peak));
}

/// `into` and what goes on where it ends.
void join(DetailFacts& into, const DetailFacts& next) {
    into.last = std::max(into.last, next.last);
    into.range = {std::min(into.range.begin, next.range.begin),
                  std::max(into.range.end, next.range.end)};
    into.removed =
        into.removed && next.removed ? std::optional(*into.removed + *next.removed) : std::nullopt;
    if (next.peak && (!into.peak || next.peak->size > into.peak->size)) into.peak = next.peak;
}

}  // namespace

Result<std::vector<DetailFacts>> readDetail(Connection& connection) {
    std::vector<DetailFacts> rows;
    const auto there = connection.hasTable("detail");
    if (!there) return failure(there);
    if (!*there) return rows;
    auto select = connection.prepare(std::string("SELECT ") + kColumns +
                                     " FROM detail ORDER BY rank, first_step, id");
    if (!select) return failure(select);
    while (true) {
        auto row = select->step();
        if (!row) return failure(row);
        if (!*row) return rows;
        rows.push_back(factsOf(*select));
    }
}

Result<void> putDetail(Connection& connection, const DetailFacts& detail) {
    auto find = connection.prepare(std::string("SELECT ") + kColumns +
                                   ", id FROM detail WHERE rank=? AND level=? AND reason=?"
                                   " ORDER BY id DESC LIMIT 1");
    if (!find) return failure(find);
    auto row = find->bind(1, std::int64_t{detail.rank.value})
                   .bind(2, static_cast<std::int64_t>(detail.level))
                   .bind(3, static_cast<std::int64_t>(detail.reason))
                   .step();
    if (!row) return failure(row);
    DetailFacts joined = detail;
    std::optional<std::int64_t> id;
    if (*row) {
        const DetailFacts before = factsOf(*find);
        if (detail.first >= before.first &&
            detail.first.value <= std::int64_t{before.last.value} + 1) {
            joined = before;
            join(joined, detail);
            id = find->integer(11);
        }
    }
    auto put = connection.prepare(std::string("INSERT OR REPLACE INTO detail(") + kColumns +
                                  ", id) VALUES(?,?,?,?,?,?,?,?,?,?,?,?)");
    if (!put) return failure(put);
    std::vector<std::byte> peak;
    bindFacts(*put, joined, peak);
    return put->bind(12, id).run();
}

Result<void> countLateRemovals(Connection& connection, RankId rank, std::uint64_t events) {
    auto update = connection.prepare(
        "UPDATE detail SET removed = removed + ?2 WHERE id ="
        " (SELECT max(id) FROM detail WHERE rank = ?1 AND reason IN (3, 4))");
    if (!update) return failure(update);
    return update->bind(1, std::int64_t{rank.value})
        .bind(2, static_cast<std::int64_t>(events))
        .run();
}

Result<std::int64_t> thinningState(Connection& connection) {
    const auto there = connection.hasTable("detail");
    if (!there) return failure(there);
    if (!*there) return 0;
    return connection.integer(
        "SELECT coalesce(sum(end_ns), 0) + count(*) FROM detail WHERE reason IN (3, 4)");
}

}  // namespace shardscope::storage
