// Brings the three words about a GPU collective together: the communicator's report (watcher
// thread), the tracer's kernel (decoder thread) and NCCL's profiler records (any thread).
//
// The first two are only put down under a lock; collect() does the work, on the outbox thread or,
// at the end, the step thread.
#pragma once

#include "profiler/collectors/nccl/nccl_join.h"
#include "profiler/collectors/nccl/nccl_profiler.h"
#include "storage/model/events.h"
#include "storage/model/mutex.h"

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace shardscope::worker {

class CollectiveJoin {
public:
    explicit CollectiveJoin(std::function<StringId(std::string_view)> intern)
        : m_join(std::move(intern)) {}

    /// Whether NCCL and the tracer will tell of collectives reported from now on.
    void expect(bool kernels);
    /// `captured`: CollectiveReport's.
    void report(const CollectiveEvent& event, std::uint64_t captured = 0);
    void kernel(const capture::CollectiveKernel& kernel);

    /// Hands what is complete, or will not be any more, to `store`; everything when `everything`.
    /// `profiler` may be null.
    void collect(collectors::NcclProfiler* profiler, bool everything,
                 const std::function<void(const CollectiveEvent&)>& store);

    /// Of what was collected so far; any thread.
    [[nodiscard]] collectors::NcclJoinCounts counts() const;

private:
    struct Report {
        CollectiveEvent event;
        bool expected = false;  ///< its kernel is
        std::uint64_t captured = 0;
    };
    using Reports = std::vector<Report>;
    using Kernels = std::vector<capture::CollectiveKernel>;

    Mutex m_mutex;  ///< held for moments
    bool m_expected SHARDSCOPE_GUARDED_BY(m_mutex) = false;
    Reports m_reports SHARDSCOPE_GUARDED_BY(m_mutex);
    Kernels m_kernels SHARDSCOPE_GUARDED_BY(m_mutex);

    mutable Mutex m_collecting;  ///< held by collect(); before m_mutex
    collectors::NcclJoin m_join SHARDSCOPE_GUARDED_BY(m_collecting);
    std::vector<collectors::NcclRecord> m_records SHARDSCOPE_GUARDED_BY(m_collecting);
    std::vector<CollectiveEvent> m_complete SHARDSCOPE_GUARDED_BY(m_collecting);
};

}  // namespace shardscope::worker
