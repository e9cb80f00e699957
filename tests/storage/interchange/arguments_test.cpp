// Arguments of spans, from JSON into columns and back.
#include "storage/interchange/export.h"
#include "storage/interchange/trace_builder.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/recording/repair/salvage_recording.h"
#include "storage/recording/verify/verify_recording.h"
#include "tests/support/formats.h"
#include "tests/support/random_events.h"
#include "tests/support/result_matchers.h"
#include "tests/support/temporary_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace shardscope::interchange {
namespace {

using test::IsOk;
using test::RandomEvents;

constexpr RankId kRank{2};
constexpr TimeRange kEverything{{-(std::int64_t{1} << 60)}, {std::int64_t{1} << 60}};

class ArgumentsTest : public ::testing::Test {
protected:
    /// A recording with one lane, a span for each text, in order.
    void write(const std::vector<std::string>& texts) {
        RunFacts run;
        run.id = "run";
        run.worldSize = 3;
        auto builder = TraceBuilder::create(path, run, true);
        ASSERT_THAT(builder, IsOk());
        const LaneId lane = builder->lane(kRank, {"1", "2"}, LaneRole::kHost, "thread");
        SpanEvent span;
        span.lane = lane;
        span.duration = {5};
        for (const std::string& text : texts) {
            span.start.ns += 10;
            span.name = builder->intern(kRank, "operator");
            builder->add(kRank, span, text);
        }
        ASSERT_THAT(builder->finish(run, span.end()), IsOk());
    }
    std::vector<std::string> read(const std::string& file) {
        auto reader = storage::openRecording(file);
        EXPECT_THAT(reader, IsOk());
        const auto summary = (*reader)->summary();
        std::vector<std::string> texts;
        for (const LaneFacts& lane : summary->lanes) {
            const auto spans = (*reader)->spans(lane.rank, lane.lane, kEverything);
            for (const SpanEvent& span : *spans)
                texts.emplace_back((*reader)->text(lane.rank, span.arguments));
        }
        return texts;
    }
    void expectSound(const std::string& file) {
        const auto found = storage::verifyRecording(file);
        ASSERT_THAT(found, IsOk());
        EXPECT_TRUE(found->sound())
            << found->faults.front().where << ": " << found->faults.front().what;
    }

    test::TemporaryFolder folder;
    std::string path = folder.file("out.sscope");
};

TEST_F(ArgumentsTest, StandAsTheyStood) {
    const std::vector<std::string> texts = {
        R"({"External id":5,"grid":[1,2,3],"bandwidth":12.3450,"name":"a \"b\" # % @"})",
        "",
        R"({"External id":6,"grid":[1,2,3],"bandwidth":0.5,"name":null})",
        R"({})",
        R"({"a":-0,"b":-0.0,"c":007,"d":1e5,"e":1.5e-3,"f":.5,"g":5.,"h":-7})",
        R"({"a":9223372036854775807,"b":-9223372036854775808,"c":999999999999999999,"d":18446744073709551615})",
        R"({"":1,"a":{"b":[{}, 1]},"a":true})",
        "no object",
        "[1,2]",
        R"({"broken":)",
    };
    write(texts);
    std::vector<std::string> expected = texts;
    expected[6] = R"({"":1,"a":{"b":[{},1]},"a":true})";
    EXPECT_EQ(read(path), expected);
    expectSound(path);
}

