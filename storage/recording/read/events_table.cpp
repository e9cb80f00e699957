#include "storage/recording/read/events_table.h"

#include "storage/columns/chunk.h"
#include "storage/recording/read/argument_texts.h"
#include "storage/recording/read/event_views.h"
#include "storage/sqlite/virtual_table.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>

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
    kArguments,
    kScope,
    kPoint,
    kSpanStart
};

constexpr const char* kDeclaration =
    "kind TEXT, rank INTEGER, lane INTEGER, lane_name TEXT, role TEXT, name TEXT,"
    " start_ns INTEGER, duration_ns INTEGER, end_ns INTEGER, step INTEGER, layer INTEGER,"
    " phase TEXT, depth INTEGER, correlation INTEGER, action TEXT, size_bytes INTEGER,"
    " category TEXT, address INTEGER, value REAL, arguments TEXT, scope TEXT, point TEXT,"
    " span_start_ns INTEGER";

/// What the constraints leave to be read.
struct Wanted {
    std::optional<std::string> kind;
    std::optional<std::string> role;
    std::optional<std::string> name;  ///< of the span, the memory's owner or the counter lane
    std::optional<std::string> laneName;
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
            if (constraint.column == kName) name = *text;
            if (constraint.column == kLaneName) laneName = *text;
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
    [[nodiscard]] bool has(TimeRange event) const {
        return event.begin.ns >= startFrom && event.begin.ns <= startTo && event.end.ns >= endFrom;
    }
    [[nodiscard]] bool has(const ChunkDirectory::Lane& lane, const std::string& laneRole,
                           const std::string& ownName) const {
        if (kind && *kind != toWord(lane.kind)) return false;
        if (lane.rank.value < rankFrom || lane.rank.value > rankTo) return false;
        if (lane.kind == EventKind::kMemory) return !lanesOnly && !role && !laneName;
        if (role && *role != laneRole) return false;
        if (laneName && *laneName != ownName) return false;
        if (lane.kind == EventKind::kCounter && name && *name != ownName) return false;
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
    [[nodiscard]] std::optional<std::string_view> find(RankId rank, StringId id) const {
        const auto at = strings.find(key(rank, id));
        if (at == strings.end()) return std::nullopt;
        return at->second;
    }
    [[nodiscard]] std::string_view text(RankId rank, StringId id) const {
        return find(rank, id).value_or(std::string_view{});
    }
    /// Strings of that text; one that is not in the file is nobody's name.
    [[nodiscard]] std::unordered_set<std::uint64_t> idsOf(const std::string& text) const {
        std::unordered_set<std::uint64_t> ids;
        for (const auto& [id, own] : strings)
            if (own == text) ids.insert(id);
        return ids;
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
        : m_connection(connection), m_events(events), m_names(std::move(names)), m_wanted(wanted) {
        if (wanted.name) m_nameIds = m_names->idsOf(*wanted.name);
        for (const ChunkDirectory::Lane& lane : events.directory().lanes()) {
            const Names::LaneNames own = namesOf(lane);
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
        switch (column) {
            case kKind:
                return std::string_view(toWord(m_lane.kind));
            case kRank:
                return std::int64_t{m_lane.rank.value};
            default:
                break;
        }
        return std::visit(
            [&](const auto& events) -> SqlValue {
                const auto& event = (*events)[m_event];
                switch (column) {
                    case kName:
                        return nameOf(event);
                    case kStart:
                        return rangeOf(event).begin.ns;
                    case kEnd:
                        return rangeOf(event).end.ns;
                    default:
                        return valueOf(event, column);
                }
            },
            m_loaded);
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

    /// SQLite would find out as well, but only after fetching columns by their texts.
    [[nodiscard]] bool isWanted() const {
        return std::visit(
            [&](const auto& events) {
                const auto& event = (*events)[m_event];
                return m_wanted.has(rangeOf(event)) && isNamed(event);
            },
            m_loaded);
    }
    static TimeRange rangeOf(const SpanEvent& event) { return event.range(); }
    template <class Event>
    static TimeRange rangeOf(const Event& event) {
        return {event.time, event.time};
    }
    /// A sample has its lane's name, which the lane was chosen by.
    [[nodiscard]] static bool isNamed(const CounterEvent&) { return true; }
    template <class Event>
    [[nodiscard]] bool isNamed(const Event& event) const {
        const StringId id = nameIdOf(event);
        return !m_wanted.name || m_nameIds.contains(Names::key(m_lane.rank, id)) ||
               (id == kEmptyString && m_wanted.name->empty());
    }
    static StringId nameIdOf(const MemoryEvent& event) { return event.owner; }
    template <class Event>
    static StringId nameIdOf(const Event& event) {
        return event.name;
    }

    Result<void> load(const Chunk& chunk) {
        m_lane = chunk.lane;
        m_chunk = chunk.id;
        m_laneNames = namesOf(m_lane);
        auto events = m_events.chunk(m_connection, {m_lane.kind, chunk.id});
        if (!events) return failure(events);
        m_loaded = std::move(*events);
        m_size = std::visit([](const auto& loaded) { return loaded->size(); }, m_loaded);
        return {};
    }

    [[nodiscard]] SqlValue nameOf(const CounterEvent&) const {
        return std::string_view(m_laneNames.name);
    }
    template <class Event>
    [[nodiscard]] SqlValue nameOf(const Event& event) const {
        return m_names->text(m_lane.rank, nameIdOf(event));
    }
    [[nodiscard]] SqlValue laneValue(int column) const {
        if (column == kLane) return std::int64_t{m_lane.lane.value};
        if (column == kLaneName) return std::string_view(m_laneNames.name);
        if (column == kRole) return std::string_view(m_laneNames.role);
        return std::monostate{};
    }
    [[nodiscard]] SqlValue valueOf(const SpanEvent& event, int column) const {
        switch (column) {
            case kDuration:
                return event.duration.ns;
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
                return argumentsOf(event.arguments);
            default:
                return laneValue(column);
        }
    }
    [[nodiscard]] SqlValue argumentsOf(StringId id) const {
        if (id == kEmptyString) return std::monostate{};
        if (!columns::isArguments(id)) return m_names->text(m_lane.rank, id);
        const std::string_view json = m_arguments.text(
            m_connection, m_lane.rank, id,
            [this](RankId rank, StringId each) { return m_names->find(rank, each); });
        if (json.empty()) return std::monostate{};
        return json;
    }
    [[nodiscard]] SqlValue valueOf(const MemoryEvent& event, int column) const {
        switch (column) {
            case kStep:
                return orNull(event.step.value, kNoStep.value);
            case kLayer:
                return orNull(event.layer.value, kNoLayer.value);
            case kPhase:
                return std::string_view(toWord(event.phase));
            case kAction:
                return std::string_view(toWord(event.action));
            case kSize:
                return event.size.count;
            case kCategory:
                return std::string_view(toWord(event.category));
            case kAddress:
                return static_cast<std::int64_t>(event.address);
            case kArguments:
                return argumentsOf(event.arguments);
            default:
                return std::monostate{};
        }
    }
    [[nodiscard]] SqlValue valueOf(const CounterEvent& event, int column) const {
        if (column == kValue) return event.value;
        return laneValue(column);
    }
    [[nodiscard]] SqlValue valueOf(const InstantEvent& event, int column) const {
        switch (column) {
            case kStep:
                return orNull(event.step.value, kNoStep.value);
            case kScope:
                return std::string_view(toWord(event.scope));
            case kArguments:
                return argumentsOf(event.arguments);
            default:
                return laneValue(column);
        }
    }
    [[nodiscard]] SqlValue valueOf(const FlowEvent& event, int column) const {
        switch (column) {
            case kStep:
                return orNull(event.step.value, kNoStep.value);
            case kCategory:
                return m_names->text(m_lane.rank, event.category);
            case kCorrelation:
                if (event.idText != kEmptyString) return m_names->text(m_lane.rank, event.idText);
                return static_cast<std::int64_t>(event.id);
            case kPoint:
                return std::string_view(toWord(event.point));
            case kSpanStart:
                if (!event.bound) return std::monostate{};
                return event.spanStart.ns;
            case kArguments:
                return argumentsOf(event.arguments);
            default:
                return laneValue(column);
        }
    }

    Connection& m_connection;
    EventSource& m_events;
    std::shared_ptr<const Names> m_names;
    Wanted m_wanted;
    std::unordered_set<std::uint64_t> m_nameIds;  ///< strings that are the wanted name
    std::vector<Chunk> m_chunks;
    std::size_t m_next = 0;  ///< chunk to load
    std::int64_t m_chunk = 0;
    ChunkDirectory::Lane m_lane{};
    Names::LaneNames m_laneNames;
    mutable ArgumentTexts m_arguments;  ///< decoded as they are asked for
    AnyEvents m_loaded;
    std::size_t m_size = 0;
    std::size_t m_event = static_cast<std::size_t>(-1);  ///< before the first
};

class EventsTable : public RowSource {
public:
    EventsTable(Connection& connection, EventSource& events, std::shared_ptr<void> owner)
        : m_owner(std::move(owner)), m_connection(connection), m_events(events) {}

    [[nodiscard]] std::string declaration() const override { return kDeclaration; }

    [[nodiscard]] bool usesConstraintsOn(int column) const override {
        return column == kKind || column == kRank || column == kLane || column == kRole ||
               column == kName || column == kLaneName || column == kStart || column == kEnd;
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
    std::shared_ptr<void> m_owner;  ///< of the two below, where nobody else is
    Connection& m_connection;
    EventSource& m_events;
    std::shared_ptr<const Names> m_names;  ///< loaded with the first scan
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
        "SELECT 1 FROM json_tree('[]') LIMIT 0");
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

}  // namespace shardscope::storage
