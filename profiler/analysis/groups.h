// Which ranks form a group: a recording names groups, and its ranks took part in them.
#pragma once

#include "storage/model/recording.h"

#include <cstdint>
#include <map>
#include <vector>

namespace shardscope::analysis {

/// Ranks that recorded a collective of `group`, ascending, which is the order of a group's places.
/// The world: the ranks of the recording. Empty where nobody did.
[[nodiscard]] std::vector<RankId> groupMembers(const std::vector<RankEvents>& ranks,
                                               std::uint32_t group);

/// All groups of a recording, looked up once.
class Groups {
public:
    explicit Groups(const std::vector<RankEvents>& ranks);
    /// As groupMembers() gives them; any thread.
    [[nodiscard]] const std::vector<RankId>& of(std::uint32_t group) const;

private:
    std::map<std::uint32_t, std::vector<RankId>> m_members;
    std::vector<RankId> m_nobody;
};

}  // namespace shardscope::analysis
