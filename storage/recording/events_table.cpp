#include "storage/recording/events_table.h"

#include "storage/columns/chunk.h"
#include "storage/sqlite/virtual_table.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace shardscope::storage {
namespace {

enum Column : int {
    kKind,
    kRank,
    kLane,
    kLaneName,
    kRole,
    kName,
    kStart,
    kDuration,
    kEnd,
    kStep,
    kLayer,
    kPhase,
    kDepth,
    kCorrelation,
    kAction,
    kSize,
    kCategory,
    kAddress,
    kValue,
    kArguments
};

constexpr const char* kDeclaration =
    "kind TEXT, rank INTEGER, lane INTEGER, lane_name TEXT, role TEXT, name TEXT,"
    " start_ns INTEGER, duration_ns INTEGER, end_ns INTEGER, step INTEGER, layer INTEGER,"
    " phase TEXT, depth INTEGER, correlation INTEGER, action TEXT, size_bytes INTEGER,"
    " category TEXT, address INTEGER, value REAL, arguments TEXT";

constexpr const char* kViews =
    "CREATE TEMP VIEW operators AS SELECT rank, lane, name, start_ns, duration_ns, end_ns, step,"
    " layer, phase, depth, correlation, arguments FROM events WHERE kind='span' AND role='host';"
    "CREATE TEMP VIEW phases AS SELECT rank, lane, name, phase, layer, step, start_ns, duration_ns,"
    " end_ns FROM events WHERE kind='span' AND role='compute' AND correlation=0;"
    "CREATE TEMP VIEW kernels AS SELECT rank, lane, name, start_ns, duration_ns, end_ns, step,"
    " layer, phase, correlation, arguments FROM events"
    " WHERE kind='span' AND role='compute' AND correlation<>0;"
    "CREATE TEMP VIEW memory_events AS SELECT rank, start_ns AS time_ns, action, size_bytes,"
    " category, address, name AS owner, step, layer, phase FROM events WHERE kind='memory';"
    "CREATE TEMP VIEW counters AS SELECT rank, lane, lane_name AS name, start_ns AS time_ns, value"
    " FROM events WHERE kind='counter';";

/// What the constraints leave to be read.
struct Wanted {
    std::optional<std::string> kind;
    std::optional<std::string> role;
    std::int64_t rankFrom = 0, rankTo = std::numeric_limits<std::int64_t>::max();
    std::int64_t laneFrom = 0, laneTo = std::numeric_limits<std::int64_t>::max();
    std::int64_t startFrom = std::numeric_limits<std::int64_t>::min();
    std::int64_t startTo = std::numeric_limits<std::int64_t>::max();
    std::int64_t endFrom = std::numeric_limits<std::int64_t>::min();

    void add(const ColumnConstraint& constraint) {
        if (const auto* text = std::get_if<std::string>(&constraint.value)) {
            if (constraint.comparison != Comparison::kEqual) return;
            if (constraint.column == kKind) kind = *text;
            if (constraint.column == kRole) role = *text;
            return;
        }
        const std::int64_t value = std::get<std::int64_t>(constraint.value);
        const bool from = constraint.comparison == Comparison::kGreater ||
                          constraint.comparison == Comparison::kGreaterOrEqual;
        const bool to = constraint.comparison == Comparison::kLess ||
                        constraint.comparison == Comparison::kLessOrEqual;
        const bool equal = constraint.comparison == Comparison::kEqual;
        const auto narrow = [&](std::int64_t& low, std::int64_t& high) {
            if (from || equal) low = std::max(low, value);
            if (to || equal) high = std::min(high, value);
        };
        std::int64_t unbounded = std::numeric_limits<std::int64_t>::max();
        if (constraint.column == kRank) narrow(rankFrom, rankTo);
        if (constraint.column == kLane) {
            narrow(laneFrom, laneTo);
            // Memory events have no lane, so no comparison with one holds for them.
            lanesOnly = true;
        }
        if (constraint.column == kStart) narrow(startFrom, startTo);
        if (constraint.column == kEnd) narrow(endFrom, unbounded);
    }
    bool lanesOnly = false;

    [[nodiscard]] bool has(const ChunkEntry& chunk) const {
        return chunk.first.ns <= startTo && chunk.last.ns >= std::max(startFrom, endFrom);
    }
    [[nodiscard]] bool has(const ChunkDirectory::Lane& lane, const std::string& laneRole) const {
        if (kind && *kind != toWord(lane.kind)) return false;
        if (lane.rank.value < rankFrom || lane.rank.value > rankTo) return false;
        if (lane.kind == EventKind::kMemory) return !lanesOnly && !role;
        if (role && *role != laneRole) return false;
        return lane.lane.value >= laneFrom && lane.lane.value <= laneTo;
    }
};

/// Lanes and strings of the recording, for the text columns.
struct Names {
    struct LaneNames {
        std::string name;
        std::string role;
    };
    std::map<std::pair<RankId, LaneId>, LaneNames> lanes;
    std::unordered_map<std::uint64_t, std::string> strings;

