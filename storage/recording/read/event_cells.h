// The columns of `events`, of one event. On the thread that reads the file.
#pragma once

#include "storage/model/ids.h"
#include "storage/model/result.h"
#include "storage/recording/file/chunk_directory.h"
#include "storage/recording/read/argument_texts.h"
#include "storage/recording/read/event_columns.h"
#include "storage/sqlite/connection.h"
#include "storage/sqlite/virtual_table.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace shardscope::storage {

// Lanes and strings of a recording, for the text columns of `events`. Read once, then any thread.

class EventTexts {
public:
    struct LaneTexts {
        std::string name;
        std::string role;
    };
    /// Strings of all ranks.
    using Key = std::uint64_t;

    static Result<EventTexts> load(Connection& connection);

    [[nodiscard]] static Key key(RankId rank, StringId id) {
        return std::uint64_t{rank.value} << 32 | id.value;
    }
    /// Empty of a lane that the file does not name.
    [[nodiscard]] LaneTexts lane(RankId rank, LaneId lane) const;
    [[nodiscard]] std::optional<std::string_view> find(RankId rank, StringId id) const;
    [[nodiscard]] std::string_view text(RankId rank, StringId id) const {
        return find(rank, id).value_or(std::string_view{});
    }
    /// Strings of that text; one that is not in the file is no event's name.
    [[nodiscard]] std::unordered_set<Key> idsOf(const std::string& text) const;

private:
    Result<void> loadLanes(Connection& connection);
    Result<void> loadStrings(Connection& connection);

    std::map<std::pair<RankId, LaneId>, LaneTexts> m_lanes;
    std::unordered_map<Key, std::string> m_strings;
};

/// From where an event begins to where it ends: the same of all but spans.
inline TimeRange rangeOf(const SpanEvent& event) {
    return event.range();
}
template <class Event>
TimeRange rangeOf(const Event& event) {
    return {event.time, event.time};
}

/// The string that `name` shows; a sample has none of its own.
inline StringId nameIdOf(const MemoryEvent& event) {
    return event.owner;
}
template <class Event>
StringId nameIdOf(const Event& event) {
    return event.name;
}

/// Of the events of one lane at a time. Texts hold until the next one is asked for.
class EventCells {
public:
    EventCells(Connection& connection, std::shared_ptr<const EventTexts> texts)
        : m_connection(connection), m_texts(std::move(texts)) {}

    void enter(const ChunkDirectory::Lane& lane);
    [[nodiscard]] RankId rank() const { return m_lane.rank; }

    template <class Event>
    [[nodiscard]] SqlValue cell(const Event& event, int column) const {
        switch (column) {
            case EventColumn::kKind:
                return std::string_view(toWord(m_lane.kind));
            case EventColumn::kRank:
                return std::int64_t{m_lane.rank.value};
            case EventColumn::kName:
                return nameOf(event);
            case EventColumn::kStart:
                return rangeOf(event).begin.ns;
            case EventColumn::kEnd:
                return rangeOf(event).end.ns;
            default:
                return valueOf(event, column);
        }
    }

private:
    [[nodiscard]] SqlValue nameOf(const CounterEvent&) const {
        return std::string_view(m_laneTexts.name);
    }
    template <class Event>
    [[nodiscard]] SqlValue nameOf(const Event& event) const {
        return m_texts->text(m_lane.rank, nameIdOf(event));
    }
    [[nodiscard]] SqlValue valueOf(const SpanEvent& event, int column) const;
    [[nodiscard]] SqlValue valueOf(const MemoryEvent& event, int column) const;
    [[nodiscard]] SqlValue valueOf(const CounterEvent& event, int column) const;
    [[nodiscard]] SqlValue valueOf(const InstantEvent& event, int column) const;
    [[nodiscard]] SqlValue valueOf(const FlowEvent& event, int column) const;
    [[nodiscard]] SqlValue laneValue(int column) const;
    [[nodiscard]] SqlValue argumentsOf(StringId id) const;

    Connection& m_connection;
    std::shared_ptr<const EventTexts> m_texts;
    ChunkDirectory::Lane m_lane{};
    EventTexts::LaneTexts m_laneTexts;
    mutable ArgumentTexts m_arguments;  ///< decoded as they are asked for
};

}  // namespace shardscope::storage
