#include "storage/recording/write/detail_remover.h"

#include <initializer_list>
#include <optional>
#include <utility>

namespace shardscope::storage {
namespace {

/// The collectives of one group on one rank, numbered in the order in which they were asked for.
class GroupRows {
public:
    GroupRows(Connection& connection, RankId rank, std::int64_t group)
        : m_connection(&connection), m_rank(rank.value), m_group(group) {}

    /// The group after `group`; nothing after the last.
    [[nodiscard]] Result<std::optional<std::int64_t>> next() const {
        return value("SELECT min(group_id) FROM collectives WHERE rank=?1 AND group_id>?2");
    }

    /// The sequence of the first one that stays; one behind the last where none does.
    [[nodiscard]] Result<std::int64_t> firstFrom(Timestamp until) const {
        auto low = value("SELECT min(sequence) FROM collectives WHERE rank=?1 AND group_id=?2");
        auto high = value("SELECT max(sequence) FROM collectives WHERE rank=?1 AND group_id=?2");
        if (!low || !high) return low ? failure(high) : failure(low);
        std::int64_t from = **low, to = **high + 1;
        while (from < to) {
            const std::int64_t middle = from + (to - from) / 2;
            auto issued = value(
                "SELECT issue_ns FROM collectives WHERE rank=?1 AND group_id=?2"
                " AND sequence>=?3 ORDER BY sequence LIMIT 1",
                {middle});
            if (!issued) return failure(issued);
            if (*issued && **issued < until.ns)
                from = middle + 1;
            else
                to = middle;
        }
        return from;
    }

    [[nodiscard]] Result<std::uint64_t> removeBefore(std::int64_t sequence) const {
        auto count =
            value("SELECT count(*) FROM collectives WHERE rank=?1 AND group_id=?2 AND sequence<?3",
                  {sequence});
        if (!count) return failure(count);
        auto erase = m_connection->prepare(
            "DELETE FROM collectives WHERE rank=?1 AND group_id=?2 AND sequence<?3");
        if (!erase) return failure(erase);
        auto done = erase->bind(1, m_rank).bind(2, m_group).bind(3, sequence).run();
        if (!done) return failure(done);
        return static_cast<std::uint64_t>(**count);
    }

private:
    /// Of a query over ?1 rank, ?2 group, ?3 and on `more`; nothing: it gives none.
    [[nodiscard]] Result<std::optional<std::int64_t>> value(
        const char* sql, std::initializer_list<std::int64_t> more = {}) const {
        auto select = m_connection->prepare(sql);
        if (!select) return failure(select);
        select->bind(1, m_rank).bind(2, m_group);
        for (int at = 3; const std::int64_t bound : more) select->bind(at++, bound);
        auto row = select->step();
        if (!row) return failure(row);
        if (!*row || select->isNull(0)) return std::optional<std::int64_t>{};
        return std::optional(select->integer(0));
    }

    Connection* m_connection;
    std::int64_t m_rank, m_group;
};

}  // namespace

Result<std::uint64_t> removeCollectives(Connection& connection, RankId rank, Timestamp until) {
    std::uint64_t removed = 0;
    for (std::int64_t group = -1;;) {
        const auto next = GroupRows(connection, rank, group).next();
        if (!next) return failure(next);
        if (!*next) return removed;
        group = **next;
        const GroupRows rows(connection, rank, group);
        const auto first = rows.firstFrom(until);
        if (!first) return failure(first);
        const auto gone = rows.removeBefore(*first);
        if (!gone) return failure(gone);
        removed += *gone;
    }
}

}  // namespace shardscope::storage
