#include "storage/interchange/export.h"
#include "storage/model/rank_facts.h"
#include "tests/storage/interchange_formats/drawn_recording.h"
#include "tests/support/csv_rows.h"
#include "tests/support/formats.h"
#include "tests/support/random_events.h"
#include "tests/support/result_matchers.h"
#include "tests/support/sample_recording.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace shardscope::interchange {
namespace {

using test::contentOf;
using test::DrawnEvents;
using test::DrawnFolder;
using test::drawnSpan;
using test::FailsAs;
using test::FailsWith;
using test::IsOk;

using test::parseCsv;
using Rows = test::CsvRows;

std::size_t columnOf(const Rows& rows, const std::string& name) {
    for (std::size_t i = 0; i < rows.front().size(); ++i)
        if (rows.front()[i] == name) return i;
    ADD_FAILURE() << "no column " << name;
    return 0;
}

TEST(ExportCsv, QuotesWhatRfc4180Quotes) {
    const std::string names[] = {"a,b", "say \"no\"", "two\r\nlines", "plain", ""};
    DrawnEvents events;
    for (std::uint32_t i = 0; i < 4; ++i) {
        events.strings.push_back(names[i]);
        events.spans.push_back(drawnSpan(i + 1, 10 * i, 5));
    }
    events.spans.push_back(drawnSpan(0, 40, 5));
    DrawnFolder drawn(events);
    auto options = drawn.options();
    options.view = "operators";
    const auto account = exportAs("csv", drawn.reader(), options);
    ASSERT_THAT(account, IsOk());
    EXPECT_EQ(account->events, 5u);
    const Rows rows = parseCsv(contentOf(options.output));
    ASSERT_EQ(rows.size(), 6u);
    const std::size_t name = columnOf(rows, "name");
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(rows[i + 1][name], names[i]);
}

TEST(ExportCsv, DoublesComeBackBitForBit) {
    test::RandomEvents random(7);
    DrawnEvents events;
    for (std::int64_t i = 0; i < 2000; ++i) {
        const double value = static_cast<double>(random.magnitude(62)) /
                             static_cast<double>(random.between(1, 1'000'000'007));
        events.samples.push_back({{i}, {}, value});
    }
    DrawnFolder drawn(events);
    auto options = drawn.options();
    options.view = "counters";
    ASSERT_THAT(exportAs("csv", drawn.reader(), options), IsOk());
    const Rows rows = parseCsv(contentOf(options.output));
    ASSERT_EQ(rows.size(), 2001u);
    const std::size_t value = columnOf(rows, "value");
    for (std::size_t i = 0; i < 2000; ++i)
        EXPECT_EQ(std::strtod(rows[i + 1][value].c_str(), nullptr), events.samples[i].value);
}

TEST(ExportCsv, ManyRowsComeOnceEachAndInOrder) {
    // More than is held at a time, and crowded into a moment.
    DrawnEvents events;
    events.strings = {"mm"};
    for (std::int64_t i = 0; i < 65'000; ++i)
        events.spans.push_back(drawnSpan(1, i < 64'000 ? i / 100 : 1'000'000 * i, 1));
    DrawnFolder drawn(events);
    auto options = drawn.options();
    options.view = "operators";
    const auto account = exportAs("csv", drawn.reader(), options);
    ASSERT_THAT(account, IsOk());
    EXPECT_EQ(account->events, 65'000u);
    const Rows rows = parseCsv(contentOf(options.output));
    ASSERT_EQ(rows.size(), 65'001u);
    const std::size_t start = columnOf(rows, "start_ns");
    for (std::size_t i = 0; i < 65'000; ++i)
        ASSERT_EQ(rows[i + 1][start], std::to_string(events.spans[i].start.ns));
}

class SampleViews : public testing::TestWithParam<const char*> {};

TEST_P(SampleViews, HaveAsManyRowsAsTheView) {
    const test::TemporaryFolder folder;
    test::SampleOptions sample;
    sample.gpu = true;
    ASSERT_THAT(test::writeSampleRecording(folder.file("run.sscope"), sample), IsOk());
    auto reader = storage::openRecording(folder.file("run.sscope"));
    ASSERT_THAT(reader, IsOk());
    ExportOptions options;
    options.output = folder.file("view.csv");
    options.view = GetParam();
    ASSERT_THAT(exportAs("csv", **reader, options), IsOk());
    const Rows rows = parseCsv(contentOf(options.output));
    const auto counted = (*reader)->query("SELECT count(*) FROM " + options.view);
    ASSERT_THAT(counted, IsOk());
    EXPECT_GT(rows.size(), 1u);
    EXPECT_EQ(std::to_string(rows.size() - 1), *counted->rows[0][0]);
    for (const auto& row : rows) EXPECT_EQ(row.size(), rows.front().size());
}

INSTANTIATE_TEST_SUITE_P(ExportCsv, SampleViews,
                         testing::Values("kernels", "operators", "collectives", "memory_events",
                                         "steps", "phases", "counters"),
                         [](const auto& given) { return std::string(given.param); });

// What has no rows is not offered.
TEST(ExportCsv, ViewsAreInARecordingThatHasRowsOfThem) {
    const test::TemporaryFolder folder;
    for (const bool gpu : {false, true}) {
        for (const bool operators : {false, true}) {
            test::SampleOptions sample;
            sample.gpu = gpu;
            sample.operators = operators;
            const std::string path = folder.file("run.sscope");
            ASSERT_THAT(test::writeSampleRecording(path, sample), IsOk());
            auto reader = storage::openRecording(path);
            ASSERT_THAT(reader, IsOk());
            const auto summary = (*reader)->summary();
            for (const FormatView& view : findFormat("csv")->views) {
                const auto counted =
                    (*reader)->query(std::string("SELECT count(*) FROM ") + view.name);
                ASSERT_THAT(counted, IsOk());
                ASSERT_NE(view.isIn, nullptr) << view.name;
                EXPECT_EQ(view.isIn(*summary), *counted->rows[0][0] != "0")
                    << view.name << (gpu ? ", devices" : "") << (operators ? ", operators" : "");
            }
        }
    }
}

TEST(ExportCsv, ArrivalsAreNumbers) {
    const test::TemporaryFolder folder;
    ASSERT_THAT(test::writeSampleRecording(folder.file("run.sscope")), IsOk());
    auto reader = storage::openRecording(folder.file("run.sscope"));
    ASSERT_THAT(reader, IsOk());
    ExportOptions options;
    options.output = folder.file("view.csv");
    options.view = "collectives";
    options.ranks = {{1}};
    ASSERT_THAT(exportAs("csv", **reader, options), IsOk());
    const Rows rows = parseCsv(contentOf(options.output));
    const auto events = (*reader)->rankEvents({1}, (*reader)->summary()->bounds);
    ASSERT_THAT(events, IsOk());
    ASSERT_EQ(rows.size(), events->collectives.size() + 1);
    const auto& first = events->collectives.front().arrivals;
    EXPECT_EQ(rows[1][columnOf(rows, "arrivals")],
              std::to_string(first[0].ns) + " " + std::to_string(first[1].ns));
    EXPECT_EQ(rows[1][columnOf(rows, "rank")], "1");
}

TEST(ExportCsv, RangeTakesWhatTouchesIt) {
    DrawnEvents events;
    events.strings = {"before", "into", "within", "after"};
    events.spans = {drawnSpan(1, 0, 10), drawnSpan(2, 5, 20), drawnSpan(3, 30, 5),
                    drawnSpan(4, 40, 5)};
    DrawnFolder drawn(events);
    auto options = drawn.options();
    options.view = "operators";
    options.range = TimeRange{{10}, {40}};
    ASSERT_THAT(exportAs("csv", drawn.reader(), options), IsOk());
    const Rows rows = parseCsv(contentOf(options.output));
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[1][columnOf(rows, "name")], "into");
    EXPECT_EQ(rows[2][columnOf(rows, "name")], "within");
}

TEST(ExportCsv, RefusesInSentences) {
    DrawnEvents events;
    events.spans = {drawnSpan(0, 0, 1)};
    DrawnFolder drawn(events);
    auto options = drawn.options();
    EXPECT_THAT(exportAs("csv", drawn.reader(), options),
                FailsWith("csv needs a view: choose one of"));
    options.view = "sqlite_schema";
    EXPECT_THAT(exportAs("csv", drawn.reader(), options), FailsWith("no view \"sqlite_schema\""));
    options.view = "operators";
    options.ranks = {{7}};
    EXPECT_THAT(exportAs("csv", drawn.reader(), options), FailsWith("no rank 7"));
    options.ranks = {};
    options.range = TimeRange{{5}, {5}};
    EXPECT_THAT(exportAs("csv", drawn.reader(), options), FailsWith("range to export is empty"));
    options.range.reset();
    options.output = drawn.file("nowhere/out.csv");
    EXPECT_THAT(exportAs("csv", drawn.reader(), options), FailsWith("does not exist"));
    EXPECT_EQ(test::filesIn(drawn.folder()), 1u) << "a failed export leaves no file";
}

TEST(ExportCsv, ReplacesOnlyWhenAskedTo) {
    DrawnEvents events;
    events.spans = {drawnSpan(0, 0, 1)};
    DrawnFolder drawn(events);
    auto options = drawn.options();
    options.view = "operators";
    for (const char* precious : {"precious", "thesis, chapter 3\nof years\n"}) {
        std::ofstream(options.output) << precious;
        for (const bool force : {false, true}) {
            options.overwrite = force;
            EXPECT_THAT(exportAs("csv", drawn.reader(), options), FailsAs(ErrorCode::kUsage));
            EXPECT_EQ(contentOf(options.output), precious) << "that is no CSV of ours";
        }
    }
    std::ofstream(options.output) << "rank,name\r\n";
    options.overwrite = false;
    EXPECT_THAT(exportAs("csv", drawn.reader(), options), FailsAs(ErrorCode::kUsage));
    EXPECT_EQ(contentOf(options.output), "rank,name\r\n");
    options.overwrite = true;
    EXPECT_THAT(exportAs("csv", drawn.reader(), options), IsOk());
    EXPECT_NE(contentOf(options.output), "rank,name\r\n");
    options.progress = [](double) { return false; };
    const std::string before = contentOf(options.output);
    EXPECT_THAT(exportAs("csv", drawn.reader(), options), FailsAs(ErrorCode::kCancelled));
    EXPECT_EQ(contentOf(options.output), before);
    EXPECT_EQ(test::filesIn(drawn.folder()), 2u);
}

}  // namespace
}  // namespace shardscope::interchange