    static std::uint64_t key(RankId rank, StringId id) {
        return std::uint64_t{rank.value} << 32 | id.value;
    }
    [[nodiscard]] std::string_view text(RankId rank, StringId id) const {
        const auto at = strings.find(key(rank, id));
        return at == strings.end() ? std::string_view{} : at->second;
    }
    Result<void> load(Connection& connection);
};

Result<void> Names::load(Connection& connection) {
    auto lane = connection.prepare("SELECT rank, lane, name, role FROM lanes");
    if (!lane) return failure(lane);
    while (true) {
        auto row = lane->step();
        if (!row) return failure(row);
        if (!*row) break;
        lanes[{{static_cast<std::uint32_t>(lane->integer(0))},
               {static_cast<std::uint32_t>(lane->integer(1))}}] = {
            std::string(lane->text(2)), toWord(static_cast<LaneRole>(lane->integer(3)))};
    }
    auto string = connection.prepare("SELECT rank, id, text FROM strings");
    if (!string) return failure(string);
    while (true) {
        auto row = string->step();
        if (!row) return failure(row);
        if (!*row) return {};
        strings[key({static_cast<std::uint32_t>(string->integer(0))},
                    {static_cast<std::uint32_t>(string->integer(1))})] = string->text(2);
    }
}

SqlValue orNull(std::int64_t value, std::int64_t none) {
    if (value == none) return std::monostate{};
    return value;
}

/// Goes through wanted lanes, their wanted chunks and all events of those, in stored order.
class EventsCursor : public RowCursor {
public:
    EventsCursor(Connection& connection, EventSource& events, std::shared_ptr<const Names> names,
                 const Wanted& wanted)
        : m_connection(connection), m_events(events), m_names(std::move(names)) {
        for (const ChunkDirectory::Lane& lane : events.directory().lanes()) {
            if (!wanted.has(lane, namesOf(lane).role)) continue;
            for (const ChunkEntry& chunk : *lane.chunks)
                if (wanted.has(chunk)) m_chunks.push_back({lane, chunk.id});
        }
    }

    Result<bool> next() override {
        ++m_event;
        while (m_event >= m_size) {
            if (m_next == m_chunks.size()) return false;
            if (auto loaded = load(m_chunks[m_next++]); !loaded) return failure(loaded);
            m_event = 0;
        }
        return true;
    }

