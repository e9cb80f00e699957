// The communicators of a rank, which are given up together: the first and those split from it.
//
// ncclCommAbort() frees the communicator (src/init.cc of 2.28.9 guards ncclCommDestroy() against a
// second call, not this one): afterwards it may not be touched, nor aborted again.
#pragma once

#include "engine/comm/nccl/nccl_api.h"
#include "engine/comm/nccl/nccl_communicator.h"
#include "engine/control/device_runtime.h"
#include "storage/model/mutex.h"

#include <cstdint>
#include <future>
#include <span>
#include <vector>

namespace shardscope::comm {

/// Any thread.
class NcclHandles {
public:
    /// Both outlive the process's last call of NCCL.
    NcclHandles(const NcclApi& api, control::DeviceRuntime& runtime)
        : m_api(api), m_runtime(runtime) {}

    void add(NcclHandle handle);
    /// Calls `look` unless the communicator was given up; meanwhile it is not given up, so `look`
    /// must not wait for anything.
    template <class Look>
    void inspect(NcclHandle handle, const Look& look) {
        const MutexLock lock(m_mutex);
        if (holds(handle)) look();
    }
    /// Frees one in the ordinary way, unless it was given up.
    void destroy(NcclHandle handle);
    /// Gives all of them up, so that operations that hang end. Each in a thread of its own that
    /// is not waited for: NCCL may hang in it. Nothing when called again.
    void abort();

private:
    void abortOne(NcclHandle handle, std::promise<void> chosen);
    [[nodiscard]] bool holds(NcclHandle handle) const SHARDSCOPE_REQUIRES(m_mutex);

    const NcclApi& m_api;
    control::DeviceRuntime& m_runtime;
    Mutex m_mutex;
    std::vector<NcclHandle> m_handles SHARDSCOPE_GUARDED_BY(m_mutex);
};

/// One communicator of NCCL's own and whom it joins.
struct NcclGroup {
    NcclSetup setup;  ///< rank, size and calls are of this group
    NcclHandle handle;
    std::vector<int> worldRanks;  ///< by rank of this group; for sentences
    std::uint32_t id = 0;         ///< CollectiveReport::group
};

/// All ranks. Blocks until they have joined. Throws CommunicationError.
[[nodiscard]] NcclGroup joinAll(NcclSetup setup);

/// Communicator::split(): blocks until every rank of `group` has called it. Throws
/// CommunicationError.
[[nodiscard]] NcclGroup splitOff(const NcclGroup& group, std::span<const int> members,
                                 std::uint32_t id);

/// Throws CommunicationError with NCCL's own words unless `result` is success.
void require(const NcclGroup& group, int result, const char* doing);

}  // namespace shardscope::comm
