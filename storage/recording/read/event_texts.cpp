#include "storage/recording/read/event_texts.h"

#include "storage/model/lanes.h"
#include "storage/model/words.h"

namespace shardscope::storage {
namespace {

RankId rankIn(const Statement& row, int column) {
    return {static_cast<std::uint32_t>(row.integer(column))};
}

}  // namespace

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
