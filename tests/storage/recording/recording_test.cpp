#include "storage/columns/chunk.h"
#include "storage/columns/pyramid.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/recording/write/finish_recording.h"
#include "storage/recording/write/recording_writer.h"
#include "tests/support/random_events.h"
#include "tests/support/result_matchers.h"
#include "tests/support/sample_recording.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

namespace shardscope::storage {
namespace {

using test::FailsWith;
using test::IsOk;

constexpr RankId kRank{0};
constexpr LaneId kLane{2};
constexpr TimeRange kEverything{{-(std::int64_t{1} << 60)}, {std::int64_t{1} << 60}};

RunFacts someRun() {
    RunFacts run;
    run.id = "run";
    run.worldSize = 1;
    return run;
}

Result<RecordingWriter> someWriter(const std::string& path) {
    auto writer = RecordingWriter::create(path, someRun(), false);
    if (!writer) return writer;
    if (auto added = writer->addLane({kRank, kLane, LaneRole::kHost, "operators", "", 0}); !added)
        return failure(added);
    return writer;
}

Result<void> addInChunks(RecordingWriter& writer, const std::vector<SpanEvent>& events) {
    constexpr std::size_t kSize = 7000;
    for (std::size_t at = 0; at < events.size(); at += kSize) {
        const auto part = std::span(events).subspan(at, std::min(kSize, events.size() - at));
        if (auto added = writer.addChunk(columns::encodeSpans(kRank, part)); !added) return added;
    }
    return writer.flush();
}

std::vector<SpanEvent> operators(std::size_t count) {
    test::RandomEvents random(5);
    auto events = random.nestedSpans(count, {1'000'000});
    for (SpanEvent& event : events) event.lane = kLane;
    return events;
}

/// What slices() must show, from the events themselves.
std::vector<columns::SpanSummary> grouped(const std::vector<SpanEvent>& events, int shift) {
    columns::SpanGrouper grouper(shift);
    for (const SpanEvent& event : events) grouper.add(columns::SpanSummary::of(event));
    return grouper.take();
}

void expectSame(const std::vector<LaneSlice>& slices,
                const std::vector<columns::SpanSummary>& expected) {
    ASSERT_EQ(slices.size(), expected.size());
    for (std::size_t i = 0; i < slices.size(); ++i) {
        ASSERT_EQ(slices[i].range, (TimeRange{expected[i].first, expected[i].last})) << i;
        ASSERT_EQ(slices[i].count, expected[i].count) << i;
        ASSERT_EQ(slices[i].busy, expected[i].busy) << i;
        ASSERT_EQ(slices[i].name, expected[i].name) << i;
        ASSERT_EQ(slices[i].correlation, expected[i].correlation) << i;
    }
}

TEST(Recording, GivesBackWhatWasWritten) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    ASSERT_THAT(test::writeSampleRecording(path), IsOk());
    auto reader = openRecording(path);
    ASSERT_THAT(reader, IsOk());
    auto summary = (*reader)->summary();
    ASSERT_THAT(summary, IsOk());
    EXPECT_TRUE(summary->complete);
    EXPECT_EQ(summary->ranks.size(), 2u);
    EXPECT_EQ(summary->steps.size(), 20u);
    EXPECT_EQ(summary->run.strategy, "zero3");
    EXPECT_EQ(summary->events.total(), summary->ranks[0].emitted + summary->ranks[1].emitted);
    auto events = (*reader)->rankEvents({0}, summary->bounds);
    ASSERT_THAT(events, IsOk());
    EXPECT_TRUE(events->hasMemoryEvents);
    EXPECT_EQ(events->collectives.size(), summary->events.collectives / 2);
    EXPECT_EQ(events->collectives.front().arrivals.size(), 2u);
    EXPECT_EQ((*reader)->text({0}, events->collectives.front().algorithm), "direct");
}

TEST(Recording, FinalisedIsOneFile) {
    const test::TemporaryFolder folder;
    ASSERT_THAT(test::writeSampleRecording(folder.file("run.sscope")), IsOk());
    std::size_t files = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path()))
        ++files;
    EXPECT_EQ(files, 1u);
}

