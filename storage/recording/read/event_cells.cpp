#include "storage/recording/read/event_cells.h"

#include "storage/columns/chunk.h"
#include "storage/model/lanes.h"
#include "storage/model/words.h"

namespace shardscope::storage {
namespace {

RankId rankIn(const Statement& row, int column) {
    return {static_cast<std::uint32_t>(row.integer(column))};
}

}  // namespace

using enum EventColumn::Index;

namespace {

SqlValue orNull(std::int64_t value, std::int64_t none) {
    if (value == none) return std::monostate{};
    return value;
}

}  // namespace

void EventCells::enter(const ChunkDirectory::Lane& lane) {
    m_lane = lane;
    m_laneTexts = m_texts->lane(lane.rank, lane.lane);
}

SqlValue EventCells::laneValue(int column) const {
    if (column == kLane) return std::int64_t{m_lane.lane.value};
    if (column == kLaneName) return std::string_view(m_laneTexts.name);
    if (column == kRole) return std::string_view(m_laneTexts.role);
    return std::monostate{};
}

SqlValue EventCells::valueOf(const SpanEvent& event, int column) const {
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

SqlValue EventCells::argumentsOf(StringId id) const {
    if (id == kEmptyString) return std::monostate{};
    if (!columns::isArguments(id)) return m_texts->text(m_lane.rank, id);
    const std::string_view json =
        m_arguments.text(m_connection, m_lane.rank, id,
                         [this](RankId rank, StringId each) { return m_texts->find(rank, each); });
    if (json.empty()) return std::monostate{};
    return json;
}

SqlValue EventCells::valueOf(const MemoryEvent& event, int column) const {
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

SqlValue EventCells::valueOf(const CounterEvent& event, int column) const {
    if (column == kValue) return event.value;
    return laneValue(column);
}

SqlValue EventCells::valueOf(const InstantEvent& event, int column) const {
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

SqlValue EventCells::valueOf(const FlowEvent& event, int column) const {
    switch (column) {
        case kStep:
            return orNull(event.step.value, kNoStep.value);
        case kCategory:
            return m_texts->text(m_lane.rank, event.category);
        case kCorrelation:
            if (event.idText != kEmptyString) return m_texts->text(m_lane.rank, event.idText);
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

Result<EventTexts> EventTexts::load(Connection& connection) {
    EventTexts texts;
    if (auto done = texts.loadLanes(connection); !done) return failure(done);
    if (auto done = texts.loadStrings(connection); !done) return failure(done);
    return texts;
}

Result<void> EventTexts::loadLanes(Connection& connection) {
    auto select = connection.prepare("SELECT rank, lane, name, role FROM lanes");
    if (!select) return failure(select);
    while (true) {
        auto row = select->step();
        if (!row) return failure(row);
        if (!*row) return {};
        const LaneId lane{static_cast<std::uint32_t>(select->integer(1))};
        m_lanes[{rankIn(*select, 0), lane}] = {std::string(select->text(2)),
                                               toWord(static_cast<LaneRole>(select->integer(3)))};
    }
}

Result<void> EventTexts::loadStrings(Connection& connection) {
    auto select = connection.prepare("SELECT rank, id, text FROM strings");
    if (!select) return failure(select);
    while (true) {
        auto row = select->step();
        if (!row) return failure(row);
        if (!*row) return {};
        const StringId id{static_cast<std::uint32_t>(select->integer(1))};
        m_strings[key(rankIn(*select, 0), id)] = select->text(2);
    }
}

EventTexts::LaneTexts EventTexts::lane(RankId rank, LaneId lane) const {
    const auto at = m_lanes.find({rank, lane});
    return at == m_lanes.end() ? LaneTexts{} : at->second;
}

std::optional<std::string_view> EventTexts::find(RankId rank, StringId id) const {
    const auto at = m_strings.find(key(rank, id));
    if (at == m_strings.end()) return std::nullopt;
    return at->second;
}

std::unordered_set<EventTexts::Key> EventTexts::idsOf(const std::string& text) const {
    std::unordered_set<Key> ids;
    for (const auto& [id, own] : m_strings)
        if (own == text) ids.insert(id);
    return ids;
}

}  // namespace shardscope::storage
