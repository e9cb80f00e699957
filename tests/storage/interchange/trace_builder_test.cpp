#include "storage/interchange/trace_builder.h"

#include "storage/interchange/builder/trace_state.h"
#include "storage/interchange/pending_events.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/recording/write/recording_writer.h"
#include "tests/support/result_matchers.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

namespace shardscope::interchange {
namespace {

using test::FailsAs;
using test::FailsWith;
using test::IsOk;
using ::testing::AllOf;
using ::testing::ElementsAre;

constexpr RankId kRank{3};
constexpr TimeRange kEverything{{-(std::int64_t{1} << 60)}, {std::int64_t{1} << 60}};

RunFacts someRun() {
    RunFacts run;
    run.id = "run";
    return run;
}

SpanEvent span(LaneId lane, std::int64_t start, std::int64_t duration) {
    SpanEvent event;
    event.lane = lane;
    event.start = {start};
    event.duration = {duration};
    return event;
}

std::size_t filesIn(const std::string& folder) {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

class TraceBuilderTest : public ::testing::Test {
protected:
    std::unique_ptr<storage::RecordingReader> finished() {
        RunFacts run = someRun();
        run.worldSize = 7;
        run.startedUnixNs = 42;
        EXPECT_THAT(builder->finish(run, {1000}), IsOk());
        auto reader = storage::openRecording(path);
        EXPECT_THAT(reader, IsOk());
        return std::move(*reader);
    }
    LaneId hostLane() { return builder->lane(kRank, {"1", "2"}, LaneRole::kHost, "thread 2"); }

    test::TemporaryFolder folder;
    std::string path = folder.file("out.sscope");
    Result<TraceBuilder> builder = TraceBuilder::create(path, someRun(), false);
};

TEST_F(TraceBuilderTest, FinishedFileIsOneCompleteRecording) {
    ASSERT_THAT(builder, IsOk());
    const LaneId lane = hostLane();
    SpanEvent event = span(lane, 5, 10);
    event.name = builder->intern(kRank, "aten::mm");
    builder->add(kRank, event);
    auto reader = finished();
    const auto summary = reader->summary();
    ASSERT_THAT(summary, IsOk());
    EXPECT_TRUE(summary->complete);
    EXPECT_EQ(summary->run.worldSize, 7);
    EXPECT_EQ(summary->run.startedUnixNs, 42);
    EXPECT_EQ(summary->run.status, RunStatus::kFinished);
    ASSERT_EQ(summary->ranks.size(), 1u);
    EXPECT_EQ(summary->ranks[0].rank, kRank);
    EXPECT_EQ(summary->ranks[0].emitted, 1u);
    EXPECT_THAT(*reader->spans(kRank, lane, kEverything), ElementsAre(event));
    EXPECT_EQ(reader->text(kRank, event.name), "aten::mm");
    EXPECT_EQ(filesIn(folder.path()), 1u);
}

TEST_F(TraceBuilderTest, UnfinishedImportLeavesNoFile) {
    builder->add(kRank, span(hostLane(), 5, 10));
    EXPECT_GT(filesIn(folder.path()), 0u);
    builder = failure(ErrorCode::kFailure, "given up");
    EXPECT_EQ(filesIn(folder.path()), 0u);
}

TEST_F(TraceBuilderTest, ExistingFileIsReplacedOnlyWhenAskedFor) {
    std::ofstream(path) << "precious";
    EXPECT_THAT(TraceBuilder::create(path, someRun(), false),
                AllOf(FailsAs(ErrorCode::kUsage), FailsWith("--force")));
    // One that appears while the import runs is not replaced either.
    EXPECT_THAT(builder->finish(someRun(), {}), FailsWith("already exists"));
    EXPECT_THAT(TraceBuilder::create(path, someRun(), true), FailsWith("is not a recording"));
    EXPECT_EQ(std::filesystem::file_size(path), 8u);
    std::filesystem::remove(path);
    ASSERT_THAT(storage::RecordingWriter::create(path, someRun(), false), IsOk());
    const auto before = std::filesystem::file_size(path);
    auto other = TraceBuilder::create(path, someRun(), true);
    ASSERT_THAT(other, IsOk());
    EXPECT_EQ(std::filesystem::file_size(path), before);  // until it is whole
    EXPECT_THAT(other->finish(someRun(), {}), IsOk());
    EXPECT_THAT(storage::openRecording(path), IsOk());
}

TEST_F(TraceBuilderTest, LanesAreNumberedWhereAnalysesLookForThem) {
    EXPECT_EQ(hostLane().value, 1u);
    EXPECT_EQ(hostLane().value, 1u);
    const LaneId stream = builder->lane(kRank, {"0", "7"}, LaneRole::kCompute, "stream 7");
    const LaneId nccl = builder->lane(kRank, {"0", "9"}, LaneRole::kCommunication, "stream 9");
    EXPECT_TRUE(isStreamLane(stream));
    EXPECT_TRUE(isStreamLane(nccl));
    EXPECT_NE(stream, nccl);
    EXPECT_EQ(builder->lane(kRank, {"1", "2"}, LaneRole::kRange, "better name").value, 1u);
    auto reader = finished();
    const auto lanes = reader->summary()->lanes;
    ASSERT_EQ(lanes.size(), 3u);
    EXPECT_EQ(lanes[0].name, "better name");  // ranges are on top
    EXPECT_EQ(lanes[0].role, LaneRole::kRange);
    EXPECT_EQ(lanes[1].lane, stream);
}

TEST_F(TraceBuilderTest, EventsOutOfOrderAreAllKept) {
    const LaneId lane = hostLane();
    std::mt19937 random(1);
    std::vector<SpanEvent> events;
    for (std::int64_t i = 0; i < 200'000; ++i) events.push_back(span(lane, i * 10, 10));
    // Mostly a little out of order, some by far more than any window.
    for (std::size_t at = 0; at + 1000 <= events.size(); at += 1000)
        std::shuffle(events.begin() + static_cast<std::ptrdiff_t>(at),
                     events.begin() + static_cast<std::ptrdiff_t>(at + 1000), random);
    std::swap(events.front(), events.back());
    for (const SpanEvent& event : events) builder->add(kRank, event);
    auto reader = finished();
    const auto stored = reader->spans(kRank, lane, kEverything);
    ASSERT_THAT(stored, IsOk());
    ASSERT_EQ(stored->size(), events.size());
    for (std::size_t i = 0; i < stored->size(); ++i)
        ASSERT_EQ((*stored)[i].start.ns, static_cast<std::int64_t>(i) * 10);
}

TEST_F(TraceBuilderTest, ManyLanesStayWithinTheWindow) {
    std::vector<LaneId> lanes;
    for (int i = 0; i < 300; ++i)
        lanes.push_back(
            builder->lane(kRank, {"p", std::to_string(i)}, LaneRole::kHost, std::to_string(i)));
    for (std::int64_t i = 0; i < 700'000; ++i)
        builder->add(kRank, span(lanes[static_cast<std::size_t>(i) % lanes.size()], i, 1));
    EXPECT_EQ(finished()->summary()->events.spans, 700'000u);
}

TEST_F(TraceBuilderTest, OtherKindsAreStored) {
    const LaneId counter = builder->lane(kRank, {"c", "c"}, LaneRole::kCounter, "power", "W");
    builder->add(kRank, CounterEvent{{7}, counter, 1.5});
    builder->add(kRank, CounterEvent{{3}, counter, 2.5});
    MemoryEvent memory;
    memory.time = {9};
    memory.size = {512};
    builder->add(kRank, memory);
    CollectiveEvent collective;
    collective.end = {4};
    builder->add(kRank, collective);
    StepFacts step;
    step.rank = kRank;
    step.end = {100};
    builder->addStep(step);
    builder->addDiagnostic({Severity::kNote, "imported", "imported", "", kRank, {}, 1});
    DeviceFacts device;
    device.rank = kRank;
    device.name = "A100";
    builder->putDevice(device);
    auto reader = finished();
    const auto summary = reader->summary();
    EXPECT_EQ(summary->events.counters, 2u);
    EXPECT_EQ(summary->events.memory, 1u);
    EXPECT_EQ(summary->events.collectives, 1u);
    EXPECT_EQ(summary->steps.size(), 1u);
    EXPECT_EQ(summary->diagnostics.size(), 1u);
    EXPECT_EQ(summary->devices.at(0).name, "A100");
}

TEST_F(TraceBuilderTest, ImpossibleEventsAreAnErrorNotACrash) {
    builder->add(kRank, span(hostLane(), 5, -1));
    EXPECT_THAT(builder->state(), FailsAs(ErrorCode::kUnreadable));
    EXPECT_THAT(builder->finish(someRun(), {}), FailsWith("out of range"));
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(TraceBuilderTest, WhatSharesALaneIsSaid) {
    for (int i = 0; i < 5000; ++i)
        builder->lane(kRank, {"p", std::to_string(i)}, LaneRole::kHost, "");
    EXPECT_THAT(builder->state(), IsOk());
    EXPECT_THAT(builder->notes(), ElementsAre(testing::HasSubstr("share a lane")));
}

TEST(DepthRows, NestedSpansGetTheirDepthAndOverlappingOnesRowsOfTheirOwn) {
    DepthRows rows;
    const auto depth = [&](std::int64_t start, std::int64_t duration) {
        SpanEvent event = span({1}, start, duration);
        rows.place(event);
        return static_cast<int>(event.depth);
    };
    EXPECT_EQ(depth(0, 100), 0);
    EXPECT_EQ(depth(0, 50), 1);
    EXPECT_EQ(depth(10, 20), 2);
    EXPECT_EQ(depth(50, 100), 1);  // sticks out of its parent
    EXPECT_EQ(depth(100, 20), 2);  // would lie on it in row 0 or 1
    EXPECT_EQ(depth(150, 5), 0);
    EXPECT_EQ(depth(12, 3), 3);  // late: below everything of then
}

TEST(DepthRows, NothingIsDrawnOver) {
    std::mt19937 random(7);
    std::vector<SpanEvent> events;
    for (int i = 0; i < 400; ++i)
        events.push_back(span({1}, static_cast<std::int64_t>(random() % 1000),
                              static_cast<std::int64_t>(random() % 40)));
    DepthRows rows;
    for (SpanEvent& event : events) rows.place(event);  // in no order at all
    for (std::size_t i = 0; i < events.size(); ++i) {
        for (std::size_t k = 0; k < i; ++k) {
            if (events[i].depth == events[k].depth) {
                EXPECT_FALSE(events[i].range().intersects(events[k].range()));
            }
        }
    }
}

TEST(StringCache, RepeatedTextsKeepTheirIdInBoundedMemory) {
    StringCache cache(4096);
    EXPECT_EQ(cache.intern(""), kEmptyString);
    const StringId often = cache.intern("often");
    for (int i = 0; i < 10'000; ++i) {
        const auto once = cache.intern("once " + std::to_string(i));
        EXPECT_NE(once, often);
        EXPECT_EQ(cache.intern("often"), often);
    }
    const auto batch = cache.take();
    EXPECT_EQ(batch.first.value, 1u);
    EXPECT_EQ(batch.texts.size(), 10'001u);
    EXPECT_EQ(cache.take().texts.size(), 0u);
}

TEST_F(TraceBuilderTest, MemoryEventsGoByTimeHoweverLateTheyCome) {
    ASSERT_THAT(builder, IsOk());
    // Several runs that overlap, and one that follows them; equal times keep their order.
    constexpr std::int64_t kEvents = 300'000;
    for (std::int64_t i = 0; i < kEvents; ++i) {
        MemoryEvent event;
        event.time = {i % 2 == 0 ? kEvents - i : 2 * kEvents + i / 4};
        event.address = static_cast<std::uint64_t>(i);
        event.size = {1};
        builder->add(kRank, event);
    }
    MemoryEvent before;
    before.time = {2};
    before.size = {1000};
    builder->addFirst(kRank, before);
    const auto events = finished()->memoryEvents(kRank, kEverything);
    ASSERT_THAT(events, IsOk());
    ASSERT_EQ(events->size(), static_cast<std::size_t>(kEvents) + 1);
    EXPECT_EQ(events->front().size.count, 1000);
    EXPECT_TRUE(std::is_sorted(events->begin(), events->end(),
                               [](const MemoryEvent& a, const MemoryEvent& b) {
                                   return std::pair(a.time, a.address * (a.time.ns > kEvents)) <
                                          std::pair(b.time, b.address * (b.time.ns > kEvents));
                               }));
}

}  // namespace
}  // namespace shardscope::interchange
