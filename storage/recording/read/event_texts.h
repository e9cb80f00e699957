// Lanes and strings of a recording, for the text columns of `events`. Read once, then any thread.
#pragma once

#include "storage/model/ids.h"
#include "storage/model/result.h"
#include "storage/sqlite/connection.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace shardscope::storage {

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
    /// Strings of that text; one that is not in the file is nobody's name.
    [[nodiscard]] std::unordered_set<Key> idsOf(const std::string& text) const;

private:
    Result<void> loadLanes(Connection& connection);
    Result<void> loadStrings(Connection& connection);

    std::map<std::pair<RankId, LaneId>, LaneTexts> m_lanes;
    std::unordered_map<Key, std::string> m_strings;
};

}  // namespace shardscope::storage
