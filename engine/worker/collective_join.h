// Brings the three words about a GPU collective together: the communicator's report (watcher
// thread), the tracer's kernel (decoder thread) and NCCL's profiler records (any thread).
//
// The first two are only put down under a lock; collect() does the work on the outbox thread.
#pragma once

#include "profiler/collectors/nccl/nccl_join.h"
#include "profiler/collectors/nccl/nccl_profiler.h"
#include "storage/model/events.h"

#include <functional>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope::worker {

class CollectiveJoin {
public:
    explicit CollectiveJoin(std::function<StringId(std::string_view)> intern)
        : m_join(std::move(intern)) {}

    /// Whether NCCL and the tracer will tell of collectives reported from now on.
    void expect(bool kernels);
    void report(const CollectiveEvent& event);
    void kernel(const capture::CollectiveKernel& kernel);

    /// Hands what is complete, or has waited long enough, to `store`. `profiler` may be null.
    void collect(collectors::NcclProfiler* profiler, Timestamp now, bool everything,
                 const std::function<void(const CollectiveEvent&)>& store);

    /// Outbox thread.
    [[nodiscard]] const collectors::NcclJoinCounts& counts() const { return m_join.counts(); }

private:
    std::mutex m_mutex;
    bool m_expected = false;                                  // guarded by m_mutex
    std::vector<std::pair<CollectiveEvent, bool>> m_reports;  // guarded by m_mutex
    std::vector<capture::CollectiveKernel> m_kernels;         // guarded by m_mutex

    // Outbox thread.
    collectors::NcclJoin m_join;
    std::vector<collectors::NcclRecord> m_records;
    std::vector<CollectiveEvent> m_complete;
};

}  // namespace shardscope::worker
