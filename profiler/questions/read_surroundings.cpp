#include "profiler/questions/read_surroundings.h"

#include "profiler/analysis/findings.h"
#include "profiler/analysis/intervals.h"
#include "storage/model/lanes.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace shardscope::questions {
namespace {

/// As the sampler of devices calls it (profiler/collectors/nvml/nvml_sampler.h).
constexpr const char* kDeviceClock = "SM clock";

/// The middle one, where it was sampled.
Result<void> addClock(storage::RecordingReader& reader, const RecordingSummary& summary,
                      RankId rank, TimeRange time, analysis::Surroundings& around) {
    for (const LaneFacts& lane : summary.lanes) {
        if (lane.rank != rank || lane.role != LaneRole::kCounter || lane.name != kDeviceClock)
            continue;
        const auto samples = reader.samples(rank, lane.lane, time);
        if (!samples) return failure(samples);
        std::vector<double> values;
        for (const CounterEvent& sample : *samples) values.push_back(sample.value);
        if (!values.empty()) around.deviceClocks[rank] = analysis::medianOf(std::move(values));
    }
    return {};
}

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

}  // namespace

Result<void> addSurroundings(storage::RecordingReader& reader, const RecordingSummary& summary,
                             const Selection& selection, RankId rank,
                             analysis::Surroundings& around) {
    const TimeRange time = selection.timeOf(summary, rank);
    if (auto added = addClock(reader, summary, rank, time, around); !added) return added;
    auto memory = driverMemoryTime(reader, summary, rank, time);
    if (!memory) return failure(memory);
    if (*memory) around.driverMemory[rank] = std::move(**memory);
    return {};
}

Result<analysis::Surroundings> surroundings(storage::RecordingReader& reader,
                                            const RecordingSummary& summary,
                                            const Selection& selection) {
    analysis::Surroundings around;
    for (const RankFacts& rank : summary.ranks)
        if (auto added = addSurroundings(reader, summary, selection, rank.rank, around); !added)
            return failure(added);
    return around;
}

bool isDriverMemoryCall(std::string_view name) {
    return std::find(kCalls.begin(), kCalls.end(), withoutVersion(name)) != kCalls.end();
}

Result<std::optional<std::map<StepIndex, Duration>>> driverMemoryTime(
    storage::RecordingReader& reader, const RecordingSummary& summary, RankId rank,
    TimeRange range) {
    std::vector<TimeRange> calls;
    bool traced = false;
    for (const LaneFacts& lane : summary.lanes) {
        if (lane.rank != rank || lane.role != LaneRole::kRuntime ||
            isOverheadLane(lane.lane, lane.name))
            continue;
        traced = true;
        const auto spans = reader.spans(rank, lane.lane, range);
        if (!spans) return failure(spans);
        std::map<StringId, bool> known;
        for (const SpanEvent& span : *spans) {
            const auto [name, fresh] = known.try_emplace(span.name, false);
            if (fresh) name->second = isDriverMemoryCall(reader.text(rank, span.name));
            if (name->second) calls.push_back(span.range());
        }
    }
    std::map<StepIndex, Duration> times;
    if (!traced) return std::optional<std::map<StepIndex, Duration>>();
    // Threads call at the same time: what they take together is counted once.
    const analysis::Intervals all = analysis::unionOf(std::move(calls));
    for (const StepFacts& step : summary.steps)
        if (step.rank == rank) times[step.step] += analysis::total(all, step.range());
    return std::optional(std::move(times));
}

}  // namespace shardscope::questions
