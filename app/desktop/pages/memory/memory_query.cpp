#include "app/desktop/pages/memory/memory_query.h"

#include "app/desktop/pages/memory/memory_model.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <algorithm>
#include <map>
#include <tuple>
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

std::vector<MemoryCategory> drawnCategories(const MemoryFrame& frame) {
    std::vector<MemoryCategory> drawn;
    for (const MemoryCategory category : kAll<MemoryCategory>) {
        const auto has = [category](const MemoryColumns& columns) {
            const auto& values = columns.categories[static_cast<std::size_t>(category)];
            return std::any_of(values.begin(), values.end(), [](double v) { return v > 0; });
        };
        if (std::any_of(frame.ranks.begin(), frame.ranks.end(), has)) drawn.push_back(category);
    }
    return drawn;
}

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

double MemoryColumns::total(std::size_t column) const {
    double sum = 0;
    for (const auto& category : categories) sum += category[column];
    return sum;
}

MemoryColumnsBuilder::MemoryColumnsBuilder(RankId rank, TimeRange range, int columns)
    : m_rank(rank), m_range(range), m_columns(static_cast<std::size_t>(std::max(1, columns))) {}

MemoryColumnsBuilder::Track MemoryColumnsBuilder::resample(
    const std::vector<storage::CounterSlice>& slices) const {
    Track track{std::vector<double>(m_columns), std::vector<double>(m_columns)};
    const double wide = static_cast<double>(m_range.duration().ns) / static_cast<double>(m_columns);
    const auto edge = [&](std::size_t column) {
        return static_cast<double>(m_range.begin.ns) + wide * static_cast<double>(column);
    };
    std::size_t slice = 0;
    double inForce = 0;
    for (std::size_t column = 0; column < m_columns; ++column) {
        double highest = inForce;
        while (slice < slices.size() &&
               static_cast<double>(slices[slice].range.begin.ns) < edge(column + 1)) {
            highest = std::max(highest, slices[slice].maximum);
            inForce = slices[slice].last;
            if (static_cast<double>(slices[slice].range.end.ns) > edge(column + 1)) break;
            ++slice;
        }
        track.highest[column] = highest;
        track.last[column] = inForce;
    }
    return track;
}

void MemoryColumnsBuilder::addCategory(MemoryCategory category,
                                       const std::vector<storage::CounterSlice>& slices) {
    m_tracks[static_cast<std::size_t>(category)] = resample(slices);
}

void MemoryColumnsBuilder::addReserved(const std::vector<storage::CounterSlice>& slices) {
    m_reserved = resample(slices);
}

MemoryColumns MemoryColumnsBuilder::build(const std::vector<storage::CounterSlice>& total) const {
    MemoryColumns columns;
    columns.rank = m_rank;
    columns.range = m_range;
    columns.reserved = m_reserved.highest;
    for (auto& category : columns.categories) category.assign(m_columns, 0.0);
    const Track sum = resample(total);
    for (std::size_t column = 0; column < m_columns; ++column) {
        double lasts = 0;
        double highests = 0;
        for (const Track& track : m_tracks) {
            if (track.last.empty()) continue;
            lasts += track.last[column];
            highests += track.highest[column];
        }
        const double room = highests - lasts;
        const double share =
            room > 0 ? std::clamp((sum.highest[column] - lasts) / room, 0.0, 1.0) : 0.0;
        for (std::size_t i = 0; i < m_tracks.size(); ++i) {
            const Track& track = m_tracks[i];
            if (track.last.empty()) continue;
            columns.categories[i][column] =
                track.last[column] + share * (track.highest[column] - track.last[column]);
        }
    }
    return columns;
}

std::vector<BlockOwner> groupByOwner(const std::vector<MemoryEvent>& alive,
                                     const std::function<QString(StringId)>& text) {
    std::map<std::tuple<std::uint32_t, std::int16_t, MemoryCategory>, BlockOwner> owners;
    for (const MemoryEvent& block : alive) {
        BlockOwner& owner = owners[{block.owner.value, block.layer.value, block.category}];
        if (owner.blocks == 0) owner.owner = text(block.owner);
        owner.layer = block.layer;
        owner.category = block.category;
        ++owner.blocks;
        owner.size += block.size;
    }
    std::vector<BlockOwner> rows;
    for (auto& [key, owner] : owners) rows.push_back(std::move(owner));
    std::stable_sort(rows.begin(), rows.end(),
                     [](const BlockOwner& a, const BlockOwner& b) { return a.size > b.size; });
    return rows;
}

}  // namespace shardscope::desktop
