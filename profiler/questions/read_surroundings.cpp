#include "profiler/questions/read_surroundings.h"

#include "profiler/analysis/findings.h"
#include "profiler/questions/driver_memory.h"

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

}  // namespace shardscope::questions
