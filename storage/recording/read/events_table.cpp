#include "storage/recording/read/events_table.h"

#include "storage/columns/chunk.h"
#include "storage/model/words.h"
#include "storage/recording/read/event_cells.h"
#include "storage/recording/read/event_columns.h"

#include <algorithm>
#include <memory>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

namespace shardscope::storage {
namespace {

/// Goes through wanted lanes, their wanted chunks and all events of those, in stored order.
class EventsCursor : public RowCursor {
public:
    EventsCursor(Connection& connection, EventSource& events,
                 const std::shared_ptr<const EventTexts>& texts, const WantedEvents& wanted)
        : m_connection(connection), m_events(events), m_wanted(wanted), m_cells(connection, texts) {
        if (wanted.name()) m_nameIds = texts->idsOf(*wanted.name());
        for (const ChunkDirectory::Lane& lane : events.directory().lanes()) {
            const EventTexts::LaneTexts own = texts->lane(lane.rank, lane.lane);
            if (!wanted.has(lane, own.role, own.name)) continue;
            for (const ChunkEntry& chunk : *lane.chunks)
                if (wanted.has(chunk)) m_chunks.push_back({lane, chunk.id});
        }
    }

    Result<bool> next() override {
        ++m_event;
        while (true) {
            while (m_event < m_size && !isWanted()) ++m_event;
            if (m_event < m_size) return true;
            if (m_next == m_chunks.size()) return false;
            if (auto loaded = load(m_chunks[m_next++]); !loaded) return failure(loaded);
            m_event = 0;
        }
    }

    [[nodiscard]] SqlValue value(int column) const override {
        return std::visit(
            [&](const auto& events) { return m_cells.cell((*events)[m_event], column); }, m_loaded);
    }

    [[nodiscard]] std::int64_t rowId() const override {
        return m_chunk * static_cast<std::int64_t>(columns::kMaxChunkEvents) +
               static_cast<std::int64_t>(m_event);
    }

private:
    struct Chunk {
        ChunkDirectory::Lane lane;
        std::int64_t id;
    };

    Result<void> load(const Chunk& chunk) {
        m_cells.enter(chunk.lane);
        m_chunk = chunk.id;
        auto events = m_events.chunk(m_connection, {chunk.lane.kind, chunk.id});
        if (!events) return failure(events);
        m_loaded = std::move(*events);
        m_size = std::visit([](const auto& loaded) { return loaded->size(); }, m_loaded);
        return {};
    }

    /// SQLite would find out as well, but only after fetching columns by their texts.
    [[nodiscard]] bool isWanted() const {
        return std::visit(
            [&](const auto& events) {
                const auto& event = (*events)[m_event];
                return m_wanted.has(rangeOf(event)) && isNamed(event);
            },
            m_loaded);
    }
    /// A sample has its lane's name, which the lane was chosen by.
    [[nodiscard]] bool isNamed(const CounterEvent&) const { return true; }
    template <class Event>
    [[nodiscard]] bool isNamed(const Event& event) const {
        if (!m_wanted.name()) return true;
        const StringId id = nameIdOf(event);
        return m_nameIds.contains(EventTexts::key(m_cells.rank(), id)) ||
               (id == kEmptyString && m_wanted.name()->empty());
    }

    Connection& m_connection;
    EventSource& m_events;
    WantedEvents m_wanted;
    EventCells m_cells;
    std::unordered_set<EventTexts::Key> m_nameIds;  ///< strings that are the wanted name
    std::vector<Chunk> m_chunks;
    std::size_t m_next = 0;  ///< chunk to load
    std::int64_t m_chunk = 0;
    AnyEvents m_loaded;
    std::size_t m_size = 0;
    std::size_t m_event = static_cast<std::size_t>(-1);  ///< before the first
};

class EventsTable : public RowSource {
public:
    EventsTable(Connection& connection, EventSource& events, std::shared_ptr<void> owner)
        : m_owner(std::move(owner)), m_connection(connection), m_events(events) {}

    [[nodiscard]] std::string declaration() const override { return eventColumnDeclaration(); }

    [[nodiscard]] bool usesConstraintsOn(int column) const override {
        return WantedEvents::uses(column);
    }

