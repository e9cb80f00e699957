#include "engine/comm/nccl/nccl_handles.h"

#include "engine/comm/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <thread>
#include <utility>

namespace shardscope::comm {

void NcclHandles::add(NcclHandle handle) {
    const MutexLock lock(m_mutex);
    m_handles.push_back(handle);
}

bool NcclHandles::holds(NcclHandle handle) const {
    return std::find(m_handles.begin(), m_handles.end(), handle) != m_handles.end();
}

void NcclHandles::destroy(NcclHandle handle) {
    {
        const MutexLock lock(m_mutex);
        if (!holds(handle)) return;
        std::erase(m_handles, handle);
    }
    m_api.destroy(handle);
}

/// Its own thread's whole work.
void NcclHandles::abortOne(NcclHandle handle, std::promise<void> chosen) {
    try {
        // NCCL sets the thread's device back to what it was before, which would be device 0.
        m_runtime.use();
    } catch (const control::DeviceError&) {
        chosen.set_value();
        return;  // a lost device has nothing to give up
    }
    const NcclApi& api = m_api;
    chosen.set_value();  // from here on this object may be gone
    api.abort(handle);
}

void NcclHandles::abort() {
    std::vector<NcclHandle> handles;
    {
        const MutexLock lock(m_mutex);
        handles = std::exchange(m_handles, {});
    }
    for (const NcclHandle handle : handles) {
        std::promise<void> promise;
        const std::future<void> chosen = promise.get_future();
        std::thread(&NcclHandles::abortOne, this, handle, std::move(promise)).detach();
        chosen.wait();
    }
}

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
