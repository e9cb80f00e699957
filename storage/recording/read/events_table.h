// The SQL table `events` over all chunks, and the views on it.
#pragma once

#include "storage/recording/file/chunk_directory.h"
#include "storage/recording/read/event_source.h"
#include "storage/sqlite/virtual_table.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace shardscope::storage {

/// `connection` and `events` must stay where they are as long as the connection is used.
Result<void> addEventsTable(Connection& connection, EventSource& events);

/// For a connection of another program, which must be to a recording; lives as long as it does.
Result<void> addEventsTable(Connection host);

// What the constraints of a query on `events` leave to be read.

/// Everything until constraints are added. SQLite checks every row again, so that it may keep more
/// than is asked for, never less.
class WantedEvents {
public:
    /// Whether add() makes use of constraints on a column.
    [[nodiscard]] static bool uses(int column);
    void add(const ColumnConstraint& constraint);

    [[nodiscard]] bool has(const ChunkEntry& chunk) const {
        return chunk.first.ns <= m_start.to && chunk.last.ns >= std::max(m_start.from, m_endFrom);
    }
    [[nodiscard]] bool has(TimeRange event) const {
        return m_start.has(event.begin.ns) && event.end.ns >= m_endFrom;
    }
    /// `role` and `ownName`: of the lane.
    [[nodiscard]] bool has(const ChunkDirectory::Lane& lane, const std::string& role,
                           const std::string& ownName) const;
    /// Of a span, an instant, a flow or a memory event's owner; samples go by their lane's.
    [[nodiscard]] const std::optional<std::string>& name() const { return m_name; }

private:
    /// Both ends included.
    struct Span {
        std::int64_t from = std::numeric_limits<std::int64_t>::min();
        std::int64_t to = std::numeric_limits<std::int64_t>::max();
        [[nodiscard]] bool has(std::int64_t value) const { return value >= from && value <= to; }
        void narrow(Comparison comparison, std::int64_t value);
    };
    void addText(const ColumnConstraint& constraint, const std::string& text);

    std::optional<std::string> m_kind, m_role, m_laneName, m_name;
    Span m_rank, m_lane, m_start;
    std::int64_t m_endFrom = std::numeric_limits<std::int64_t>::min();
    bool m_lanesOnly = false;
};

}  // namespace shardscope::storage
