// Flows and instants through writer, reader, SQL, verify, salvage and copies.
#include "storage/columns/chunk.h"
#include "storage/interchange/export.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/recording/read/flow_arrows.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/recording/repair/salvage_recording.h"
#include "storage/recording/verify/verify_recording.h"
#include "storage/recording/write/recording_writer.h"
#include "tests/support/formats.h"
#include "tests/support/result_matchers.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <fstream>

namespace shardscope::storage {
namespace {

using test::FailsWith;
using test::IsOk;

constexpr RankId kRank{0};
constexpr LaneId kCalls{0x1000}, kStream{0x1001}, kMarks{7};
constexpr TimeRange kEverything{{-(std::int64_t{1} << 60)}, {std::int64_t{1} << 60}};
constexpr StringId kLaunch{1}, kKernel{2}, kCategory{3}, kMark{4}, kArguments{5}, kTextId{6};

SpanEvent span(LaneId lane, StringId name, std::int64_t start, std::int64_t duration) {
    SpanEvent event;
    event.start = {start};
    event.duration = {duration};
    event.lane = lane;
    event.name = name;
    return event;
}

FlowEvent flow(FlowPoint point, std::uint64_t id, LaneId lane, std::int64_t time,
               std::int64_t spanStart) {
    FlowEvent event;
    event.time = {time};
    event.lane = lane;
    event.id = id;
    event.name = event.category = kCategory;
    event.point = point;
    event.bound = true;
    event.spanStart = {spanStart};
    return event;
}

InstantEvent instant(std::int64_t time, InstantScope scope) {
    InstantEvent event;
    event.time = {time};
    event.lane = kMarks;
    event.name = kMark;
    event.arguments = kArguments;
    event.step = {3};
    event.scope = scope;
    return event;
}

std::string faultsOf(const std::string& path) {
    auto found = verifyRecording(path);
    if (!found) return found.error().message;
    std::string text;
    for (const Fault& fault : found->faults) text += fault.where + ": " + fault.what + "\n";
    return text;
}

/// A launch at 1,000 and one at 3,000 ns whose kernels begin at 2,000 and 4,000; ids are used
/// twice, one has only an end; instants every 10 ns.
class FlowsAndInstants : public ::testing::Test {
protected:
    static constexpr int kInstants = 20'000;

    void SetUp() override { ASSERT_THAT(write(m_path), IsOk()); }