TEST(Recording, BecomesOneFileAlsoUnderTheEyesOfAReader) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    auto writer = someWriter(path);
    ASSERT_THAT(writer, IsOk());
    ASSERT_THAT(addInChunks(*writer, operators(1000)), IsOk());
    auto reader = openRecording(path);
    ASSERT_THAT(reader, IsOk());
    auto growing = (*reader)->summary();
    ASSERT_THAT(growing, IsOk());
    EXPECT_FALSE(growing->complete);
    EXPECT_EQ(growing->events.spans, 1000u);
    ASSERT_THAT(writer->finalise(RunStatus::kFinished, {1}, Pyramids::kAll), IsOk());
    EXPECT_FALSE(std::filesystem::exists(path + "-wal"));
    EXPECT_TRUE((*reader)->summary()->complete);
}

TEST(Recording, ReaderSeesWhatAWriterAddsBetweenCalls) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    auto writer = someWriter(path);
    ASSERT_THAT(writer, IsOk());
    ASSERT_THAT(writer->flush(), IsOk());
    auto reader = openRecording(path);
    ASSERT_THAT(reader, IsOk());
    EXPECT_TRUE((*reader)->spans(kRank, kLane, kEverything)->empty());
    ASSERT_THAT(writer->addStrings(kRank, {1}, {"aten::mm"}), IsOk());
    ASSERT_THAT(addInChunks(*writer, operators(500)), IsOk());
    EXPECT_EQ((*reader)->spans(kRank, kLane, kEverything)->size(), 500u);
    EXPECT_EQ((*reader)->text(kRank, {1}), "aten::mm");
}

TEST(Recording, SlicesOfManyEventsAreTheSameFromPyramidAndChunks) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    // More than a recording that needs no pyramids.
    const auto events = operators(600'000);
    auto writer = someWriter(path);
    ASSERT_THAT(writer, IsOk());
    ASSERT_THAT(addInChunks(*writer, events), IsOk());
    for (const bool finalised : {false, true}) {
        if (finalised) {
            ASSERT_THAT(writer->finalise(RunStatus::kFinished, {1}, Pyramids::kAll), IsOk());
        }
        auto reader = openRecording(path);
        ASSERT_THAT(reader, IsOk());
        for (const int shift : {20, 21, 23, 27, 31, 45}) {
            auto slices =
                (*reader)->slices(kRank, kLane, kEverything, {(std::int64_t{1} << shift) + 1});
            ASSERT_THAT(slices, IsOk());
            expectSame(*slices, grouped(events, shift));
        }
    }
}

TEST(Recording, MergesSmallChunksWhenFinalised) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    const auto events = operators(150'000);
    auto writer = someWriter(path);
    ASSERT_THAT(writer, IsOk());
    for (std::size_t at = 0; at < events.size(); at += 500)
        ASSERT_THAT(
            writer->addChunk(columns::encodeSpans(kRank, std::span(events).subspan(at, 500))),
            IsOk());
    ASSERT_THAT(writer->flush(), IsOk());
    auto reader = openRecording(path);
    ASSERT_THAT(reader, IsOk());
    // One who has read before, its directory and caches full of small chunks.
    EXPECT_EQ(*(*reader)->spans(kRank, kLane, kEverything), events);
    EXPECT_EQ((*reader)->query("SELECT count(*) FROM chunks")->rows[0][0], "300");
    const Bytes before = (*reader)->summary()->fileSize;
    ASSERT_THAT(writer->finalise(RunStatus::kFinished, {1}, Pyramids::kAll), IsOk());
    EXPECT_EQ(*(*reader)->spans(kRank, kLane, kEverything), events);
    // 16 x 500 each
    EXPECT_EQ((*reader)->query("SELECT count(*) FROM chunks")->rows[0][0], "19");
    EXPECT_EQ((*reader)->query("SELECT count(*) FROM events")->rows[0][0], "150000");
    EXPECT_LT((*reader)->summary()->fileSize, before);
    EXPECT_EQ((*reader)->summary()->events.spans, events.size());
}

