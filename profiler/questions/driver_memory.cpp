#include "profiler/questions/driver_memory.h"

#include "profiler/analysis/intervals.h"
#include "storage/model/overhead_lanes.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace shardscope::questions {
namespace {

/// As CUDA's and HIP's API references name them.
constexpr std::array<std::string_view, 18> kCalls{
    "cudaMalloc",   "cudaFree",        "cudaMallocPitch",   "cudaMallocManaged", "cuMemAlloc",
    "cuMemFree",    "cuMemAllocPitch", "cuMemAllocManaged", "cuMemCreate",       "cuMemMap",
    "cuMemUnmap",   "cuMemRelease",    "hipMalloc",         "hipFree",           "hipMallocManaged",
    "hipMemCreate", "hipMemMap",       "hipMemRelease"};

/// "cudaMalloc_v3020" is Nsight Systems' cudaMalloc, "cuMemAlloc_v2" the driver's.
std::string_view withoutVersion(std::string_view name) {
    const std::size_t version = name.rfind("_v");
    if (version == std::string_view::npos) return name;
    const std::string_view digits = name.substr(version + 2);
    const bool whole = !digits.empty() && digits.find_first_not_of("0123456789") == digits.npos;
    return whole ? name.substr(0, version) : name;
}

using Ranges = std::map<RankId, std::vector<TimeRange>>;

/// Threads call at the same time: what they take together is counted once.
Result<void> addCalls(const Asked& asked, const LaneFacts& lane, Ranges& calls) {
    const auto spans =
        asked.reader.spans(lane.rank, lane.lane, asked.selection.timeOf(asked.summary, lane.rank));
    if (!spans) return failure(spans);
    std::vector<TimeRange>& ofRank = calls[lane.rank];
    std::map<StringId, bool> known;
    for (const SpanEvent& span : *spans) {
        const auto [name, fresh] = known.try_emplace(span.name, false);
        if (fresh) name->second = isDriverMemoryCall(asked.reader.text(lane.rank, span.name));
        if (name->second) ofRank.push_back(span.range());
    }
    return {};
}

}  // namespace

bool isDriverMemoryCall(std::string_view name) {
    return std::find(kCalls.begin(), kCalls.end(), withoutVersion(name)) != kCalls.end();
}

Result<std::map<RankId, Duration>> driverMemoryTime(const Asked& asked,
                                                    const std::set<StepIndex>& steps) {
    Ranges calls;
    for (const LaneFacts& lane : asked.summary.lanes) {
        if (lane.role != LaneRole::kRuntime || isOverheadLane(lane.lane, lane.name)) continue;
        if (auto added = addCalls(asked, lane, calls); !added) return failure(added);
    }
    std::map<RankId, analysis::Intervals> sets;
    for (auto& [rank, ranges] : calls) sets[rank] = analysis::unionOf(std::move(ranges));
    std::map<RankId, Duration> times;
    for (const auto& [rank, set] : sets) times[rank] = {};
    for (const StepFacts& step : asked.summary.steps)
        if (const auto set = sets.find(step.rank); set != sets.end() && steps.contains(step.step))
            times[step.rank] += analysis::total(set->second, step.range());
    return times;
}

}  // namespace shardscope::questions