    Result<void> write(const std::string& path) {
        RunFacts run;
        run.id = "run";
        run.worldSize = 1;
        auto writer = RecordingWriter::create(path, run, true);
        if (!writer) return failure(writer);
        std::vector<Result<void>> done;
        done.push_back(writer->addHost({}));
        done.push_back(writer->addLane({kRank, kCalls, LaneRole::kRuntime, "calls", "", 0}));
        done.push_back(writer->addLane({kRank, kStream, LaneRole::kCompute, "stream", "", 1}));
        done.push_back(writer->addLane({kRank, kMarks, LaneRole::kRange, "marks", "", 2}));
        done.push_back(writer->addStrings(
            kRank, {1}, {"launch", "kernel", "ac2g", "mark", "{\"a\":1}", "0xbeef"}));
        done.push_back(writer->addChunk(columns::encodeSpans(
            kRank,
            std::vector{span(kCalls, kLaunch, 1000, 100), span(kStream, kKernel, 2000, 500),
                        span(kCalls, kLaunch, 3000, 100), span(kStream, kKernel, 4000, 500)})));
        FlowEvent named = flow(FlowPoint::kEnd, 9, kStream, 4100, 4000);
        named.idText = kTextId;
        done.push_back(writer->addChunk(columns::encodeFlows(
            kRank, std::vector{flow(FlowPoint::kStart, 1, kCalls, 1000, 1000),
                               flow(FlowPoint::kStep, 1, kStream, 1900, 2000),
                               flow(FlowPoint::kEnd, 1, kStream, 2000, 2000),
                               flow(FlowPoint::kStart, 1, kCalls, 3000, 3000),
                               flow(FlowPoint::kEnd, 1, kStream, 4000, 4000), named})));
        std::vector<InstantEvent> instants;
        for (int i = 0; i < kInstants; ++i)
            instants.push_back(instant(10 * i, static_cast<InstantScope>(1 + i % 3)));
        for (std::size_t at = 0; at < instants.size(); at += 1000)
            done.push_back(writer->addChunk(
                columns::encodeInstants(kRank, std::span(instants).subspan(at, 1000))));
        RankFacts rank;
        rank.rank = kRank;
        rank.emitted = 4 + 6 + kInstants;
        done.push_back(writer->putRank(rank));
        done.push_back(writer->finalise(RunStatus::kFinished, {200'000}));
        for (const auto& each : done)
            if (!each) return each;
        return {};
    }

    std::unique_ptr<RecordingReader> open(const std::string& path) {
        auto reader = openRecording(path);
        EXPECT_THAT(reader, IsOk());
        return reader ? std::move(*reader) : nullptr;
    }
    static std::string cell(RecordingReader& reader, const std::string& sql) {
        auto table = reader.query(sql);
        if (!table) return table.error().message;
        return table->rows.at(0).at(0).value_or("NULL");
    }

    test::TemporaryFolder m_folder;
    std::string m_path = m_folder.file("run.sscope");
};

TEST_F(FlowsAndInstants, ComeBackAsTheyWereWritten) {
    auto reader = open(m_path);
    const auto flows = reader->flows(kRank, kStream, kEverything);
    ASSERT_THAT(flows, IsOk());
    ASSERT_EQ(flows->size(), 4u);
    EXPECT_EQ(flows->at(1), flow(FlowPoint::kEnd, 1, kStream, 2000, 2000));
    EXPECT_EQ(flows->at(3).idText, kTextId);
    EXPECT_EQ(reader->flows(kRank, kCalls, {{2000}, {4000}})->size(), 1u);
    const auto instants = reader->instants(kRank, kMarks, {{100}, {200}});
    ASSERT_EQ(instants->size(), 10u);
    EXPECT_EQ(instants->front(), instant(100, InstantScope::kProcess));
    const auto summary = reader->summary();
    EXPECT_EQ(summary->events.flows, 6u);
    EXPECT_EQ(summary->events.instants, std::uint64_t{kInstants});
    EXPECT_EQ(faultsOf(m_path), "");
}

TEST_F(FlowsAndInstants, ArrowsOfASpanAreThoseThatTouchIt) {
    auto reader = open(m_path);
    const auto launch = reader->arrowsOf(kRank, kCalls, {1000}, 0);
    ASSERT_THAT(launch, IsOk());
    ASSERT_EQ(launch->size(), 1u);  // the id is used again later
    ASSERT_EQ(launch->front().size(), 3u);
    EXPECT_EQ(launch->front().back().spanStart, Timestamp{2000});
    const auto kernel = reader->arrowsOf(kRank, kStream, {4000}, 0);
    ASSERT_EQ(kernel->size(), 2u);
    EXPECT_EQ(kernel->front().front().time, Timestamp{3000});
    EXPECT_EQ(kernel->back().size(), 1u);  // nothing is known of where it begins
    EXPECT_TRUE(reader->arrowsOf(kRank, kStream, {4000}, 1)->empty());
}

TEST_F(FlowsAndInstants, AreRowsOfEventsAndOfTheirViews) {
    auto reader = open(m_path);
    EXPECT_EQ(cell(*reader, "SELECT count(*) FROM flows"), "6");
    EXPECT_EQ(cell(*reader, "SELECT group_concat(point) FROM flows WHERE id=1 AND time_ns<3000"),
              "start,step,end");
    EXPECT_EQ(cell(*reader, "SELECT id FROM flows WHERE time_ns=4100"), "0xbeef");
    EXPECT_EQ(cell(*reader,
                   "SELECT k.name FROM flows f JOIN kernels k ON 0"
                   " UNION ALL SELECT e.name FROM flows f JOIN events e ON e.kind='span'"
                   " AND e.lane=f.lane AND e.start_ns=f.span_start_ns"
                   " WHERE f.time_ns=1900"),
              "kernel");
    EXPECT_EQ(cell(*reader, "SELECT count(*) FROM instants WHERE scope='global'"), "6666");
    EXPECT_EQ(cell(*reader, "SELECT arguments FROM instants WHERE time_ns=50"), "{\"a\":1}");
    EXPECT_EQ(cell(*reader, "SELECT count(*) FROM events WHERE name='mark'"), "20000");
    EXPECT_EQ(cell(*reader, "SELECT step FROM events WHERE kind='instant' LIMIT 1"), "3");
}

TEST_F(FlowsAndInstants, InstantsAreDrawnFromAfarAndNear) {
    auto reader = open(m_path);
    std::uint64_t seen = 0;
    const auto far = reader->slices(kRank, kMarks, {{0}, {200'000}}, Duration{1000});
    for (const LaneSlice& slice : *far) {
        EXPECT_TRUE(slice.instant);
        seen += slice.count;
    }
    EXPECT_EQ(seen, std::uint64_t{kInstants});
    const auto near = reader->slices(kRank, kMarks, {{0}, {100}}, Duration{1});
    ASSERT_EQ(near->size(), 10u);
    EXPECT_EQ(near->at(1).range, (TimeRange{{10}, {10}}));
    const auto spans = reader->slices(kRank, kStream, kEverything, Duration{1});
    EXPECT_FALSE(spans->front().instant);
}

TEST_F(FlowsAndInstants, SurviveRepair) {
    const std::string out = m_folder.file("repaired.sscope");
    const auto saved = salvageRecording(m_path, out, true);
    ASSERT_THAT(saved, IsOk());
    EXPECT_TRUE(saved->lossless());
    EXPECT_EQ(faultsOf(out), "");
    auto before = open(m_path), after = open(out);
    EXPECT_EQ(*before->flows(kRank, kStream, kEverything),
              *after->flows(kRank, kStream, kEverything));
    EXPECT_EQ(*before->instants(kRank, kMarks, kEverything),
              *after->instants(kRank, kMarks, kEverything));
}

TEST_F(FlowsAndInstants, OfAPartLieWithinIt) {
    interchange::ExportOptions options;
    options.output = m_folder.file("part.sscope");
    options.range = TimeRange{{1950}, {3500}};
    ASSERT_THAT(interchange::exportAs("sscope", *open(m_path), options), IsOk());
    EXPECT_EQ(faultsOf(options.output), "");
    auto part = open(options.output);
    EXPECT_EQ(cell(*part, "SELECT count(*) FROM flows"), "2");
    EXPECT_EQ(cell(*part, "SELECT category FROM flows LIMIT 1"), "ac2g");
    EXPECT_EQ(cell(*part, "SELECT count(*) FROM instants"), "155");
    EXPECT_EQ(cell(*part, "SELECT arguments FROM instants LIMIT 1"), "{\"a\":1}");
}

TEST_F(FlowsAndInstants, AreRowsOfCsv) {
    interchange::ExportOptions options;
    options.output = m_folder.file("flows.csv");
    options.view = "flows";
    ASSERT_THAT(interchange::exportAs("csv", *open(m_path), options), IsOk());
    std::ifstream file(options.output);
    std::string header, first;
    std::getline(file, header);
    std::getline(file, first);
    EXPECT_EQ(header,
              "rank,lane,lane_name,name,category,id,point,time_ns,span_start_ns,step,arguments\r");
    EXPECT_EQ(first, "0,4096,calls,ac2g,ac2g,1,start,1000,1000,,\r");
}

TEST_F(FlowsAndInstants, OnALaneOfSpansAreAFault) {
    RunFacts run;
    run.id = "run";
    run.worldSize = 1;
    const std::string path = m_folder.file("mixed.sscope");
    auto writer = RecordingWriter::create(path, run, true);
    ASSERT_THAT(writer->addStrings(kRank, {1}, {"a", "b", "c", "d", "{}"}), IsOk());
    ASSERT_THAT(writer->addLane({kRank, kMarks, LaneRole::kRange, "both", "", 0}), IsOk());
    ASSERT_THAT(
        writer->addChunk(columns::encodeSpans(kRank, std::vector{span(kMarks, kLaunch, 0, 10)})),
        IsOk());
    ASSERT_THAT(writer->addChunk(
                    columns::encodeInstants(kRank, std::vector{instant(5, InstantScope::kThread)})),
                IsOk());
    ASSERT_THAT(writer->finalise(RunStatus::kFinished, {10}), IsOk());
    EXPECT_NE(faultsOf(path).find("holds instants on a lane of spans"), std::string::npos);
}

TEST(FlowArrows, OfOneIdEndWhereTheNextBegins) {
    const auto point = [](FlowPoint which, std::int64_t time) {
        FlowEvent event;
        event.point = which;
        event.time = {time};
        return event;
    };
    using enum FlowPoint;
    // In any order; two ends without a start, a chain, a start without an end, an arrow of no
    // length whose end came first.
    const auto arrows =
        arrowsIn({point(kEnd, 50), point(kStart, 20), point(kEnd, 10), point(kStep, 30),
                  point(kEnd, 12), point(kEnd, 40), point(kStart, 45), point(kStart, 50)});
    std::vector<std::size_t> sizes;
    for (const FlowArrow& arrow : arrows) sizes.push_back(arrow.size());
    EXPECT_EQ(sizes, (std::vector<std::size_t>{1, 1, 3, 1, 2}));
}

}  // namespace
}  // namespace shardscope::storage