TEST(Recording, WritesPyramidsOfManyEventsAtOnce) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    auto writer = someWriter(path);
    ASSERT_THAT(writer, IsOk());
    const auto events = operators(columns::kStoredChunkEvents);
    const auto chunk = columns::encodeSpans(kRank, events);
    for (std::size_t added = 0; added < 500'000; added += events.size())
        ASSERT_THAT(writer->addChunk(chunk), IsOk());
    ASSERT_THAT(writer->flush(), IsOk());
    auto reader = openRecording(path);
    ASSERT_THAT(reader, IsOk());
    EXPECT_NE((*reader)->query("SELECT count(*) FROM pyramid")->rows[0][0], "0");
}

TEST(Recording, MergesTheSmallestChunksFirst) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    constexpr LaneId kSamples{5};
    auto writer = someWriter(path);
    ASSERT_THAT(writer, IsOk());
    ASSERT_THAT(writer->addLane({kRank, kSamples, LaneRole::kCounter, "CPU time", "ns", 1}),
                IsOk());
    const auto events = operators(2'000);
    for (std::size_t i = 0; i < 10; ++i) {
        const CounterEvent sample{{static_cast<std::int64_t>(i)}, kSamples, 1.0};
        ASSERT_THAT(
            writer->addChunk(columns::encodeSpans(kRank, std::span(events).subspan(i * 200, 200))),
            IsOk());
        ASSERT_THAT(writer->addChunk(columns::encodeCounters(kRank, std::span(&sample, 1))),
                    IsOk());
    }
    ASSERT_THAT(writer->flush(), IsOk());
    auto file = Connection::open(path, Connection::Mode::kCreate);
    ASSERT_THAT(file, IsOk());
    const auto chunksOf = [&](LaneId lane) {
        return *file->integer("SELECT count(*) FROM chunks WHERE lane=" +
                              std::to_string(lane.value));
    };
    ASSERT_THAT(mergeSmallChunks(*file, 1e-7), IsOk());
    EXPECT_EQ(chunksOf(kSamples), 1);
    EXPECT_EQ(chunksOf(kLane), 10);
    ASSERT_THAT(mergeSmallChunks(*file, 1), IsOk());
    EXPECT_EQ(chunksOf(kLane), 1);
    auto reader = openRecording(path);
    ASSERT_THAT(reader, IsOk());
    EXPECT_EQ(*(*reader)->spans(kRank, kLane, kEverything), events);
}