    Result<std::unique_ptr<RowCursor>> scan(std::vector<ColumnConstraint> constraints) override {
        if (m_texts == nullptr) {
            auto texts = EventTexts::load(m_connection);
            if (!texts) return failure(texts);
            m_texts = std::make_shared<const EventTexts>(std::move(*texts));
        }
        WantedEvents wanted;
        for (const ColumnConstraint& constraint : constraints) wanted.add(constraint);
        return std::unique_ptr<RowCursor>(
            std::make_unique<EventsCursor>(m_connection, m_events, m_texts, wanted));
    }

private:
    std::shared_ptr<void> m_owner;  ///< of the two below, where no other owner is
    Connection& m_connection;
    EventSource& m_events;
    std::shared_ptr<const EventTexts> m_texts;  ///< loaded with the first scan
};

}  // namespace

Result<void> addEventsTable(Connection& connection, EventSource& events) {
    auto table = std::make_unique<EventsTable>(connection, events, nullptr);
    if (auto added = addVirtualTable(connection, "events", std::move(table)); !added) return added;
    if (auto set = connection.execute("PRAGMA query_only=OFF; PRAGMA temp_store=MEMORY"); !set)
        return set;
    if (auto made = addEventViews(connection); !made) return made;
    if (auto set = connection.execute("PRAGMA query_only=ON"); !set) return set;
    // Connects the tables now: later the authorizer would take their declaration for a write.
    return connection.execute(
        "SELECT 1 FROM events LIMIT 0; SELECT 1 FROM json_each('[]') LIMIT 0;"
        "SELECT 1 FROM json_tree('[]') LIMIT 0; SELECT 1 FROM pragma_table_info('run') LIMIT 0;"
        "SELECT 1 FROM pragma_table_list LIMIT 0");
}

Result<void> addEventsTable(Connection host) {
    struct Parts {
        explicit Parts(Connection opened) : connection(std::move(opened)) {}
        Connection connection;
        EventSource events;
    };
    auto parts = std::make_shared<Parts>(std::move(host));
    Connection& connection = parts->connection;
    // Refreshed once: what a writer adds later is seen by a connection opened later.
    if (!parts->events.refresh(connection))
        return failure(ErrorCode::kUsage, connection.path() +
                                              " is no recording of Shardscope: open one, then "
                                              "load this extension");
    auto table = std::make_unique<EventsTable>(connection, parts->events, parts);
    if (auto added = addVirtualTable(connection, "events", std::move(table)); !added) return added;
    return addEventViews(connection);
}

using enum EventColumn::Index;

void WantedEvents::Span::narrow(Comparison comparison, std::int64_t value) {
    const bool equal = comparison == Comparison::kEqual;
    // The value itself may stay: SQLite leaves it out where it is not meant.
    if (equal || comparison == Comparison::kGreater || comparison == Comparison::kGreaterOrEqual)
        from = std::max(from, value);
    if (equal || comparison == Comparison::kLess || comparison == Comparison::kLessOrEqual)
        to = std::min(to, value);
}

bool WantedEvents::uses(int column) {
    switch (column) {
        case kKind:
        case kRank:
        case kLane:
        case kLaneName:
        case kRole:
        case kName:
        case kStart:
        case kEnd:
            return true;
        default:
            return false;
    }
}

void WantedEvents::add(const ColumnConstraint& constraint) {
    if (const auto* text = std::get_if<std::string>(&constraint.value))
        return addText(constraint, *text);
    const std::int64_t value = std::get<std::int64_t>(constraint.value);
    switch (constraint.column) {
        case kRank:
            return m_rank.narrow(constraint.comparison, value);
        case kLane:
            // Memory events have no lane, so no comparison with one holds for them.
            m_lanesOnly = true;
            return m_lane.narrow(constraint.comparison, value);
        case kStart:
            return m_start.narrow(constraint.comparison, value);
        case kEnd: {
            Span end{m_endFrom};
            end.narrow(constraint.comparison, value);
            m_endFrom = end.from;
            return;
        }
        default:
            return;
    }
}

void WantedEvents::addText(const ColumnConstraint& constraint, const std::string& text) {
    if (constraint.comparison != Comparison::kEqual) return;
    if (constraint.column == kKind) m_kind = text;
    if (constraint.column == kRole) m_role = text;
    if (constraint.column == kName) m_name = text;
    if (constraint.column == kLaneName) m_laneName = text;
}

bool WantedEvents::has(const ChunkDirectory::Lane& lane, const std::string& role,
                       const std::string& ownName) const {
    if (m_kind && *m_kind != toWord(lane.kind)) return false;
    if (!m_rank.has(lane.rank.value)) return false;
    if (lane.kind == EventKind::kMemory) return !m_lanesOnly && !m_role && !m_laneName;
    if (m_role && *m_role != role) return false;
    if (m_laneName && *m_laneName != ownName) return false;
    if (lane.kind == EventKind::kCounter && m_name && *m_name != ownName) return false;
    return m_lane.has(lane.lane.value);
}

}  // namespace shardscope::storage
