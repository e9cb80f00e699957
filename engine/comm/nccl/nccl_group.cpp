#include "engine/comm/nccl/nccl_group.h"

#include "engine/comm/arguments.h"

#include <fmt/format.h>

#include <numeric>
#include <string>
#include <utility>

namespace shardscope::comm {

NcclGroup joinAll(NcclSetup setup) {
    NcclGroup all;
    all.setup = std::move(setup);
    all.worldRanks.resize(static_cast<std::size_t>(all.setup.size));
    std::iota(all.worldRanks.begin(), all.worldRanks.end(), 0);
    NcclHandle handle;
    const int result = all.setup.api->initialise(&handle, all.setup.size, &all.setup.id,
                                                 all.setup.rank, all.setup.name);
    require(all, result, "joining the other ranks");
    all.handle = handle;
    return all;
}

NcclGroup splitOff(const NcclGroup& group, std::span<const int> members, std::uint32_t id) {
    NcclGroup part;
    part.setup = group.setup;
    part.setup.rank = placeAmong(members, group.setup.rank, group.setup.size);
    part.setup.size = static_cast<int>(members.size());
    part.id = id;
    const std::string name = fmt::format("group {}", id);
    // Groups are disjoint, so their first ranks tell them apart.
    require(group,
            group.setup.api->split(group.handle, members.front(), group.setup.rank, &part.handle,
                                   name.c_str()),
            "splitting off a group");
    part.setup.calls.clear();
    for (const int p : members) {
        const auto place = static_cast<std::size_t>(p);
        part.worldRanks.push_back(group.worldRanks[place]);
        if (!group.setup.calls.empty()) part.setup.calls.push_back(group.setup.calls[place]);
    }
    return part;
}

void require(const NcclGroup& group, int result, const char* doing) {
    if (result == kNcclSuccess) return;
    const NcclApi& api = *group.setup.api;
    const char* last = group.handle.handle != nullptr ? api.lastError(group.handle) : "";
    throw CommunicationError(fmt::format("NCCL failed on rank {} of {} in {}: {}{}{}",
                                         group.setup.rank, group.setup.size, doing,
                                         api.errorText(result), *last != '\0' ? "; " : "", last));
}

}  // namespace shardscope::comm
