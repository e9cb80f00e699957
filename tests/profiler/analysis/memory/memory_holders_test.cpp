#include "profiler/analysis/memory/memory_steps.h"
#include "storage/model/step_facts.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

namespace shardscope::analysis {
namespace {

using testing::IsEmpty;

std::string_view nameOf(StringId id) {
    static const std::vector<std::string> names{"", "aten::mm", "wq", "aten::gelu"};
    return names.at(id.value);
}

MemoryEvent block(std::int64_t bytes, std::uint32_t owner, MemoryCategory category,
                  std::int16_t layer, Phase phase = Phase::kForward) {
    MemoryEvent event;
    event.size = {bytes};
    event.owner = {owner};
    event.category = category;
    event.layer = {layer};
    event.phase = phase;
    return event;
}

TEST(PeakHolders, SumUpBlocksByWhoAskedForThem) {
    const auto told = peakHolders({block(100, 1, MemoryCategory::kActivation, 0),
                                   block(900, 2, MemoryCategory::kParameterShard, 0),
                                   block(50, 1, MemoryCategory::kActivation, 0),
                                   block(100, 1, MemoryCategory::kActivation, 1)},
                                  {1200}, nameOf);
    ASSERT_EQ(told.holders.size(), 3u);
    EXPECT_EQ(told.holders[0].owner, "wq");
    EXPECT_EQ(told.holders[1].bytes.count, 150);
    EXPECT_EQ(told.holders[1].blocks, 2);
    EXPECT_EQ(told.unexplained.count, 50);
    const auto places = byPlace(told.holders);
    EXPECT_EQ(places.at({MemoryCategory::kActivation, LayerIndex{0}}).count, 150);
    EXPECT_EQ(places.size(), 3u);
}

TEST(PeakHolders, OfNothingAreUnexplained) {
    EXPECT_THAT(peakHolders({}, {}, nameOf).holders, IsEmpty());
    EXPECT_EQ(peakHolders({}, {7}, nameOf).unexplained.count, 7);
}

TEST(PeakHolders, AddUpToThePeakWhateverThereIs) {
    std::mt19937_64 random(5);
    for (int i = 0; i < 10'000; ++i) {
        std::vector<MemoryEvent> blocks(random() % 8);
        for (MemoryEvent& each : blocks)
            each = block(static_cast<std::int64_t>(random() % 1000),
                         static_cast<std::uint32_t>(random() % 4),
                         static_cast<MemoryCategory>(random() % 11),
                         static_cast<std::int16_t>(random() % 3));
        const Bytes peak{static_cast<std::int64_t>(random() % 5000)};
        const auto told = peakHolders(blocks, peak, nameOf);
        Bytes sum = told.unexplained, places = told.unexplained;
        std::int64_t count = 0;
        for (const MemoryHolder& holder : told.holders) {
            sum += holder.bytes;
            count += holder.blocks;
        }
        for (const auto& [place, bytes] : byPlace(told.holders)) places += bytes;
        ASSERT_EQ(sum, peak);
        ASSERT_EQ(places, peak);
        ASSERT_EQ(count, static_cast<std::int64_t>(blocks.size()));
    }
}

StepFacts step(std::int32_t number, std::int64_t begin, std::int64_t end) {
    StepFacts facts;
    facts.step = {number};
    facts.start = {begin};
    facts.end = {end};
    return facts;
}

TEST(PhaseMemory, IsTheMostAfterItsAllocationsWithinSteps) {
    std::vector<MemoryEvent> events{
        block(1000, 1, MemoryCategory::kParameterShard, -1, Phase::kNone),
        block(500, 1, MemoryCategory::kActivation, 0, Phase::kForward),
        block(200, 1, MemoryCategory::kGradient, 0, Phase::kBackward),
        block(500, 1, MemoryCategory::kActivation, 0, Phase::kForward),
        block(900, 1, MemoryCategory::kActivation, 0, Phase::kForward)};
    const std::int64_t times[] = {0, 15, 20, 25, 95};
    for (std::size_t i = 0; i < events.size(); ++i) events[i].time = {times[i]};
    events[3].action = MemoryAction::kFree;
    const auto told = phaseMemory(events, {step(0, 10, 90), step(1, 100, 190)});
    ASSERT_EQ(told.size(), 2u);  // what comes between steps belongs to none
    EXPECT_EQ(told[0].phase, Phase::kBackward);
    EXPECT_EQ(told[0].peak.count, 1700);
    EXPECT_EQ(told[1].phase, Phase::kForward);
    EXPECT_EQ(told[1].peak.count, 1500);
    EXPECT_EQ(told[1].step, StepIndex{0});
    EXPECT_THAT(phaseMemory(events, {}), IsEmpty());
    EXPECT_THAT(phaseMemory({}, {step(0, 10, 90)}), IsEmpty());
}

TEST(PhaseMemory, IsThatOfAnyWalkThroughTheEvents) {
    std::mt19937_64 random(6);
    for (int i = 0; i < 2'000; ++i) {
        std::vector<MemoryEvent> events(random() % 30);
        std::int64_t time = 0;
        for (MemoryEvent& each : events) {
            each = block(static_cast<std::int64_t>(1 + random() % 100), 1,
                         MemoryCategory::kActivation, static_cast<std::int16_t>(random() % 2),
                         random() % 2 == 0 ? Phase::kForward : Phase::kBackward);
            each.time = {time += static_cast<std::int64_t>(random() % 4)};
            if (random() % 3 == 0) each.action = MemoryAction::kFree;
        }
        const std::vector<StepFacts> steps{step(1, 30, 45), step(0, 5, 25)};
        std::map<std::pair<Phase, LayerIndex>, std::int64_t> most;
        for (std::size_t n = 0; n < events.size(); ++n) {
            std::int64_t alive = 0;
            for (std::size_t k = 0; k <= n; ++k)
                alive += events[k].action == MemoryAction::kAllocate ? events[k].size.count
                                                                     : -events[k].size.count;
            const bool inside = std::any_of(steps.begin(), steps.end(), [&](const StepFacts& each) {
                return each.range().contains(events[n].time);
            });
            if (inside && events[n].action == MemoryAction::kAllocate && alive > 0) {
                std::int64_t& peak = most[{events[n].phase, events[n].layer}];
                peak = std::max(peak, alive);
            }
        }
        const auto told = phaseMemory(events, steps);
        ASSERT_EQ(told.size(), most.size());
        for (const PhaseMemory& each : told)
            ASSERT_EQ(each.peak.count, (most.at({each.phase, each.layer})));
    }
}

}  // namespace
}  // namespace shardscope::analysis
