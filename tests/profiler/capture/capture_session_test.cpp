#include "profiler/capture/capture_session.h"

#include "tests/profiler/capture/kept_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace shardscope::capture {
namespace {

using test::KeptEvents;
using testing::ElementsAre;

SpanEvent span(std::int64_t start, std::int64_t duration, std::uint8_t depth = 0) {
    SpanEvent event;
    event.start = {start};
    event.duration = {duration};
    event.depth = depth;
    return event;
}

TEST(CaptureSession, SendsSpansOrderedByStartThoughInnerOnesEndFirst) {
    KeptEvents kept;
    CaptureSession session({}, kept);
    session.threadQueue().push(span(20, 5, 1));
    session.threadQueue().push(span(10, 30));
    session.threadQueue().push(span(10, 8, 1));
    session.drain(0, true);
    EXPECT_THAT(kept.spans, ElementsAre(span(10, 30), span(10, 8, 1), span(20, 5, 1)));
}

TEST(CaptureSession, HoldsEventsBackUntilTheFlushIntervalOrTheEnd) {
    KeptEvents kept;
    SessionOptions options;
    options.flushNs = 1000;
    CaptureSession session(options, kept);
    session.drain(5000, false);
    session.threadQueue().push(span(1, 1));
    session.drain(5500, false);
    EXPECT_EQ(kept.chunks, 0);
    session.drain(6000, false);
    EXPECT_EQ(kept.chunks, 1);
    session.threadQueue().push(span(2, 1));
    session.drain(6001, true);
    EXPECT_EQ(kept.spans.size(), 2U);
}

TEST(CaptureSession, DropsAndCountsWhatAFullQueueCannotTake) {
    KeptEvents kept;
    SessionOptions options;
    options.queueCapacity = 64;
    CaptureSession session(options, kept);
    for (int i = 0; i < 1000; ++i) session.threadQueue().push(span(i, 1));
    session.drain(0, true);
    EXPECT_EQ(session.emitted(), 1000U);
    EXPECT_GT(session.dropped(), 0U);
    EXPECT_EQ(kept.spans.size() + session.dropped(), 1000U);
}

/// Destroyed after what the session has of the thread, as it was made before.
struct PushesAtTheEnd {
    CaptureSession* session = nullptr;
    ~PushesAtTheEnd() {
        if (session != nullptr) session->threadQueue().push(span(2, 1));
    }
};

TEST(CaptureSession, TakesWhatComesAfterTheThreadsOwnIsGone) {
    KeptEvents kept;
    CaptureSession session({}, kept);
    std::thread([&] {
        thread_local PushesAtTheEnd late;
        late.session = &session;
        session.threadQueue().push(span(1, 1));
    }).join();
    session.drain(0, true);
    EXPECT_THAT(kept.spans, ElementsAre(span(1, 1), span(2, 1)));
    EXPECT_EQ(session.emitted(), 2U);
    EXPECT_EQ(session.dropped(), 0U);
}

TEST(CaptureSession, LosesNothingFromManyThreadsWhileDraining) {
    KeptEvents kept;
    CaptureSession session({}, kept);
    constexpr int kThreads = 4;
    constexpr int kEach = 20'000;
    std::vector<std::thread> threads;
    std::atomic<int> running{kThreads};
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            const StringId name = session.intern("thread " + std::to_string(t));
            for (int i = 0; i < kEach; ++i) {
                SpanEvent event = span(i, 1);
                event.name = name;
                session.threadQueue().push(event);
                if (i % 1000 == 0) session.push(CounterEvent{{i}, LaneId{9}, 1.0});
            }
            --running;
        });
    }
    while (running > 0) session.drain(0, false);
    for (auto& thread : threads) thread.join();
    session.drain(0, true);
    EXPECT_EQ(session.emitted(), kThreads * (kEach + 20U));
    EXPECT_EQ(kept.spans.size() + session.dropped(), kThreads * kEach);
    EXPECT_EQ(kept.counters.size(), kThreads * 20U);
    EXPECT_EQ(kept.texts.size(), 4U);
}

TEST(CaptureSession, SplitsMoreThanAChunkHolds) {
    KeptEvents kept;
    SessionOptions options;
    options.queueCapacity = 1 << 18;
    CaptureSession session(options, kept);
    const std::size_t count = columns::kMaxChunkEvents + 10;
    for (std::size_t i = 0; i < count; ++i) {
        session.threadQueue().push(span(static_cast<std::int64_t>(i), 1));
    }
    session.drain(0, true);
    EXPECT_EQ(kept.chunks, 2);
    EXPECT_EQ(kept.spans.size(), count);
}

TEST(CaptureSession, EveryThreadWithOperatorsGetsALaneOfItsOwn) {
    KeptEvents kept;
    CaptureSession session({}, kept);
    const LaneId first = session.operatorLane();
    EXPECT_EQ(first, session.operatorLane());
    LaneId second;
    std::thread([&] { second = session.operatorLane(); }).join();
    EXPECT_EQ(first, lanes::kOperators.id);
    EXPECT_NE(first, second);
    session.drain(0, true);
    ASSERT_EQ(kept.lanes.size(), 2U);
    EXPECT_EQ(kept.lanes[0].name, "operators");
    EXPECT_EQ(kept.lanes[1].name, "operators (thread 1)");
}

TEST(CaptureSession, ALaneLiesWhereItsIdSaysUnlessToldOtherwise) {
    KeptEvents kept;
    CaptureSession session({}, kept);
    session.declareLane({3}, LaneRole::kCommunication, "communication");
    session.declareLane({6}, LaneRole::kCommunication, "communication in group 1", {}, 4);
    session.drain(0, true);
    ASSERT_EQ(kept.lanes.size(), 2U);
    EXPECT_EQ(kept.lanes[0].order, 3);
    EXPECT_EQ(kept.lanes[1].lane, LaneId{6});
    EXPECT_EQ(kept.lanes[1].order, 4);
}

TEST(CaptureSession, MovesHostTimesOntoTheRecordingsClock) {
    KeptEvents kept;
    SessionOptions options;
    options.originNs = 1'000'000;
    const CaptureSession session(options, kept);
    EXPECT_EQ(session.at(1'000'250), Timestamp{250});
}

TEST(StringTable, NumbersTextsInOrderOfFirstUse) {
    StringTable table;
    EXPECT_EQ(table.intern(""), kEmptyString);
    EXPECT_EQ(table.intern("a"), StringId{1});
    EXPECT_EQ(table.intern("b"), StringId{2});
    EXPECT_EQ(table.intern("a"), StringId{1});
    const auto fresh = table.takeFresh();
    EXPECT_EQ(fresh.first, StringId{1});
    EXPECT_THAT(fresh.texts, ElementsAre("a", "b"));
    EXPECT_EQ(table.intern("c"), StringId{3});
    EXPECT_EQ(table.takeFresh().first, StringId{3});
}

}  // namespace
}  // namespace shardscope::capture
