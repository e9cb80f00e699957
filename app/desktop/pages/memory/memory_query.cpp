#include "app/desktop/pages/memory/memory_query.h"

#include "app/desktop/pages/memory/memory_columns.h"
#include "app/desktop/pages/memory/memory_model.h"

#include <algorithm>
#include <utility>

namespace shardscope::desktop {
namespace {

/// What was alive on a rank by category, what its allocator had reserved, and the total.
Result<MemoryColumns> loadColumns(storage::RecordingReader& reader, const OpenRecording& recording,
                                  RankId rank, const MemoryQuery& query,
                                  const storage::View& view) {
    std::vector<MemoryCategory> categories;
    std::vector<LaneAddress> lanes;
    for (int category = 0; category < kMemoryCategoryCount; ++category) {
        const auto wanted = static_cast<MemoryCategory>(category);
        if (recording.lane({rank, memoryLane(wanted)}) == nullptr) continue;
        categories.push_back(wanted);
        lanes.push_back({rank, memoryLane(wanted)});
    }
    const LaneFacts* reserved = findReservedLane(recording.summary, rank);
    if (reserved != nullptr) lanes.push_back({rank, reserved->lane});
    lanes.push_back({rank, kMemoryTotalLane});
    const auto slices = reader.counters(lanes, view);
    if (!slices) return failure(slices);
    MemoryColumnsBuilder builder(rank, query.range, query.columns);
    for (std::size_t i = 0; i < categories.size(); ++i)
        builder.addCategory(categories[i], (*slices)[i]);
    if (reserved != nullptr) builder.addReserved((*slices)[categories.size()]);
    return builder.build(slices->back());
}

/// Not all of them: an axis has room for far fewer, and a run can have a hundred thousand.
std::vector<MemoryColumns::StepBegin> stepsOf(const OpenRecording& recording, RankId rank,
                                              TimeRange range, Duration column) {
    std::vector<MemoryColumns::StepBegin> begins;
    for (const StepFacts& step : recording.summary.steps) {
        if (step.rank != rank || !range.contains(step.start)) continue;
        if (begins.empty() || step.start - begins.back().time >= column)
            begins.push_back({step.start, step.step});
    }
    return begins;
}

}  // namespace

Result<MemoryFramePtr> loadMemory(storage::RecordingReader& reader, const OpenRecording& recording,
                                  const MemoryQuery& query, const storage::Generation& generation) {
    auto frame = std::make_shared<MemoryFrame>();
    frame->query = query;
    const Duration resolution{
        std::max<std::int64_t>(1, query.range.duration().ns / std::max(1, query.columns))};
    for (const RankId rank : query.ranks) {
        auto columns =
            loadColumns(reader, recording, rank, query, {query.range, resolution, generation});
        if (!columns) return failure(columns);
        columns->steps = stepsOf(recording, rank, query.range, resolution);
        frame->ranks.push_back(std::move(*columns));
    }
    return MemoryFramePtr(std::move(frame));
}

}  // namespace shardscope::desktop