TEST_F(ArgumentsTest, StandAsTheyStoodWhateverTheyHold) {
    RandomEvents random(41);
    const auto number = [&] {
        const char* sign = random.between(0, 2) == 0 ? "-" : "";
        const std::int64_t whole = random.magnitude(60);
        if (random.between(0, 2) != 0) return fmt::format("{}{}", sign, whole);
        return fmt::format("{}{}.{:0>{}}", sign, whole, random.magnitude(20), random.between(1, 8));
    };
    std::vector<std::string> texts;
    for (int i = 0; i < 70'000; ++i) {
        std::vector<std::string> members;
        for (std::int64_t member = random.between(0, 5); member > 0; --member) {
            const std::int64_t kind = random.between(0, 3);
            members.push_back(kind == 0   ? fmt::format("\"k{}\":\"v{}\"", member, kind)
                              : kind == 1 ? fmt::format("\"l\":[{},{}]", number(), number())
                                          : fmt::format("\"n{}\":{}", member, number()));
        }
        texts.push_back(fmt::format("{{{}}}", fmt::join(members, ",")));
    }
    write(texts);
    EXPECT_EQ(read(path), texts);
    expectSound(path);
}

TEST_F(ArgumentsTest, ComeAlongIntoAPart) {
    std::vector<std::string> texts;
    for (int i = 0; i < 1000; ++i) texts.push_back(fmt::format("{{\"i\":{},\"s\":\"x\"}}", i));
    write(texts);
    auto reader = storage::openRecording(path);
    ASSERT_THAT(reader, IsOk());
    ExportOptions options;
    options.output = folder.file("part.sscope");
    options.range = TimeRange{{2'010}, {3'010}};
    ASSERT_THAT(exportAs("sscope", **reader, options), IsOk());
    EXPECT_EQ(read(options.output),
              std::vector<std::string>(texts.begin() + 200, texts.begin() + 300));
    expectSound(options.output);
}

TEST_F(ArgumentsTest, AreSalvagedOrReadAsNothing) {
    std::vector<std::string> texts;
    for (int i = 0; i < 3000; ++i) texts.push_back(fmt::format("{{\"i\":{}}}", i * i % 977));
    write(texts);
    std::ifstream file(path, std::ios::binary);
    std::string bytes(std::istreambuf_iterator<char>(file), {});
    const std::size_t at = bytes.find("SCA1");
    ASSERT_NE(at, std::string::npos);
    // Of its length: of a blob whose rest lies on other pages its first bytes are together.
    bytes[at + 13] = static_cast<char>(bytes[at + 13] ^ 0x55);
    std::ofstream(path, std::ios::binary) << bytes;

    const auto found = storage::verifyRecording(path);
    ASSERT_THAT(found, IsOk());
    EXPECT_FALSE(found->sound());
    EXPECT_EQ(read(path), std::vector<std::string>(3000));

    const auto salvaged = storage::salvageRecording(path, folder.file("mended.sscope"), false);
    ASSERT_THAT(salvaged, IsOk());
    EXPECT_TRUE(std::ranges::count(salvaged->notes, "the arguments of 3000 events were lost"));
    EXPECT_EQ(read(folder.file("mended.sscope")), std::vector<std::string>(3000));
    expectSound(folder.file("mended.sscope"));
}

TEST_F(ArgumentsTest, AreRepairedWithoutLossWhereTheyAreWhole) {
    std::vector<std::string> texts;
    for (int i = 0; i < 300; ++i) texts.push_back(fmt::format("{{\"i\":{}}}", i));
    write(texts);
    const auto salvaged = storage::salvageRecording(path, folder.file("mended.sscope"), false);
    ASSERT_THAT(salvaged, IsOk());
    EXPECT_TRUE(salvaged->lossless());
    EXPECT_EQ(read(folder.file("mended.sscope")), texts);
    expectSound(folder.file("mended.sscope"));
}

TEST_F(ArgumentsTest, AreColumnsOfTheTableOfEvents) {
    write({R"({"bytes":7})", "", R"({"bytes":11})"});
    auto reader = storage::openRecording(path);
    ASSERT_THAT(reader, IsOk());
    const auto table =
        (*reader)->query("SELECT sum(arguments->>'bytes'), sum(arguments IS NULL) FROM operators");
    ASSERT_THAT(table, IsOk());
    EXPECT_EQ(table->rows.at(0).at(0), "18");
    EXPECT_EQ(table->rows.at(0).at(1), "1");
}

}  // namespace
}  // namespace shardscope::interchange
