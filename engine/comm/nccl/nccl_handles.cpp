#include "engine/comm/nccl/nccl_handles.h"

#include <algorithm>
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

}  // namespace shardscope::comm
