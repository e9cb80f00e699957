// Views of many lanes: the same from any number of threads, and superseded by newer ones.
#include "storage/columns/chunk.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/recording/write/recording_writer.h"
#include "storage/sqlite/connection.h"
#include "tests/support/random_events.h"
#include "tests/support/result_matchers.h"
#include "tests/support/sample_recording.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <tuple>

namespace shardscope::storage {

// For EXPECT_EQ on whole answers.
bool operator==(const LaneSlice& a, const LaneSlice& b) {
    const auto fields = [](const LaneSlice& s) {
        return std::tuple(s.range.begin, s.range.end, s.name, s.count, s.busy, s.correlation,
                          s.layer, s.step, s.phase, s.depth, s.arguments);
    };
    return fields(a) == fields(b);
}
bool operator==(const CounterSlice& a, const CounterSlice& b) {
    return a.range == b.range && a.minimum == b.minimum && a.maximum == b.maximum &&
           a.last == b.last;
}

namespace {

using test::FailsWith;
using test::IsOk;

MATCHER(IsCancelled, "") {
    return !arg && arg.error().code == ErrorCode::kCancelled;
}

constexpr TimeRange kEverything{{-(std::int64_t{1} << 60)}, {std::int64_t{1} << 60}};
constexpr LaneId kCounterLane{40};

/// Eight lanes of operators and one counter, in chunks that overlap others in time.
Result<void> writeLanes(const std::string& path, bool finalise) {
    RunFacts run;
    run.id = "run";
    run.worldSize = 1;
    auto writer = RecordingWriter::create(path, run, false);
    if (!writer) return failure(writer);
    test::RandomEvents random(21);
    for (std::uint32_t lane = 0; lane < 8; ++lane) {
        auto added = writer->addLane(
            {{0}, {lane}, LaneRole::kHost, "operators", "", static_cast<std::int32_t>(lane)});
        if (!added) return added;
        auto events = random.nestedSpans(lane == 0 ? 180'000 : 30'000, {1'000'000});
        for (SpanEvent& event : events) event.lane = {lane};
        for (std::size_t at = 0; at < events.size(); at += 9'000) {
            const auto part = std::span(events).subspan(at).first(
                std::min<std::size_t>(9'000, events.size() - at));
            if (added = writer->addChunk(columns::encodeSpans({0}, part)); !added) return added;
        }
    }
    std::vector<CounterEvent> samples;
    for (int i = 0; i < 60'000; ++i)
        samples.push_back({{i * std::int64_t{9'000}},
                           kCounterLane,
                           static_cast<double>(random.between(0, 1'000))});
    if (auto added = writer->addLane({{0}, kCounterLane, LaneRole::kCounter, "c", "1", 9}); !added)
        return added;
    if (auto added = writer->addChunk(columns::encodeCounters({0}, samples)); !added) return added;
    return finalise ? writer->finalise(RunStatus::kFinished, {1}, Pyramids::kAll) : writer->flush();
}

std::vector<LaneAddress> lanesOf(const std::string& path, bool counters) {
    const RecordingSummary summary = (*openRecording(path))->summary().value();
    std::vector<LaneAddress> lanes;
    for (const LaneFacts& lane : summary.lanes)
        if ((lane.role == LaneRole::kCounter) == counters) lanes.push_back({lane.rank, lane.lane});
    return lanes;
}

/// All, a stretch in the middle, and next to nothing.
std::vector<TimeRange> rangesOf(const std::string& path) {
    const TimeRange all = (*openRecording(path))->summary()->bounds;
    const Timestamp middle = all.begin + Duration{all.duration().ns / 2};
    return {kEverything,
            all,
            {middle, middle + Duration{all.duration().ns / 7}},
            {middle, middle + Duration{20'000}}};
}

/// Every thread count answers as one thread lane by lane does.
void expectSameFromManyThreads(const std::string& path) {
    const auto spanLanes = lanesOf(path, false);
    const auto counterLanes = lanesOf(path, true);
    auto alone = openRecording(path, 1);
    ASSERT_THAT(alone, IsOk());
    for (const std::size_t threads : {1, 2, 5}) {
        auto reader = openRecording(path, threads);
        ASSERT_THAT(reader, IsOk());
        for (const TimeRange range : rangesOf(path)) {
            for (const Duration resolution : {Duration{1}, {1 << 14}, {1 << 21}, {1 << 27}}) {
                const auto slices = (*reader)->spans(spanLanes, {range, resolution, {}});
                ASSERT_THAT(slices, IsOk());
                ASSERT_EQ(slices->size(), spanLanes.size());
                for (std::size_t i = 0; i < spanLanes.size(); ++i)
                    ASSERT_EQ((*slices)[i], *(*alone)->slices(spanLanes[i].rank, spanLanes[i].lane,
                                                              range, resolution));
                const auto points = (*reader)->counters(counterLanes, {range, resolution, {}});
                ASSERT_THAT(points, IsOk());
                for (std::size_t i = 0; i < counterLanes.size(); ++i)
                    ASSERT_EQ((*points)[i],
                              *(*alone)->counter(counterLanes[i].rank, counterLanes[i].lane, range,
                                                 resolution));
            }
            ASSERT_EQ(*(*reader)->spans(spanLanes[0].rank, spanLanes[0].lane, range),
                      *(*alone)->spans(spanLanes[0].rank, spanLanes[0].lane, range));
            ASSERT_EQ(*(*reader)->memoryEvents({0}, range), *(*alone)->memoryEvents({0}, range));
        }
    }
}

TEST(View, IsTheSameFromAnyNumberOfThreads) {
    const test::TemporaryFolder folder;
    ASSERT_THAT(writeLanes(folder.file("finished.sscope"), true), IsOk());
    expectSameFromManyThreads(folder.file("finished.sscope"));
}

TEST(View, IsTheSameFromAnyNumberOfThreadsWhileRecording) {
    const test::TemporaryFolder folder;
    ASSERT_THAT(writeLanes(folder.file("growing.sscope"), false), IsOk());
    expectSameFromManyThreads(folder.file("growing.sscope"));
}

TEST(View, IsTheSameFromAnyNumberOfThreadsWithMemory) {
    const test::TemporaryFolder folder;
    ASSERT_THAT(test::writeSampleRecording(folder.file("run.sscope")), IsOk());
    expectSameFromManyThreads(folder.file("run.sscope"));
}

std::size_t spansOf(RecordingReader& reader) {
    return reader.spans({0}, {0}, kEverything).value().size();
}

TEST(KnownChunks, ServeAnotherReaderOfTheFile) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("finished.sscope");
    ASSERT_THAT(writeLanes(path, true), IsOk());
    auto first = openRecording(path);
    ASSERT_THAT(first, IsOk());
    const auto known = (*first)->knownChunks();
    ASSERT_NE(known, nullptr);
    auto second = openRecording(path, 1, known);
    ASSERT_THAT(second, IsOk());
    EXPECT_EQ(spansOf(**second), 180'000u);
    EXPECT_EQ((*second)->summary()->events.spans, (*first)->summary()->events.spans);
    EXPECT_EQ((*second)->summary()->bounds, (*first)->summary()->bounds);
}

TEST(KnownChunks, AreNotOfAFileThatTookItsPlace) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("one.sscope"), other = folder.file("other.sscope");
    ASSERT_THAT(writeLanes(path, true), IsOk());
    auto first = openRecording(path);
    const auto known = (*first)->knownChunks();
    ASSERT_NE(known, nullptr);
    ASSERT_TRUE(test::writeSampleRecording(other));
    const auto right = spansOf(**openRecording(other));
    std::filesystem::rename(other, path);
    EXPECT_EQ((*first)->knownChunks(), nullptr);
    auto second = openRecording(path, 1, known);
    ASSERT_THAT(second, IsOk());
    EXPECT_EQ(spansOf(**second), right);
    EXPECT_NE(right, 180'000u);
}

TEST(KnownChunks, AreNoneWhileTheRecordingGrows) {
    const test::TemporaryFolder folder;
    ASSERT_THAT(writeLanes(folder.file("growing.sscope"), false), IsOk());
    EXPECT_EQ((*openRecording(folder.file("growing.sscope")))->knownChunks(), nullptr);
}

TEST(View, OfALaneThatIsNotThereIsEmpty) {
    const test::TemporaryFolder folder;
    ASSERT_THAT(test::writeSampleRecording(folder.file("run.sscope")), IsOk());
    auto reader = openRecording(folder.file("run.sscope"));
    auto slices = (*reader)->spans({{{0}, lanes::kPhases.id}, {{7}, {1}}}, {kEverything, {1}, {}});
    ASSERT_THAT(slices, IsOk());
    ASSERT_EQ(slices->size(), 2u);
    EXPECT_FALSE((*slices)[0].empty());
    EXPECT_TRUE((*slices)[1].empty());
    EXPECT_TRUE((*reader)->spans({}, {kEverything, {1}, {}})->empty());
}

TEST(View, SaysWhichChunkIsDamagedFromAnyThread) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    ASSERT_THAT(writeLanes(path, true), IsOk());
    const auto lanes = lanesOf(path, false);
    ASSERT_THAT(Connection::open(path, Connection::Mode::kCreate)
                    ->execute("UPDATE chunks SET data=zeroblob(length(data))"
                              " WHERE id=(SELECT max(id) FROM chunks WHERE kind=1)"),
                IsOk());
    for (const std::size_t threads : {1, 4}) {
        auto reader = openRecording(path, threads);
        EXPECT_THAT((*reader)->spans(lanes, {kEverything, {1}, {}}), FailsWith("event chunk"));
    }
}

TEST(View, ThatWasSupersededIsCancelled) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    ASSERT_THAT(writeLanes(path, true), IsOk());
    const auto lanes = lanesOf(path, false);
    auto reader = openRecording(path);
    Generations views;
    Generations others;
    const Generation first = views.next();
    EXPECT_THAT((*reader)->spans(lanes, {kEverything, {1'000}, first}), IsOk());
    static_cast<void>(others.next());
    EXPECT_FALSE(first.superseded());
    const Generation second = views.next();
    EXPECT_TRUE(first.superseded());
    EXPECT_THAT((*reader)->spans(lanes, {kEverything, {1'000}, first}), IsCancelled());
    EXPECT_THAT((*reader)->counters({{{0}, kCounterLane}}, {kEverything, {1'000}, first}),
                IsCancelled());
    EXPECT_THAT((*reader)->spans(lanes, {kEverything, {1'000}, second}), IsOk());
    views.supersede();
    EXPECT_TRUE(second.superseded());
}

/// The other thread supersedes at any moment of a request; the next one is answered whole.
TEST(View, IsCancelledWhileItRuns) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    ASSERT_THAT(writeLanes(path, true), IsOk());
    const auto lanes = lanesOf(path, false);
    const auto expected = (*openRecording(path, 1))->spans(lanes, {kEverything, {1'000}, {}});
    for (const std::size_t threads : {1, 3}) {
        Generations views;
        std::atomic<int> begun = 0;
        std::atomic<bool> cancelled = false;
        std::thread pans([&] {
            for (int seen = 0; !cancelled; seen = begun) {
                while (begun == seen && !cancelled) std::this_thread::yield();
                views.supersede();
            }
        });
        for (int round = 0; round < 50 && !cancelled; ++round) {
            auto reader = openRecording(path, threads);
            const Generation generation = views.next();
            ++begun;
            const auto slices = (*reader)->spans(lanes, {kEverything, {1'000}, generation});
            if (slices) continue;
            ASSERT_EQ(slices.error().code, ErrorCode::kCancelled);
            cancelled = true;
            EXPECT_EQ(*(*reader)->spans(lanes, {kEverything, {1'000}, {}}), *expected);
        }
        EXPECT_TRUE(cancelled);
        cancelled = true;
        pans.join();
    }
}

}  // namespace
}  // namespace shardscope::storage