TEST(Recording, TakesLongerToFinishWhereALongRunEndedByItself) {
    const Timestamp day{std::int64_t{86'400} * 1'000'000'000};
    EXPECT_EQ(finishSeconds(RunStatus::kFinished, {1}), finishSeconds(RunStatus::kStopped, day));
    EXPECT_EQ(finishSeconds(RunStatus::kFailed, day), finishSeconds(RunStatus::kKilled, day));
    EXPECT_DOUBLE_EQ(finishSeconds(RunStatus::kFinished, day), 86.4);
}

TEST(Recording, SplitsLargeChunksForViews) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    const auto events = operators(20'000);
    auto writer = someWriter(path);
    ASSERT_THAT(writer, IsOk());
    ASSERT_THAT(writer->addChunk(columns::encodeSpans(kRank, events)), IsOk());
    ASSERT_THAT(writer->finalise(RunStatus::kFinished, {1}, Pyramids::kAll), IsOk());
    auto reader = openRecording(path);
    EXPECT_EQ(*(*reader)->spans(kRank, kLane, kEverything), events);
    EXPECT_EQ((*reader)->query("SELECT max(count) FROM chunks")->rows[0][0],
              std::to_string(columns::kStoredChunkEvents));
    EXPECT_EQ((*reader)->query("SELECT count(*) FROM chunks")->rows[0][0], "3");
}

TEST(Recording, QueriesAfterFinalisingForgetChunksThatWereMerged) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    auto writer = someWriter(path);
    ASSERT_THAT(writer, IsOk());
    ASSERT_THAT(addInChunks(*writer, operators(20'000)), IsOk());
    auto reader = openRecording(path);
    ASSERT_THAT(reader, IsOk());
    EXPECT_EQ((*reader)->query("SELECT count(*) FROM events")->rows[0][0], "20000");
    ASSERT_THAT(writer->finalise(RunStatus::kFinished, {1}, Pyramids::kAll), IsOk());
    EXPECT_EQ((*reader)->query("SELECT count(*) FROM events")->rows[0][0], "20000");
}

TEST(Recording, SlicesOfAPartReachOverItsEdges) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    ASSERT_THAT(test::writeSampleRecording(path), IsOk());
    auto reader = openRecording(path);
    ASSERT_THAT(reader, IsOk());
    const auto phases = (*reader)->spans(kRank, lanes::kPhases.id, kEverything);
    ASSERT_THAT(phases, IsOk());
    const SpanEvent& middle = (*phases)[phases->size() / 2];
    const TimeRange inside{middle.start + Duration{1}, middle.end() - Duration{1}};
    auto slices = (*reader)->slices(kRank, lanes::kPhases.id, inside, {1});
    ASSERT_THAT(slices, IsOk());
    ASSERT_EQ(slices->size(), 1u);
    EXPECT_EQ(slices->front().range, middle.range());
}

TEST(Recording, CounterSlicesFollowTheMemoryEvents) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    ASSERT_THAT(test::writeSampleRecording(path), IsOk());
    auto reader = openRecording(path);
    ASSERT_THAT(reader, IsOk());
    const auto events = (*reader)->memoryEvents(kRank, kEverything);
    ASSERT_THAT(events, IsOk());
    double total = 0;
    double highest = 0;
    for (const MemoryEvent& event : *events) {
        const auto size = static_cast<double>(event.size.count);
        total += event.action == MemoryAction::kAllocate ? size : -size;
        highest = std::max(highest, total);
    }
    const TimeRange range{events->front().time, events->back().time + Duration{1}};
    for (const std::int64_t resolution : {std::int64_t{1}, std::int64_t{10'000'000}}) {
        auto slices = (*reader)->counter(kRank, kMemoryTotalLane, range, {resolution});
        ASSERT_THAT(slices, IsOk());
        double shown = 0;
        for (const CounterSlice& slice : *slices) shown = std::max(shown, slice.maximum);
        EXPECT_EQ(shown, highest);
        EXPECT_EQ(slices->back().last, total);
        EXPECT_EQ(slices->front().range.begin, range.begin);
        EXPECT_EQ(slices->back().range.end, range.end);
    }
    EXPECT_EQ((*reader)->rankEvents(kRank, kEverything)->peakMemory.count,
              static_cast<std::int64_t>(highest));
    // A range after all events still knows the value in force.
    auto after =
        (*reader)->counter(kRank, kMemoryTotalLane, {range.end, range.end + Duration{9}}, {1});
    ASSERT_THAT(after, IsOk());
    ASSERT_EQ(after->size(), 1u);
    EXPECT_EQ(after->front().last, total);
}

TEST(Recording, ManyCounterSamplesAreTheSameFromPyramidAndChunks) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    constexpr LaneId kCounter{9};
    test::RandomEvents random(8);
    std::vector<CounterEvent> samples;
    for (int i = 0; i < 600'000; ++i)
        samples.push_back({{i * std::int64_t{4'000}},
                           kCounter,
                           static_cast<double>(random.between(0, 1'000'000))});
    auto writer = someWriter(path);
    ASSERT_THAT(writer, IsOk());
    for (std::size_t at = 0; at < samples.size(); at += 10'000)
        ASSERT_THAT(writer->addChunk(
                        columns::encodeCounters(kRank, std::span(samples).subspan(at, 10'000))),
                    IsOk());
    ASSERT_THAT(writer->finalise(RunStatus::kFinished, {1}, Pyramids::kAll), IsOk());
    auto reader = openRecording(path);
    ASSERT_THAT(reader, IsOk());
    constexpr int kShift = 22;
    auto slices = (*reader)->counter(kRank, kCounter, {{0}, samples.back().time + Duration{1}},
                                     {std::int64_t{1} << kShift});
    ASSERT_THAT(slices, IsOk());
    std::map<std::int64_t, columns::CounterSummary> expected;
    for (const CounterEvent& sample : samples) {
        const auto item = columns::CounterSummary::of(sample);
        const auto [at, added] = expected.try_emplace(sample.time.ns >> kShift, item);
        if (!added) at->second.merge(item);
    }
    ASSERT_EQ(slices->size(), expected.size());
    auto slice = slices->begin();
    for (const auto& [cell, summary] : expected) {
        EXPECT_EQ(slice->minimum, summary.minimum);
        EXPECT_EQ(slice->maximum, summary.maximum);
        EXPECT_EQ(slice->last, summary.latest);
        ++slice;
    }
}

TEST(Recording, ListsBlocksAliveLargestFirst) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    ASSERT_THAT(test::writeSampleRecording(path), IsOk());
    auto reader = openRecording(path);
    ASSERT_THAT(reader, IsOk());
    const auto events = (*reader)->rankEvents(kRank, kEverything);
    const auto alive = (*reader)->liveMemory(kRank, events->peakTime);
    ASSERT_THAT(alive, IsOk());
    Bytes sum;
    for (std::size_t i = 0; i < alive->size(); ++i) {
        sum += (*alive)[i].size;
        EXPECT_GE((*alive)[i == 0 ? 0 : i - 1].size, (*alive)[i].size);
    }
    EXPECT_EQ(sum, events->peakMemory);
}

/// Chunks of threads overlap in time, and then their order is not that of time.
TEST(Recording, LiveBlocksAreTheSameInWhicheverOrderChunksCame) {
    test::RandomEvents random(23);
    std::vector<MemoryEvent> events(4000);
    for (std::size_t i = 0; i < events.size(); ++i) {
        events[i].time = {static_cast<std::int64_t>(10 * i)};
        events[i].address = static_cast<std::uint64_t>(random.between(1, 300));
        events[i].size = {random.between(1, 1000)};
        events[i].action =
            random.between(0, 2) == 0 ? MemoryAction::kFree : MemoryAction::kAllocate;
    }
    for (const bool interleaved : {false, true}) {
        const test::TemporaryFolder folder;
        auto writer = someWriter(folder.file("run.sscope"));
        ASSERT_THAT(writer, IsOk());
        std::vector<std::vector<MemoryEvent>> chunks(4);
        for (std::size_t i = 0; i < events.size(); ++i)
            chunks[interleaved ? i % 4 : i / 1000].push_back(events[i]);
        for (const auto& chunk : chunks)
            ASSERT_THAT(writer->addChunk(columns::encodeMemory(kRank, chunk)), IsOk());
        ASSERT_THAT(writer->flush(), IsOk());
        auto reader = openRecording(folder.file("run.sscope"));
        ASSERT_THAT(reader, IsOk());
        for (const std::int64_t time : {-1, 0, 5, 9'990, 10'000, 25'555, 39'990, 50'000}) {
            std::map<std::uint64_t, MemoryEvent> expected;
            for (const MemoryEvent& event : events) {
                if (event.time.ns > time) break;
                if (event.action == MemoryAction::kAllocate)
                    expected[event.address] = event;
                else
                    expected.erase(event.address);
            }
            const auto alive = (*reader)->liveMemory(kRank, {time});
            ASSERT_THAT(alive, IsOk());
            ASSERT_EQ(alive->size(), expected.size()) << time;
            for (const MemoryEvent& block : *alive)
                ASSERT_EQ(block, expected.at(block.address)) << time;
        }
    }
}

/// Measuring the machine before the first step takes memory that the run never does.
TEST(Recording, PeakOfMemoryIsAfterCalibration) {
    constexpr LaneId kCompute{1};
    const auto block = [](std::int64_t time, MemoryAction action, std::int64_t size) {
        MemoryEvent event;
        event.time = {time};
        event.address = static_cast<std::uint64_t>(size);
        event.size = {size};
        event.action = action;
        return event;
    };
    std::vector<MemoryEvent> blocks = {block(10, MemoryAction::kAllocate, 9000),
                                       block(20, MemoryAction::kFree, 9000)};
    const auto peakOf = [&](bool calibrated) {
        const test::TemporaryFolder folder;
        const std::string path = folder.file("run.sscope");
        auto writer = someWriter(path);
        EXPECT_THAT(writer, IsOk());
        EXPECT_THAT(writer->addLane({kRank, kCompute, LaneRole::kCompute, "compute", "", 0}),
                    IsOk());
        SpanEvent span;
        span.lane = kCompute;
        span.start = {5};
        span.duration = {20};
        span.phase = calibrated ? Phase::kCalibration : Phase::kForward;
        EXPECT_THAT(writer->addChunk(columns::encodeSpans(kRank, std::vector{span})), IsOk());
        EXPECT_THAT(writer->addChunk(columns::encodeMemory(kRank, blocks)), IsOk());
        EXPECT_THAT(writer->finalise(RunStatus::kFinished, {100}), IsOk());
        auto reader = openRecording(path);
        EXPECT_THAT(reader, IsOk());
        return (*reader)->rankEvents(kRank, kEverything)->peakMemory.count;
    };
    EXPECT_EQ(peakOf(true), 9000) << "there is nothing else";
    blocks.push_back(block(30, MemoryAction::kAllocate, 700));
    EXPECT_EQ(peakOf(true), 700);
    EXPECT_EQ(peakOf(false), 9000);
}

TEST(Recording, SplitsChunksByLane) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    auto events = operators(1000);
    for (std::size_t i = 0; i < events.size(); i += 3) events[i].lane = {40};
    auto writer = someWriter(path);
    ASSERT_THAT(writer, IsOk());
    ASSERT_THAT(writer->addChunk(columns::encodeSpans(kRank, events)), IsOk());
    EXPECT_EQ(writer->events().spans, 1000u);
    ASSERT_THAT(writer->finalise(RunStatus::kFinished, {1}, Pyramids::kAll), IsOk());
    auto reader = openRecording(path);
    ASSERT_THAT(reader, IsOk());
    EXPECT_EQ((*reader)->spans(kRank, {40}, kEverything)->size(), 334u);
    EXPECT_EQ((*reader)->spans(kRank, kLane, kEverything)->size(), 666u);
}

TEST(Recording, RefusesAChunkThatDoesNotDecodeAndGoesOn) {
    const test::TemporaryFolder folder;
    auto writer = someWriter(folder.file("run.sscope"));
    ASSERT_THAT(writer, IsOk());
    auto chunk = columns::encodeSpans(kRank, operators(100));
    chunk.back() ^= std::byte{1};
    EXPECT_THAT(writer->addChunk(chunk), FailsWith("fails its checksum"));
    chunk.back() ^= std::byte{1};
    EXPECT_THAT(writer->addChunk(chunk), IsOk());
    EXPECT_EQ(writer->events().spans, 100u);
}

}  // namespace
}  // namespace shardscope::storage
