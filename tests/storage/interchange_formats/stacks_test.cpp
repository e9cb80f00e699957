// Folded stacks and speedscope: what their readers' grammars allow, and that no time is lost.
#include "storage/columns/chunk.h"
#include "storage/interchange/export.h"
#include "storage/interchange/import.h"
#include "storage/recording/write/recording_writer.h"
#include "tests/storage/interchange_formats/drawn_recording.h"
#include "tests/support/formats.h"
#include "tests/support/random_events.h"
#include "tests/support/result_matchers.h"
#include "tests/support/sample_recording.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <tuple>

namespace shardscope::interchange {
namespace {

using test::contentOf;
using test::DrawnEvents;
using test::DrawnFolder;
using test::drawnSpan;
using test::FailsWith;
using test::IsOk;
using Stacks = std::map<std::string, std::int64_t>;

/// As speedscope reads it; also checks flamegraph.pl's rule for a second count.
Stacks parseFolded(const std::string& text) {
    static const std::regex line("^(.*) (\\d+)$");
    static const std::regex differential("^(.*)\\s+?(\\d+(?:\\.\\d*)?)$");
    Stacks stacks;
    std::istringstream lines(text);
    for (std::string row; std::getline(lines, row);) {
        std::smatch match;
        if (!std::regex_match(row, match, line)) {
            ADD_FAILURE() << row;
            continue;
        }
        const std::string stack = match[1];
        EXPECT_FALSE(std::regex_match(stack, differential)) << "two counts: " << row;
        EXPECT_EQ((";" + stack + ";").find(";;"), std::string::npos) << "empty frame: " << row;
        EXPECT_TRUE(stacks.emplace(stack, std::stoll(match[2])).second) << "twice: " << stack;
    }
    return stacks;
}

TEST(ExportFolded, IsSelfTimeByPhaseLayerAndNesting) {
    DrawnEvents events;
    events.strings = {"outer", "inner"};
    events.spans = {drawnSpan(1, 0, 100), drawnSpan(2, 10, 30, 1), drawnSpan(2, 40, 20, 1),
                    drawnSpan(1, 200, 7)};
    for (SpanEvent& span : events.spans) span.phase = Phase::kForward, span.layer = {3};
    events.spans.back().layer = kNoLayer;
    DrawnFolder drawn(events);
    const auto account = exportAs("folded", drawn.reader(), drawn.options());
    ASSERT_THAT(account, IsOk());
    EXPECT_EQ(account->events, 4u);
    EXPECT_EQ(parseFolded(contentOf(drawn.options().output)),
              (Stacks{{"operators;forward;layer_3;outer", 50},
                      {"operators;forward;layer_3;outer;inner", 50},
                      {"operators;forward;outer", 7}}));
}

/// Functions of Python that asked for an operator are around it; those that asked for what encloses
/// it are there once.
TEST(ExportFolded, PythonFunctionsAreAroundTheirOperators) {
    const std::string main = R"({"name":"main","filename":"/home/u/train.py","line":7})";
    const std::string loss = R"({"name":"loss","filename":"/v/site-packages/nn/loss.py","line":3})";
    DrawnEvents events;
    events.strings = {"node",
                      "operator",
                      "inner",
                      R"({"shapes":[[2]],"frames":[)" + main + "]}",
                      R"({"frames":[)" + loss + "," + main + "]}",
                      R"({"frames":[)" + loss + "]}"};
    events.spans = {drawnSpan(1, 0, 100), drawnSpan(2, 10, 30, 1), drawnSpan(3, 20, 5, 2),
                    drawnSpan(2, 50, 20, 1), drawnSpan(2, 200, 7)};
    events.spans[0].arguments = {4};
    events.spans[1].arguments = {5};
    events.spans[3].arguments = {6};  // of another branch: as if it had none
    events.spans[4].arguments = {5};
    DrawnFolder drawn(events);
    ASSERT_THAT(exportAs("folded", drawn.reader(), drawn.options()), IsOk());
    const std::string place = "operators;/home/u/train.py(7): main;";
    EXPECT_EQ(parseFolded(contentOf(drawn.options().output)),
              (Stacks{{place + "node", 50},
                      {place + "node;nn/loss.py(3): loss;operator", 25},
                      {place + "node;nn/loss.py(3): loss;operator;inner", 5},
                      {place + "node;operator", 20},
                      {place + "nn/loss.py(3): loss;operator", 7}}))
        << contentOf(drawn.options().output);
}

TEST(ExportFolded, NamesCannotBreakTheGrammar) {
    DrawnEvents events;
    events.strings = {"a;b", "two\nlines", "Optimizer 3", "  ", "v 1.5", "tail "};
    for (std::uint32_t i = 0; i < 6; ++i) events.spans.push_back(drawnSpan(i + 1, 10 * i, 5));
    events.spans.push_back(drawnSpan(0, 100, 5));
    DrawnFolder drawn(events);
    ASSERT_THAT(exportAs("folded", drawn.reader(), drawn.options()), IsOk());
    EXPECT_EQ(parseFolded(contentOf(drawn.options().output)), (Stacks{{"operators;a:b", 5},
                                                                      {"operators;two lines", 5},
                                                                      {"operators;Optimizer_3", 5},
                                                                      {"operators;v_1.5", 5},
                                                                      {"operators;tail", 5},
                                                                      {"operators;(unnamed)", 10}}))
        << contentOf(drawn.options().output);
}

TEST(ExportFolded, LosesNoTime) {
    // Outermost spans cover what all self times add up to, in all of it and in any part.
    test::RandomEvents random(11);
    DrawnEvents events;
    events.strings = {"a", "b", "c"};
    events.spans = random.nestedSpans(5000, {0});
    for (SpanEvent& span : events.spans) span.name = {1 + span.name.value % 3};
    DrawnFolder drawn(events);
    const TimeRange all{{0}, {std::int64_t{1} << 60}};
    const Timestamp middle = events.spans[2500].start + Duration{1};
    for (const TimeRange range : {all, TimeRange{{0}, middle}, TimeRange{middle, all.end}}) {
        std::int64_t covered = 0;
        for (const SpanEvent& span : events.spans)
            if (span.depth == 0)
                covered +=
                    std::max<std::int64_t>(0, span.range().intersection(range).duration().ns);
        auto options = drawn.options();
        options.range = range;
        options.overwrite = true;
        ASSERT_THAT(exportAs("folded", drawn.reader(), options), IsOk());
        std::int64_t total = 0;
        for (const auto& [stack, count] : parseFolded(contentOf(options.output))) total += count;
        EXPECT_EQ(total, covered);
    }
}

TEST(ExportFolded, NothingToShowIsSaid) {
    DrawnEvents events;
    events.spans = {drawnSpan(0, 0, 10)};
    DrawnFolder drawn(events);
    auto options = drawn.options();
    options.range = TimeRange{{50}, {60}};
    EXPECT_THAT(exportAs("folded", drawn.reader(), options), FailsWith("no span lies within"));
    EXPECT_THAT(exportAs("speedscope", drawn.reader(), options), FailsWith("no span lies within"));
    EXPECT_EQ(test::filesIn(drawn.folder()), 1u);
}

/// Spans of a profile by name, start and end; checks that it is balanced, nested and in order.
using Shown = std::multiset<std::tuple<std::string, std::int64_t, std::int64_t>>;
void replay(const nlohmann::json& file, const nlohmann::json& profile, Shown& shown) {
    std::vector<std::pair<std::size_t, std::int64_t>> open;
    std::int64_t last = profile.at("startValue");
    for (const auto& event : profile.at("events")) {
        ASSERT_TRUE(event.at("at").is_number_integer());
        const std::int64_t at = event.at("at");
        ASSERT_GE(at, last);
        last = at;
        const std::size_t frame = event.at("frame");
        if (event.at("type") == "O") {
            open.emplace_back(frame, at);
            continue;
        }
        ASSERT_EQ(event.at("type"), "C");
        ASSERT_FALSE(open.empty());
        ASSERT_EQ(open.back().first, frame) << "closes what is not innermost";
        shown.emplace(file.at("shared").at("frames").at(frame).at("name"), open.back().second, at);
        open.pop_back();
    }
    EXPECT_TRUE(open.empty());
    EXPECT_EQ(last, profile.at("endValue").get<std::int64_t>());
}

Shown shownBy(const std::string& path) {
    const auto file = nlohmann::json::parse(contentOf(path));
    EXPECT_EQ(file.at("$schema"), "https://www.speedscope.app/file-format-schema.json");
    Shown shown;
    for (const auto& profile : file.at("profiles")) {
        EXPECT_EQ(profile.at("type"), "evented");
        EXPECT_EQ(profile.at("unit"), "nanoseconds");
        replay(file, profile, shown);
    }
    return shown;
}

TEST(ExportSpeedscope, IsNamedAfterTheRunOrAsImported) {
    for (const bool recorded : {true, false}) {
        const test::TemporaryFolder folder;
        RunFacts run;
        run.id = "run";
        run.worldSize = 1;
        if (recorded) run.model = "shakespeare", run.strategy = "zero3";
        auto writer = storage::RecordingWriter::create(folder.file("run.sscope"), run, true);
        ASSERT_THAT(writer, IsOk());
        const SpanEvent span = drawnSpan(0, 0, 10);
        ASSERT_THAT(writer->addLane({{0}, span.lane, LaneRole::kHost, "operators", "", 0}), IsOk());
        ASSERT_THAT(writer->addChunk(columns::encodeSpans({0}, std::vector{span})), IsOk());
        ASSERT_THAT(writer->finalise(RunStatus::kFinished, {10}), IsOk());
        auto reader = storage::openRecording(folder.file("run.sscope"));
        ASSERT_THAT(reader, IsOk());
        ExportOptions options;
        options.output = folder.file("out.speedscope.json");
        ASSERT_THAT(exportAs("speedscope", **reader, options), IsOk());
        EXPECT_EQ(nlohmann::json::parse(contentOf(options.output)).at("name"),
                  recorded ? "shakespeare zero3" : "imported trace");
    }
}

TEST(ExportSpeedscope, HasEverySpanOnceOverlappingOrNot) {
    test::RandomEvents random(13);
    DrawnEvents events;
    events.strings = {"a", "\"quoted\\\"", "\xff not UTF-8"};
    Shown expected;
    const std::string names[] = {"a", "\"quoted\\\"", "\xEF\xBF\xBD not UTF-8"};
    std::int64_t start = 0;
    for (int i = 0; i < 3000; ++i) {
        start += random.between(0, 50);
        const auto name = static_cast<std::uint32_t>(random.between(1, 3));
        const std::int64_t duration = random.between(0, 200);
        events.spans.push_back(drawnSpan(name, start, duration));
        expected.emplace(names[name - 1], start, start + duration);
    }
    DrawnFolder drawn(events);
    const auto account = exportAs("speedscope", drawn.reader(), drawn.options());
    ASSERT_THAT(account, IsOk());
    EXPECT_EQ(account->events, 3000u);
    EXPECT_EQ(shownBy(drawn.options().output), expected);
}

TEST(ExportSpeedscope, ARealisticRunOfTwoRanksHasAProfileALane) {
    const test::TemporaryFolder folder;
    ASSERT_THAT(test::writeSampleRecording(folder.file("run.sscope")), IsOk());
    auto reader = storage::openRecording(folder.file("run.sscope"));
    ASSERT_THAT(reader, IsOk());
    ExportOptions options;
    options.output = folder.file("run.speedscope.json");
    ASSERT_THAT(exportAs("speedscope", **reader, options), IsOk());
    EXPECT_EQ(shownBy(options.output).size(), (*reader)->summary()->events.spans);
    const auto file = nlohmann::json::parse(contentOf(options.output));
    std::set<std::string> names;
    for (const auto& profile : file.at("profiles")) names.insert(profile.at("name"));
    EXPECT_TRUE(names.contains("rank 0 operators"));
    EXPECT_TRUE(names.contains("rank 1 communication"));
    options.output = folder.file("run.folded");
    ASSERT_THAT(exportAs("folded", **reader, options), IsOk());
    EXPECT_GT(parseFolded(contentOf(options.output)).size(), 20u);
}

Result<ReaderResult> importFolded(const std::string& path, const std::string& output) {
    RunFacts run;
    run.id = "import";
    auto builder = TraceBuilder::create(output, run, true);
    if (!builder) return failure(builder);
    ReaderRequest request;
    request.path = path;
    request.builder = &*builder;
    auto result = readAs("folded", request);
    if (!result) return result;
    if (auto done = builder->finish(result->run, result->ended); !done) return failure(done);
    return result;
}

TEST(ReadFolded, ComesBackAsTheSameStacks) {
    const test::TemporaryFolder folder;
    test::RandomEvents random(23);
    Stacks stacks;
    for (int i = 0; i < 500; ++i) {
        std::string stack = "stacks";
        for (std::int64_t depth = random.between(1, 12); depth > 0; --depth)
            stack += ";f" + std::to_string(random.between(0, 5)) + " (x)";
        stacks[stack] += random.between(1, 1'000'000);
    }
    std::ofstream file(folder.file("in.folded"));
    for (const auto& [stack, count] : stacks) {
        // Equal stacks add up, wherever they stand.
        file << stack.substr(7) << ' ' << count - 1 << '\n';
        if (count % 2 == 0) file << '\n';
    }
    for (const auto& [stack, count] : stacks) file << stack.substr(7) << " 1\r\n";
    file.close();
    const auto result = importFolded(folder.file("in.folded"), folder.file("run.sscope"));
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(result->account.read, 2 * stacks.size());
    EXPECT_EQ(result->account.kept, 2 * stacks.size());
    auto reader = storage::openRecording(folder.file("run.sscope"));
    ASSERT_THAT(reader, IsOk());
    ExportOptions options;
    options.output = folder.file("out.folded");
    ASSERT_THAT(exportAs("folded", **reader, options), IsOk());
    EXPECT_EQ(parseFolded(contentOf(options.output)), stacks);
}

TEST(ReadFolded, AccountsForEveryLine) {
    const test::TemporaryFolder folder;
    std::ofstream(folder.file("in")) << "a;b 10\na 2.5\nno count\na -3\n"
                                     << "a 99999999999999999999\n;;a;;c; 1\na 1152921504606846976";
    const auto result = importFolded(folder.file("in"), folder.file("run.sscope"));
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(result->account.read, 7u);
    EXPECT_EQ(result->account.kept, 3u);
    EXPECT_EQ(result->account.repaired, 1u);
    EXPECT_EQ(result->account.rejections.at("a line without a count"), 3u);
    EXPECT_EQ(result->account.rejections.at("a count out of range"), 1u);
    EXPECT_EQ(result->ended, Timestamp{13});
}

TEST(ReadFolded, RefusesWhatItIsNot) {
    const test::TemporaryFolder folder;
    std::ofstream(folder.file("in")) << "hello\nworld\n";
    EXPECT_THAT(importFolded(folder.file("in"), folder.file("run.sscope")),
                FailsWith("holds no folded stacks"));
    std::ofstream(folder.file("in")) << std::string(3u << 20, 'a');
    EXPECT_THAT(importFolded(folder.file("in"), folder.file("run.sscope")),
                FailsWith("a line of more than a megabyte"));
}

/// Spans of one row, by start.
DrawnEvents rowOf(std::int64_t count, std::int64_t (*durationOf)(std::int64_t i)) {
    DrawnEvents events;
    for (std::int64_t i = 0; i < count; ++i)
        events.spans.push_back(drawnSpan(
            0, 1000 * i, durationOf(i), static_cast<std::uint8_t>(std::min<std::int64_t>(i, 254))));
    return events;
}

/// With work that grows with the square of either, this takes minutes, and folded stacks a full
/// disk.
TEST(ManySpansOnOneRow, OverlappingOrNestedAreWrittenByEveryFormat) {
    constexpr std::int64_t kCount = 60'000;
    const auto overlapping = rowOf(kCount, [](std::int64_t) { return std::int64_t{1} << 40; });
    const auto nested = rowOf(kCount, [](std::int64_t i) { return 2 * 1000 * (kCount - i); });
    for (const DrawnEvents* events : {&overlapping, &nested}) {
        DrawnFolder drawn(*events);
        int written = 0;
        for (const auto write : {interchange::findFormat("folded")->write,
                                 interchange::findFormat("speedscope")->write,
                                 interchange::findFormat("perfetto")->write,
                                 interchange::findFormat("kineto")->write}) {
            ExportOptions options = drawn.options();
            // Of its own: --force replaces no other format.
            options.output = drawn.file("out" + std::to_string(++written) + ".json");
            const auto account = write(drawn.reader(), options);
            ASSERT_THAT(account, IsOk());
            EXPECT_GE(account->events, static_cast<std::uint64_t>(kCount));
        }
    }
}

}  // namespace
}  // namespace shardscope::interchange
