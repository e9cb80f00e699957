// A recording that is read while it is imported: what is there holds, and the end is as without.
#include "storage/interchange/trace_builder.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/verify/verify_recording.h"
#include "tests/storage/interchange/kineto_samples.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace shardscope {
namespace {

using interchange::importTraces;
using interchange::TraceBuilder;
using test::FailsAs;
using test::IsOk;
using ::testing::ElementsAre;

constexpr RankId kRank{3};
constexpr TimeRange kEverything{{-(std::int64_t{1} << 60)}, {std::int64_t{1} << 60}};
/// More than wait for their order in a lane.
constexpr std::int64_t kMany = 100'000;

void expectSound(const std::string& path) {
    const auto verified = storage::verifyRecording(path);
    ASSERT_THAT(verified, IsOk());
    EXPECT_TRUE(verified->sound())
        << verified->faults.front().where << ": " << verified->faults.front().what;
}

/// Every row and event, with texts instead of ids of strings, but for who wrote it when.
std::vector<std::string> contentOf(storage::RecordingReader& reader) {
    std::vector<std::string> all;
    const auto add = [&](const std::string& sql) {
        const auto table = reader.query(sql);
        ASSERT_THAT(table, IsOk()) << sql;
        for (const auto& row : table->rows) {
            std::string line = sql;
            for (const auto& cell : row) line += "|" + cell.value_or("null");
            all.push_back(line);
        }
    };
    for (const char* rows :
         {"lanes", "ranks", "hosts", "devices", "steps", "collectives", "diagnostics", "strings"})
        add("SELECT * FROM " + std::string(rows) + " ORDER BY 1, 2, 3");
    add("SELECT config_json, world_size, status, ended_ns, finalised FROM run");
    const auto summary = reader.summary();
    for (const LaneFacts& lane : summary->lanes) {
        const auto spans = reader.spans(lane.rank, lane.lane, kEverything);
        for (const SpanEvent& span : *spans)
            all.push_back(std::to_string(lane.lane.value) + " " + std::to_string(span.start.ns) +
                          " " + std::to_string(span.duration.ns) + " " +
                          std::to_string(span.step.value) + " " + std::to_string(span.depth) + " " +
                          std::string(reader.text(lane.rank, span.name)) + " " +
                          std::string(reader.text(lane.rank, span.arguments)));
    }
    return all;
}

class PublishedBuilderTest : public ::testing::Test {
protected:
    static RunFacts someRun() {
        RunFacts run;
        run.id = "run";
        return run;
    }
    Result<TraceBuilder> made(const std::string& name) const {
        return TraceBuilder::create(folder.file(name), someRun(), false);
    }
    /// So many operators of a thread, one in ten nanoseconds, the first at `first`.
    static void addSpans(TraceBuilder& builder, std::int64_t first, std::int64_t count) {
        const LaneId lane = builder.lane(kRank, {"1", "2"}, LaneRole::kHost, "thread 2");
        SpanEvent event;
        event.lane = lane;
        event.duration = {5};
        for (std::int64_t i = 0; i < count; ++i) {
            event.start = {first + 10 * i};
            event.name = builder.intern(kRank, "operator " + std::to_string((first + i) % 5'000));
            builder.add(kRank, event, R"({"size":)" + std::to_string(i) + "}");
        }
    }
    static void markStep(TraceBuilder& builder, int number, TimeRange range) {
        builder.markStep(kRank, {StepNaming::kProfilerStep, {number}}, range);
    }
    test::TemporaryFolder folder;
};

TEST_F(PublishedBuilderTest, NothingIsThereBeforeAnEventIs) {
    auto builder = made("out.sscope");
    ASSERT_THAT(builder, IsOk());
    EXPECT_FALSE(builder->publish());
    addSpans(*builder, 0, 10);  // they wait for their order
    EXPECT_FALSE(builder->publish());
    addSpans(*builder, 100, kMany);
    EXPECT_TRUE(builder->publish());
}

TEST_F(PublishedBuilderTest, AReaderSeesLanesNamesAndStepsAndMoreAsItComes) {
    auto builder = made("out.sscope");
    ASSERT_THAT(builder, IsOk());
    builder->deriveSteps(kRank);
    markStep(*builder, 7, {{0}, {200'000}});
    addSpans(*builder, 0, kMany);
    ASSERT_TRUE(builder->publish());
    auto reader = storage::openRecording(builder->partFile());
    ASSERT_THAT(reader, IsOk());
    auto summary = (*reader)->summary();
    ASSERT_THAT(summary, IsOk());
    EXPECT_FALSE(summary->complete);
    ASSERT_EQ(summary->lanes.size(), 1u);
    EXPECT_EQ(summary->lanes[0].name, "thread 2");
    ASSERT_EQ(summary->ranks.size(), 1u);
    EXPECT_EQ(summary->run.worldSize, 1);
    ASSERT_EQ(summary->steps.size(), 1u);
    EXPECT_EQ(summary->steps[0].step.value, 7);
    const LaneId lane = summary->lanes[0].lane;
    const auto first = (*reader)->spans(kRank, lane, kEverything);
    ASSERT_THAT(first, IsOk());
    EXPECT_EQ(first->size(), summary->events.spans);
    EXPECT_EQ((*reader)->text(kRank, first->at(4'321).name), "operator 4321");
    EXPECT_EQ((*reader)->text(kRank, first->at(4'321).arguments), R"({"size":4321})");
    EXPECT_EQ(first->at(4'321).step.value, 7);
    expectSound(builder->partFile());
    markStep(*builder, 8, {{200'000}, {10 * kMany}});
    addSpans(*builder, 10 * kMany, kMany);
    builder->lane(kRank, {"1", "2"}, LaneRole::kRange, "a better name");
    ASSERT_TRUE(builder->publish());
    summary = (*reader)->summary();
    ASSERT_THAT(summary, IsOk());
    EXPECT_EQ(summary->lanes[0].name, "a better name");
    EXPECT_EQ(summary->steps.size(), 2u);
    const auto more = (*reader)->spans(kRank, lane, kEverything);
    ASSERT_THAT(more, IsOk());
    EXPECT_GT(more->size(), first->size());
    EXPECT_TRUE(std::equal(first->begin(), first->end(), more->begin()));
    expectSound(builder->partFile());
}

TEST_F(PublishedBuilderTest, StepsThatTurnOutToBeNoneAreTakenBack) {
    auto builder = made("out.sscope");
    ASSERT_THAT(builder, IsOk());
    builder->deriveSteps(kRank);
    builder->markStep(kRank, {StepNaming::kBatch, {70}}, {{0}, {10}});
    addSpans(*builder, 0, kMany);
    ASSERT_TRUE(builder->publish());
    builder->markStep(kRank, {StepNaming::kProfilerStep, {1}}, {{10}, {50}});
    ASSERT_TRUE(builder->publish());
    auto reader = storage::openRecording(builder->partFile());
    ASSERT_THAT(reader, IsOk());
    ASSERT_EQ((*reader)->summary()->steps.size(), 1u);
    EXPECT_EQ((*reader)->summary()->steps[0].step.value, 1);
    // it begins earlier and overlaps the one before
    builder->markStep(kRank, {StepNaming::kProfilerStep, {0}}, {{0}, {30}});
    ASSERT_THAT(builder->finish(someRun(), {10 * kMany}), IsOk());
    auto whole = storage::openRecording(folder.file("out.sscope"));
    ASSERT_THAT(whole, IsOk());
    ASSERT_EQ((*whole)->summary()->steps.size(), 1u);
    EXPECT_EQ((*whole)->summary()->steps[0].step.value, 0);
}

TEST_F(PublishedBuilderTest, TheEndIsAsWithoutIt) {
    std::vector<std::vector<std::string>> contents;
    for (const bool published : {false, true}) {
        const std::string name = published ? "published.sscope" : "plain.sscope";
        auto builder = made(name);
        ASSERT_THAT(builder, IsOk());
        builder->deriveSteps(kRank);
        for (int i = 0; i < 8; ++i) {
            markStep(*builder, i, {{i * kMany / 2}, {(i + 1) * kMany / 2}});
            addSpans(*builder, i * kMany / 2, kMany / 20);
            addSpans(*builder, i * kMany / 2 + 3, kMany / 5);
            if (published) static_cast<void>(builder->publish());
        }
        ASSERT_THAT(builder->finish(someRun(), {10 * kMany}), IsOk());
        auto reader = storage::openRecording(folder.file(name));
        ASSERT_THAT(reader, IsOk());
        contents.push_back(contentOf(**reader));
    }
    EXPECT_GT(contents[0].size(), 200'000u);
    EXPECT_EQ(contents[0], contents[1]);
}

TEST_F(PublishedBuilderTest, WhatIsGivenUpCanBeReadForAsLongAsItIsKept) {
    std::optional<storage::OutputFile> kept;
    std::string part;
    {
        auto builder = made("out.sscope");
        ASSERT_THAT(builder, IsOk());
        addSpans(*builder, 0, kMany);
        ASSERT_TRUE(builder->publish());
        part = builder->partFile();
        kept = builder->abandon();
    }
    auto again = TraceBuilder::create(folder.file("out.sscope"), someRun(), false, 1);
    ASSERT_THAT(again, IsOk());
    EXPECT_NE(again->partFile(), part);
    auto reader = storage::openRecording(part);
    ASSERT_THAT(reader, IsOk());
    EXPECT_GT((*reader)->summary()->events.spans, 0u);
    expectSound(part);
    kept.reset();
    again = failure(ErrorCode::kFailure, "given up as well");
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

/// What an import told while it went on, looked at each time it did.
class ReadableImportTest : public ::testing::Test {
protected:
    void SetUp() override {
        imported.options.readable = [this](const std::string& path) {
            ++told;
            part = path;
        };
        imported.options.readAgain = [this](std::optional<Duration> by) { later.push_back(by); };
        imported.options.progress = [this](double) {
            if (!part.empty()) look();
            return !cancelled;
        };
    }
    void look() {
        auto reader = storage::openRecording(part);
        ASSERT_THAT(reader, IsOk());
        const auto summary = (*reader)->summary();
        ASSERT_THAT(summary, IsOk());
        ASSERT_FALSE(summary->lanes.empty());
        EXPECT_EQ(summary->ranks.size(), 1u);
        std::size_t spans = 0;
        for (const LaneFacts& lane : summary->lanes) {
            const auto own = (*reader)->spans(lane.rank, lane.lane, kEverything);
            ASSERT_THAT(own, IsOk());
            EXPECT_FALSE(own->empty()) << lane.name;
            spans += own->size();
            if (!own->empty()) {
                EXPECT_NE((*reader)->text(lane.rank, own->back().name), "");
            }
        }
        // the import's own thread may have stored more since the summary was read
        EXPECT_GE(spans, summary->events.spans);
        EXPECT_GE(spans, seen);
        seen = spans;
        seenRank = summary->ranks[0].rank;
        if (looks++ % 16 == 0) expectSound(part);
    }
    /// So many that the first of them are stored long before the last come.
    static std::string longTrace(const std::string& front, const std::string& back,
                                 const std::string& behind = "") {
        std::string json = "{\"traceEvents\":[" + front;
        for (int i = 0; i < 3 * kMany; ++i)
            json += R"({"ph":"X","cat":"cpu_op","name":"op )" + std::to_string(i % 7'000) +
                    R"(","pid":9,"tid":)" + std::to_string(1 + i % 2) + R"(,"ts":)" +
                    std::to_string(1000 + i) + R"(,"dur":1,"args":{"n":)" + std::to_string(i) +
                    "}},";
        return json + back + "]" + behind + "}";
    }
    static constexpr const char* kLast =
        R"({"ph":"X","cat":"cpu_op","name":"last","pid":9,"tid":1,"ts":400000,"dur":1})";
    static constexpr const char* kStep =
        R"({"ph":"X","cat":"user_annotation","pid":9,"tid":1,"name":"ProfilerStep#7","ts":1000,)"
        R"("dur":200000},)";
    std::vector<std::string> contentAfter(const std::string& json) {
        EXPECT_THAT(imported.importText(json), IsOk());
        auto content = contentOf(*imported.reader);
        EXPECT_EQ(std::distance(std::filesystem::directory_iterator(imported.folder.path()), {}), 2)
            << "the trace and the recording";
        std::filesystem::remove(imported.options.output);
        return content;
    }
    void expectTheSameWithout(const std::string& json) {
        const auto content = contentAfter(json);
        imported.options.readable = nullptr;
        part.clear();
        EXPECT_EQ(contentAfter(json), content);
    }

    test::Imported imported;
    std::string part;
    int told = 0, looks = 0;
    bool cancelled = false;
    std::size_t seen = 0;
    RankId seenRank;
    std::vector<std::optional<Duration>> later;
};

TEST_F(ReadableImportTest, ATraceCanBeReadLongBeforeItsEnd) {
    // which host it was on stands behind its events
    expectTheSameWithout(R"({"distributedInfo":{"rank":5,"world_size":8},)" +
                         longTrace(kStep, kLast, R"(,"host_name":"box")").substr(1));
    EXPECT_EQ(told, 1);
    EXPECT_EQ(seenRank, RankId{5});
    EXPECT_GE(looks, 3);
    EXPECT_GT(seen, 100'000u);
    EXPECT_TRUE(later.empty());
}

TEST_F(ReadableImportTest, WhatComesBeforeTimeZeroMovesAllOfIt) {
    const std::string early =
        R"({"ph":"X","cat":"cpu_op","name":"early","pid":9,"tid":1,"ts":5,"dur":1})";
    expectTheSameWithout(longTrace(kStep, early));
    EXPECT_EQ(told, 1);
    EXPECT_THAT(later, ElementsAre(Duration{995'000}));
}

TEST_F(ReadableImportTest, AClockThatIsSaidLateMovesNothing) {
    expectTheSameWithout(longTrace("", kLast, R"(,"baseTimeNanoseconds":1711964646000000000)"));
    EXPECT_EQ(told, 1);
    EXPECT_TRUE(later.empty());
}

TEST_F(ReadableImportTest, ARankThatIsSaidLateIsAnotherOne) {
    expectTheSameWithout(longTrace("", kLast, R"(,"distributedInfo":{"rank":5,"world_size":8})"));
    EXPECT_EQ(told, 1);
    EXPECT_EQ(seenRank, RankId{0});
    EXPECT_THAT(later, ElementsAre(std::nullopt));
}

TEST_F(ReadableImportTest, WhatIsSoSmallThatAllWaitsIsReadableAtItsEndOnly) {
    EXPECT_THAT(imported.importText(std::string("[") + kStep + kLast + "]"), IsOk());
    EXPECT_EQ(told, 0);
}

TEST_F(ReadableImportTest, NothingStaysOfWhatIsCancelledOrFails) {
    const auto left = [&] {
        return std::distance(std::filesystem::directory_iterator(imported.folder.path()), {});
    };
    const std::string early =
        R"({"ph":"X","cat":"cpu_op","name":"early","pid":9,"tid":1,"ts":5,"dur":1})";
    imported.options.strict = true;
    EXPECT_THAT(imported.importText(longTrace("", R"({"ph":"X"},)" + std::string(kLast))),
                FailsAs(ErrorCode::kUnreadable));
    EXPECT_EQ(told, 1);
    EXPECT_EQ(left(), 1);
    part.clear();
    imported.options.readAgain = [this](std::optional<Duration>) { cancelled = true; };
    EXPECT_THAT(imported.importText(longTrace("", early)), FailsAs(ErrorCode::kCancelled));
    EXPECT_EQ(told, 2);
    EXPECT_EQ(left(), 1);
}

}  // namespace
}  // namespace shardscope
