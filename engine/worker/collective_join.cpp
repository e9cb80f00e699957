#include "engine/worker/collective_join.h"

#include <utility>

namespace shardscope::worker {

void CollectiveJoin::expect(bool kernels) {
    const MutexLock lock(m_mutex);
    m_expected = kernels;
}

void CollectiveJoin::report(const CollectiveEvent& event, std::uint64_t captured) {
    const MutexLock lock(m_mutex);
    m_reports.push_back({event, m_expected, captured});
}

void CollectiveJoin::kernel(const capture::CollectiveKernel& kernel) {
    const MutexLock lock(m_mutex);
    m_kernels.push_back(kernel);
}

collectors::NcclJoinCounts CollectiveJoin::counts() const {
    const MutexLock collecting(m_collecting);
    return m_join.counts();
}

void CollectiveJoin::collect(collectors::NcclProfiler* profiler, bool everything,
                             const std::function<void(const CollectiveEvent&)>& store) {
    const MutexLock collecting(m_collecting);
    Reports reports;
    Kernels kernels;
    {
        const MutexLock lock(m_mutex);
        reports = std::exchange(m_reports, {});
        kernels = std::exchange(m_kernels, {});
    }
    m_records.clear();
    if (profiler != nullptr) profiler->drain(m_records);
    for (const Report& report : reports)
        m_join.report(report.event, report.expected, report.captured);
    for (const collectors::NcclRecord& record : m_records) m_join.record(record);
    for (const capture::CollectiveKernel& kernel : kernels) m_join.kernel(kernel);
    m_complete.clear();
    m_join.take(m_complete, everything);
    for (const CollectiveEvent& event : m_complete) store(event);
}

}  // namespace shardscope::worker