    [[nodiscard]] SqlValue value(int column) const override {
        switch (column) {
            case kKind:
                return std::string_view(toWord(m_lane.kind));
            case kRank:
                return std::int64_t{m_lane.rank.value};
            default:
                break;
        }
        switch (m_lane.kind) {
            case EventKind::kSpan:
                return spanValue((*m_spans)[m_event], column);
            case EventKind::kMemory:
                return memoryValue((*m_memory)[m_event], column);
            case EventKind::kCounter:
                return counterValue((*m_counters)[m_event], column);
            case EventKind::kCollective:
                break;
        }
        return std::monostate{};
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

    [[nodiscard]] Names::LaneNames namesOf(const ChunkDirectory::Lane& lane) const {
        const auto at = m_names->lanes.find({lane.rank, lane.lane});
        return at == m_names->lanes.end() ? Names::LaneNames{} : at->second;
    }

    Result<void> load(const Chunk& chunk) {
        m_lane = chunk.lane;
        m_chunk = chunk.id;
        m_laneNames = namesOf(m_lane);
        const auto keep = [this](auto& into, auto&& events) -> Result<void> {
            if (!events) return failure(events);
            into = std::move(*events);
            m_size = into->size();
            return {};
        };
        switch (m_lane.kind) {
            case EventKind::kSpan:
                return keep(m_spans, m_events.spanChunk(m_connection, chunk.id));
            case EventKind::kMemory:
                return keep(m_memory, m_events.memoryChunk(m_connection, chunk.id));
            case EventKind::kCounter:
                return keep(m_counters, m_events.counterChunk(m_connection, chunk.id));
            case EventKind::kCollective:
                break;
        }
        m_size = 0;
        return {};
    }

    [[nodiscard]] SqlValue laneValue(int column) const {
        if (column == kLane) return std::int64_t{m_lane.lane.value};
        if (column == kLaneName) return std::string_view(m_laneNames.name);
        if (column == kRole) return std::string_view(m_laneNames.role);
        return std::monostate{};
    }
    [[nodiscard]] SqlValue spanValue(const SpanEvent& event, int column) const {
        switch (column) {
            case kName:
                return m_names->text(m_lane.rank, event.name);
            case kStart:
                return event.start.ns;
            case kDuration:
                return event.duration.ns;
            case kEnd:
                return event.end().ns;
            case kStep:
                return orNull(event.step.value, kNoStep.value);
            case kLayer:
                return orNull(event.layer.value, kNoLayer.value);
            case kPhase:
                return std::string_view(toWord(event.phase));
            case kDepth:
                return std::int64_t{event.depth};
            case kCorrelation:
                return static_cast<std::int64_t>(event.correlation);
            case kArguments:
                if (event.arguments == kEmptyString) return std::monostate{};
                return m_names->text(m_lane.rank, event.arguments);
            default:
                return laneValue(column);
        }
    }
    [[nodiscard]] SqlValue memoryValue(const MemoryEvent& event, int column) const {
        const bool allocate = event.action == MemoryAction::kAllocate;
        switch (column) {
            case kName:
                return m_names->text(m_lane.rank, event.owner);
            case kStart:
            case kEnd:
                return event.time.ns;
            case kStep:
                return orNull(event.step.value, kNoStep.value);
            case kLayer:
                return orNull(event.layer.value, kNoLayer.value);
            case kPhase:
                return std::string_view(toWord(event.phase));
            case kAction:
                return std::string_view(allocate ? "allocate" : "free");
            case kSize:
                return event.size.count;
            case kCategory:
                return std::string_view(toWord(event.category));
            case kAddress:
                return static_cast<std::int64_t>(event.address);
            default:
                return std::monostate{};
        }
    }
    [[nodiscard]] SqlValue counterValue(const CounterEvent& event, int column) const {
        switch (column) {
            case kName:
                return std::string_view(m_laneNames.name);
            case kStart:
            case kEnd:
                return event.time.ns;
            case kValue:
                return event.value;
            default:
                return laneValue(column);
        }
    }

    Connection& m_connection;
    EventSource& m_events;
    std::shared_ptr<const Names> m_names;
    std::vector<Chunk> m_chunks;
    std::size_t m_next = 0;  ///< chunk to load
    std::int64_t m_chunk = 0;
    ChunkDirectory::Lane m_lane{};
    Names::LaneNames m_laneNames;
    EventsPtr<SpanEvent> m_spans;
    EventsPtr<MemoryEvent> m_memory;
    EventsPtr<CounterEvent> m_counters;
    std::size_t m_size = 0;
    std::size_t m_event = static_cast<std::size_t>(-1);  ///< before the first
};

class EventsTable : public RowSource {
public:
    EventsTable(Connection& connection, EventSource& events)
        : m_connection(connection), m_events(events) {}

    [[nodiscard]] std::string declaration() const override { return kDeclaration; }

    [[nodiscard]] bool usesConstraintsOn(int column) const override {
        return column == kKind || column == kRank || column == kLane || column == kRole ||
               column == kStart || column == kEnd;
    }

    Result<std::unique_ptr<RowCursor>> scan(std::vector<ColumnConstraint> constraints) override {
        if (m_names == nullptr) {
            auto names = std::make_shared<Names>();
            if (auto loaded = names->load(m_connection); !loaded) return failure(loaded);
            m_names = std::move(names);
        }
        Wanted wanted;
        for (const ColumnConstraint& constraint : constraints) wanted.add(constraint);
        return std::unique_ptr<RowCursor>(
            std::make_unique<EventsCursor>(m_connection, m_events, m_names, wanted));
    }

private:
    Connection& m_connection;
    EventSource& m_events;
    std::shared_ptr<const Names> m_names;  ///< loaded with the first scan
};

}  // namespace

Result<void> addEventsTable(Connection& connection, EventSource& events) {
    auto added =
        addVirtualTable(connection, "events", std::make_unique<EventsTable>(connection, events));
    if (!added) return added;
    // The views are temporary: they live in this connection, not in the file.
    auto made = connection.execute(std::string("PRAGMA query_only=OFF; PRAGMA temp_store=MEMORY;") +
                                   kViews + "PRAGMA query_only=ON;");
    if (!made) return made;
    // Connects the table now: later the authorizer would take its declaration for a write.
    return connection.execute("SELECT 1 FROM events LIMIT 0");
}

}  // namespace shardscope::storage
