// Answers as scripts read them: JSON with stable keys, CSV of RFC 4180.
#include "profiler/questions/answer/answer.h"

#include "profiler/questions/selection.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/support/result_matchers.h"
#include "tests/support/timeline.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <limits>

namespace shardscope::questions {
namespace {

using Json = nlohmann::json;

Answer sample() {
    Answer answer;
    answer.question = "sample";
    answer.settings = {{"mode", "exact"}};
    answer.sentences = {"All is well."};
    answer.figures = {{{"mfu_pct", "MFU", Unit::kPercent}, 41.5}};
    answer.tables = {
        {"ranks",
         "By rank",
         {{"rank", "rank"}, {"idle_us", "idle", Unit::kMicroseconds}, {"name", "name"}},
         {{std::int64_t{0}, 1.5, "a"}, {std::int64_t{1}, Cell(), "b \"c\", d"}}}};
    answer.unknown = {"x unknown: y is missing"};
    return answer;
}

TEST(AnswerJson, OfOneQuestionIsOneObject) {
    const Json json = Json::parse(toJson({sample()}));
    EXPECT_EQ(json["schema"], "shardscope.analyze/1");
    EXPECT_EQ(json["question"], "sample");
    EXPECT_EQ(json["mode"], "exact");
    EXPECT_EQ(json["mfu_pct"], 41.5);
    EXPECT_EQ(json["ranks"][0], (Json{{"rank", 0}, {"idle_us", 1.5}, {"name", "a"}}));
    EXPECT_TRUE(json["ranks"][1]["idle_us"].is_null());
    EXPECT_EQ(json["sentences"][0], "All is well.");
    EXPECT_EQ(json["could_not_tell"][0], "x unknown: y is missing");
}

TEST(AnswerJson, OfSeveralIsAList) {
    const Json json = Json::parse(toJson({sample(), sample()}));
    EXPECT_EQ(json["schema"], "shardscope.analyze/1");
    ASSERT_EQ(json["answers"].size(), 2u);
    EXPECT_EQ(json["answers"][1]["question"], "sample");
}

TEST(AnswerJson, HasNoNumbersThatAreNone) {
    Answer answer = sample();
    answer.tables[0].rows[0][1] = std::numeric_limits<double>::quiet_NaN();
    answer.tables[0].rows[1][1] = std::numeric_limits<double>::infinity();
    const Json json = Json::parse(toJson({answer}));
    EXPECT_TRUE(json["ranks"][0]["idle_us"].is_null());
    EXPECT_TRUE(json["ranks"][1]["idle_us"].is_null());
}

TEST(AnswerCsv, HasATableBehindTheOther) {
    EXPECT_EQ(toCsv({sample()}),
              "mfu_pct\r\n41.5\r\n\r\nrank,idle_us,name\r\n0,1.5,a\r\n1,,\"b \"\"c\"\", d\"\r\n");
}

TEST(AnswerCsv, SpellsWhatWouldSteerATerminal) {
    Answer answer;
    answer.tables.push_back(
        {"names", "", {{"name", "name"}}, {{std::string("a\0b\x1b[31m\x7f", 9)}, {"\tk\xc3\xa4"}}});
    EXPECT_EQ(toCsv({answer}), "name\r\na\\x00b\\x1b[31m\\x7f\r\n\tk\xc3\xa4\r\n");
}

TEST(AnswerTable, AColumnSaysNothingWhereEveryRowLeavesItOpen) {
    const Table table{"all",
                      "",
                      {{"name", "name"}, {"layer", "layer"}, {"cause", "cause"}, {"n", "n"}},
                      {{"a", Cell(), "none", std::int64_t{0}}, {"b", Cell(), "none", Cell()}}};
    EXPECT_FALSE(table.saysNothing(0));
    EXPECT_TRUE(table.saysNothing(1));
    EXPECT_TRUE(table.saysNothing(2)) << "the word for no cause";
    EXPECT_FALSE(table.saysNothing(3)) << "nought is a figure";
}

// Which part of a recording is looked at: ranks, steps and a range, each by itself and together.

using test::drawTimeline;
using testing::HasSubstr;

test::Timeline twoRanks() {
    test::Timeline drawn = drawTimeline(R"(
        rank 0 step    |.ssss1ssss.ssss.|
        rank 0 compute |.ffbb.ffbb.ffbb.|
        rank 0 kernels |.kkkkkkkkkkkkkk.|
        rank 1 step    |.ssss1ssss.ssss.|
        rank 1 compute |.ffbb.ffbb.ffbb.|
    )");
    drawn.summary.bounds = {{0}, {16'000}};
    return drawn;
}

TEST(Selection, OfNothingInParticularIsAll) {
    const auto drawn = twoRanks();
    const Selection all;
    const auto selected = all.of(drawn.summary);
    ASSERT_TRUE(selected);
    EXPECT_EQ(selected->steps.size(), drawn.summary.steps.size());
    EXPECT_FALSE(all.cutsTime());
    EXPECT_EQ(all.of(*selected, drawn.ranks[0]).phases.size(), 6u);
}

TEST(Selection, OfAStepIsThatStepAlone) {
    const auto drawn = twoRanks();
    Selection selection;
    selection.steps = {{{1}, {1}}};
    selection.ranks = {{0}};
    const auto selected = selection.of(drawn.summary);
    ASSERT_TRUE(selected);
    ASSERT_EQ(selected->steps.size(), 1u);
    EXPECT_EQ(selected->steps[0].step, StepIndex{1});
    EXPECT_EQ(selected->ranks.size(), 1u);
    EXPECT_EQ(selection.timeOf(*selected, {0}), selected->steps[0].range());
    const RankEvents events = selection.of(*selected, drawn.ranks[0]);
    EXPECT_EQ(events.phases.size(), 2u);
    ASSERT_EQ(events.computeKernels.size(), 1u);  // cut at the step's edges
    EXPECT_EQ(events.computeKernels[0], selected->steps[0].range());
}

TEST(Selection, OfAStepIsNoTimeOfARankThatDiedBeforeIt) {
    auto drawn = twoRanks();
    drawn.summary.steps.eraseIf(
        [](const StepFacts& step) { return step.rank == RankId{1} && step.step == StepIndex{1}; });
    Selection selection;
    selection.steps = {{{1}, {1}}};
    const auto selected = selection.of(drawn.summary);
    ASSERT_TRUE(selected);
    EXPECT_EQ(selection.timeOf(*selected, {1}).duration(), Duration{});
    const RankEvents events = selection.of(*selected, drawn.ranks[1]);
    EXPECT_TRUE(events.phases.empty());
    EXPECT_TRUE(events.computeKernels.empty());
}

TEST(Selection, OfARangeHasTheStepsThatLieInItWhole) {
    const auto drawn = twoRanks();
    Selection selection;
    selection.range = TimeRange{{0}, {8'000}};
    const auto selected = selection.of(drawn.summary);
    ASSERT_TRUE(selected);
    ASSERT_EQ(selected->steps.size(), 2u);  // step 0 of either rank
    EXPECT_EQ(selection.timeOf(*selected, {0}).end.ns, 8'000);
}

TEST(Selection, OfWhatIsNotThereSaysWhatIs) {
    const auto drawn = twoRanks();
    Selection selection;
    selection.steps = {{{7}, {9}}};
    EXPECT_THAT(selection.of(drawn.summary).error().message, HasSubstr("it has steps 0 to 2"));
    selection = {};
    selection.ranks = {{5}};
    EXPECT_THAT(selection.of(drawn.summary).error().message, HasSubstr("no rank 5"));
    selection = {};
    selection.range = TimeRange{{50'000'000'000}, {60'000'000'000}};
    EXPECT_THAT(selection.of(drawn.summary).error().message, HasSubstr("nothing lies in"));
    EXPECT_EQ(selection.of(drawn.summary).error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace shardscope::questions
