#include "profiler/collectors/nccl/nccl_replays.h"

#include "profiler/collectors/nccl/nccl_join.h"

#include <algorithm>

namespace shardscope::collectors {
namespace {

/// Captured collectives that are remembered: those of graphs that were captured anew are not
/// needed.
constexpr std::size_t kMostCaptured = std::size_t{1} << 16;
/// By how much the device's events and the tracer may disagree about a kernel; micro-steps, between
/// which a collective comes again, take longer.
constexpr std::int64_t kSlackNs = 200'000;

/// From the middle of `range` to `when`; 0: it lies within.
std::int64_t distance(TimeRange range, TimeRange when) {
    const std::int64_t middle = range.begin.ns + (range.end - range.begin).ns / 2;
    return std::max({std::int64_t{0}, when.begin.ns - middle, middle - when.end.ns});
}

}  // namespace

/// A host callback may tell of the same tasks again at each replay.
void NcclReplays::record(const NcclRecord& record) {
    NcclChoice& choice = m_captured[{record.own.group, record.own.sequence}];
    const bool task = record.kind == NcclRecordKind::kCollective;
    if (task && choice.algorithm == nullptr) {
        choice.algorithm = record.algorithm;
        choice.protocol = record.protocol;
        choice.payload = ncclPayload(record).value_or(Bytes{}).count;
    }
    if (record.callDataType != nullptr) choice.dataType = record.callDataType;
    const auto& launches = choice.launches;
    if (record.launch != 0 &&
        std::find(launches.begin(), launches.end(), record.launch) == launches.end())
        choice.launches.push_back(record.launch);
    if (m_captured.size() > kMostCaptured) m_captured.erase(m_captured.begin());
}

void NcclReplays::kernel(const capture::CollectiveKernel& kernel, std::uint64_t delivery) {
    m_kernels[kernel.launch].push_back({{kernel.start, kernel.end}, delivery});
    if (!m_latest || *m_latest < kernel.start) m_latest = kernel.start;
}

const NcclChoice* NcclReplays::find(const Key& key) const {
    const auto found = m_captured.find(key);
    return found == m_captured.end() ? nullptr : &found->second;
}

std::optional<TimeRange> NcclReplays::kernelTimes(const NcclChoice& choice, TimeRange when) const {
    std::optional<TimeRange> whole;
    for (const std::uint64_t launch : choice.launches) {
        const auto found = m_kernels.find(launch);
        if (found == m_kernels.end()) return std::nullopt;
        const auto nearest = std::min_element(
            found->second.begin(), found->second.end(), [&](const Kernel& a, const Kernel& b) {
                return distance(a.range, when) < distance(b.range, when);
            });
        const TimeRange range = nearest->range;
        if (distance(range, when) > kSlackNs) return std::nullopt;
        whole =
            whole ? TimeRange{std::min(whole->begin, range.begin), std::max(whole->end, range.end)}
                  : range;
    }
    return whole;
}

void NcclReplays::forgetBefore(std::uint64_t delivery) {
    for (auto& [launch, kernels] : m_kernels)
        std::erase_if(kernels, [&](const Kernel& kernel) { return kernel.delivery < delivery; });
    std::erase_if(m_kernels, [](const auto& entry) { return entry.second.empty(); });
}

}  // namespace shardscope::collectors
