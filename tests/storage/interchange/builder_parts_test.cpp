// The parts of the trace builder by themselves: lanes of a rank, its steps, its flows.
#include "storage/interchange/builder/pending_flows.h"
#include "storage/interchange/builder/rank_lanes.h"
#include "storage/interchange/builder/rank_steps.h"
#include "storage/model/step_facts.h"

#include <gmock/gmock.h>

#include <set>

namespace shardscope::interchange {
namespace {

constexpr RankId kRank{3};

TEST(RankLanes, AKeyHasOneLaneWhoseRoleGetsBetter) {
    RankLanes lanes(kRank);
    const LaneSource thread{"python", "thread 1"};
    const LaneId first = lanes.lane(thread, LaneRole::kHost, "", "").value();
    EXPECT_EQ(lanes.lane(thread, LaneRole::kRuntime, "main", "").value(), first);
    EXPECT_EQ(lanes.lane(thread, LaneRole::kHost, "", "").value(), first);
    const BuiltLane* made = lanes.find(first);
    ASSERT_NE(made, nullptr);
    EXPECT_EQ(made->facts.role, LaneRole::kRuntime);
    EXPECT_EQ(made->facts.name, "main");
    EXPECT_EQ(made->facts.rank, kRank);
    EXPECT_NE(lanes.lane({"python", "thread 2"}, LaneRole::kHost, "", "").value(), first);
    EXPECT_EQ(lanes.find({999'999}), nullptr);
}

TEST(RankLanes, OneThatMayStayEmptyIsNeededOnceItWasWanted) {
    RankLanes lanes(kRank);
    const LaneId spare = lanes.laneIfUsed({"a", "b"}, LaneRole::kHost, "spare").value();
    EXPECT_FALSE(lanes.find(spare)->needed);
    const LaneId wanted = lanes.lane({"a", "c"}, LaneRole::kHost, "wanted", "").value();
    EXPECT_EQ(lanes.laneIfUsed({"a", "c"}, LaneRole::kHost, "wanted").value(), wanted);
    EXPECT_TRUE(lanes.find(wanted)->needed);
}

TEST(RankLanes, WhatThereIsTooMuchOfSharesALane) {
    RankLanes lanes(kRank);
    std::set<LaneId> made;
    for (int i = 0; i < 5000; ++i)
        made.insert(lanes.lane({"p", std::to_string(i)}, LaneRole::kHost, "", "").value());
    EXPECT_EQ(made.size(), 4095U);
    EXPECT_EQ(lanes.sharing(), 5000U - 4094U);
    const LaneId shared = lanes.lane({"p", "4999"}, LaneRole::kHost, "own name", "").value();
    EXPECT_EQ(shared, lanes.lane({"p", "4998"}, LaneRole::kHost, "", "").value());
    EXPECT_EQ(lanes.find(shared)->facts.name, "more lanes of kind host");
    EXPECT_TRUE(lanes.lane({"p", "-1"}, LaneRole::kCompute, "", "")) << "of another kind";
}

InstantEvent instant(std::int64_t time) {
    InstantEvent event;
    event.time = {time};
    return event;
}

TEST(RankSteps, EventsKeepWhatTheyHaveUntilStepsAreDerived) {
    RankSteps steps;
    steps.add({StepNaming::kStep, {4}}, {{100}, {200}});
    std::vector<InstantEvent> events{instant(150)};
    steps.fill(std::span(events));
    EXPECT_EQ(events[0].step, kNoStep);
    EXPECT_EQ(steps.marked(), nullptr);
    RankSteps derived;
    derived.derive();
    derived.add({StepNaming::kStep, {4}}, {{100}, {200}});
    events.push_back(instant(250));
    derived.fill(std::span(events));
    EXPECT_EQ(events[0].step, StepIndex{4});
    EXPECT_EQ(events[1].step, kNoStep);
    EXPECT_FALSE(derived.cameLate());
    derived.add({StepNaming::kStep, {5}}, {{240}, {300}});
    EXPECT_TRUE(derived.cameLate()) << "an event of that time was stored already";
}

TEST(RankSteps, RowsDoNotOverlapAndNumbersThatBeginAgainCountOn) {
    RankSteps steps;
    steps.add({StepNaming::kProfilerStep, {0}}, {{0}, {100}});
    steps.add({StepNaming::kProfilerStep, {1}}, {{50}, {150}});
    steps.add({StepNaming::kProfilerStep, {0}}, {{200}, {300}});
    steps.add({StepNaming::kProfilerStep, {2}}, {{300}, {400}});
    const auto rows = steps.rows(kRank);
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0].step, StepIndex{0});
    EXPECT_EQ(rows[1].step, StepIndex{1}) << "0 again";
    EXPECT_EQ(rows[2].step, StepIndex{3});
    EXPECT_EQ(rows[1].rank, kRank);
    EXPECT_EQ(steps.restarts(), 1U);
}

TEST(RankSteps, MarksInAnyOrderNumberTheSame) {
    for (const bool backwards : {false, true}) {
        RankSteps steps;
        steps.derive();
        for (int i = 0; i < 6; ++i) {
            const int cycle = backwards ? 5 - i : i;
            const std::int64_t at = cycle * 100;
            steps.add({StepNaming::kProfilerStep, {cycle % 3}}, {{at}, {at + 90}});
        }
        std::vector<InstantEvent> events{instant(10), instant(310), instant(510)};
        steps.fill(std::span(events));
        EXPECT_EQ(events[0].step, StepIndex{0});
        EXPECT_EQ(events[1].step, StepIndex{3});
        EXPECT_EQ(events[2].step, StepIndex{5});
        EXPECT_FALSE(steps.cameLate());
        EXPECT_EQ(steps.rows(kRank).size(), 6U);
    }
}

TEST(RankSteps, OfSeveralNamingsThatWhoseNumbersDoNotRepeatCounts) {
    RankSteps steps;
    for (int i = 0; i < 3; ++i) {
        const std::int64_t at = i * 100;
        steps.add({StepNaming::kStep, {0}}, {{at}, {at + 10}});
        steps.add({StepNaming::kIteration, {i}}, {{at}, {at + 90}});
    }
    EXPECT_EQ(steps.rows(kRank).size(), 3U);
    RankSteps::Counts taken, left;
    steps.count(taken, left);
    EXPECT_EQ(taken, (RankSteps::Counts{{StepNaming::kIteration, 3}}));
    EXPECT_EQ(left, (RankSteps::Counts{{StepNaming::kStep, 3}}));
}

FlowEvent flow(std::int64_t time, std::uint64_t id) {
    FlowEvent event;
    event.time = {time};
    event.lane = {77};
    event.id = id;
    return event;
}

TEST(PendingFlows, BindToSpansOfTheirThreadAndElseLieOnItsHome) {
    PendingFlows flows;
    flows.add(1, flow(150, 1));
    flows.add(2, flow(150, 2));
    flows.join(1, {5});
    flows.join(9, {6});  // a thread without flows
    std::vector<LaneId> holding;
    SpanEvent span;
    span.start = {100};
    span.duration = {100};
    span.lane = {5};
    const PendingFlows::Surroundings around{
        [&](LaneId lane, TimeRange) -> Result<std::vector<SpanEvent>> {
            EXPECT_EQ(lane, LaneId{5});
            return std::vector{span};
        },
        {100},
        [](Timestamp) { return StepIndex{8}; },
        [&](LaneId lane) { holding.push_back(lane); }};
    std::vector<FlowEvent> stored;
    const auto drained = flows.drain(around, [&](std::span<FlowEvent> events) {
        stored.insert(stored.end(), events.begin(), events.end());
    });
    ASSERT_TRUE(drained);
    ASSERT_EQ(stored.size(), 2U);
    EXPECT_TRUE(stored[0].bound);
    EXPECT_EQ(stored[0].lane, LaneId{5});
    EXPECT_EQ(stored[0].spanStart, Timestamp{100});
    EXPECT_FALSE(stored[1].bound);
    EXPECT_EQ(stored[1].lane, LaneId{77});
    EXPECT_EQ(stored[1].step, StepIndex{8});
    EXPECT_EQ(holding, std::vector{LaneId{77}});
}

TEST(PendingFlows, AReaderThatFailsFailsThem) {
    PendingFlows flows;
    flows.add(1, flow(150, 1));
    flows.join(1, {5});
    const PendingFlows::Surroundings around{
        [](LaneId, TimeRange) -> Result<std::vector<SpanEvent>> {
            return failure(ErrorCode::kFailure, "the disk is full");
        },
        {100},
        [](Timestamp) { return kNoStep; },
        [](LaneId) {}};
    int parts = 0;
    const auto drained = flows.drain(around, [&](std::span<FlowEvent>) { ++parts; });
    ASSERT_FALSE(drained);
    EXPECT_EQ(drained.error().message, "the disk is full");
    EXPECT_EQ(parts, 0);
}

}  // namespace
}  // namespace shardscope::interchange
