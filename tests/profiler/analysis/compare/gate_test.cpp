#include "profiler/analysis/compare/run_figures.h"
#include "tests/support/result_matchers.h"

#include <gmock/gmock.h>

namespace shardscope::analysis {
namespace {

using testing::HasSubstr;

RunFigure steps(const char* key, Better better, double median) {
    RunFigure figure{key, "", better, {}, {}};
    for (int i = 0; i < 30; ++i) figure.samples.push_back(median * (1 + 0.001 * (i % 5 - 2)));
    return figure;
}

GateState stateOf(const char* rule, double first, double second) {
    const auto parsed = parseGateRule(rule);
    EXPECT_TRUE(parsed);
    const auto results = checkGate({*parsed}, {steps("x", Better::kHigher, first)},
                                   {steps("x", Better::kHigher, second)});
    EXPECT_TRUE(results);
    return results->front().state;
}

TEST(GateRule, IsReadAsWritten) {
    const auto rule = parseGateRule("  throughput.tokens_per_s >= -2% ");
    ASSERT_TRUE(rule);
    EXPECT_EQ(rule->key, "throughput.tokens_per_s");
    EXPECT_TRUE(rule->atLeast);
    EXPECT_TRUE(rule->relative);
    EXPECT_DOUBLE_EQ(rule->bound, -0.02);
    const auto bytes = parseGateRule("memory.peak_bytes<=3e9");
    ASSERT_TRUE(bytes);
    EXPECT_FALSE(bytes->atLeast);
    EXPECT_FALSE(bytes->relative);
    EXPECT_DOUBLE_EQ(bytes->bound, 3e9);
    EXPECT_DOUBLE_EQ(parseGateRule("x <= +1 %")->bound, 0.01);
}

TEST(GateRule, RefusesWhatIsNone) {
    for (const char* bad : {"", "x", "x = 3", "x > 3", ">= 3", "x >= ", "x >= y", "x >= 1%%",
                            "x >= nan", "x >= 1 2"}) {
        const auto rule = parseGateRule(bad);
        ASSERT_FALSE(rule) << bad;
        EXPECT_EQ(rule.error().code, ErrorCode::kUsage);
        EXPECT_THAT(rule.error().message, HasSubstr("is no rule"));
    }
}

TEST(Gate, BreaksBeyondItsBound) {
    EXPECT_EQ(stateOf("x >= -2%", 100, 97), GateState::kBroken);
    EXPECT_EQ(stateOf("x >= -2%", 100, 98.5), GateState::kKept);
    EXPECT_EQ(stateOf("x >= -2%", 100, 120), GateState::kKept);
    EXPECT_EQ(stateOf("x <= +1%", 100, 102), GateState::kBroken);
    EXPECT_EQ(stateOf("x <= 110", 100, 109), GateState::kKept);
    EXPECT_EQ(stateOf("x <= 110", 100, 111), GateState::kBroken);
}

TEST(Gate, DoesNotBreakByNoise) {
    const RunFigure wild{"x", "", Better::kLower, {1, 9, 2, 8, 3, 7, 1, 9, 2, 8}, {}};
    RunFigure wilder = wild;
    for (double& sample : wilder.samples) sample *= 1.02;
    const auto results = checkGate({*parseGateRule("x <= +1%")}, {wild}, {wilder});
    ASSERT_TRUE(results);
    EXPECT_EQ(results->front().state, GateState::kCannotTell);
}

TEST(Gate, NamesTheFiguresThatThereAre) {
    const auto results =
        checkGate({*parseGateRule("y <= 1%")}, {steps("x", Better::kLower, 1)}, {});
    ASSERT_FALSE(results);
    EXPECT_THAT(results.error().message, HasSubstr("no figure 'y'"));
    EXPECT_THAT(results.error().message, HasSubstr("there is x"));
}

TEST(Gate, CannotTellOfWhatOneRunLacks) {
    const auto results =
        checkGate({*parseGateRule("x <= 1%")}, {steps("x", Better::kLower, 1)}, {});
    ASSERT_TRUE(results);
    EXPECT_EQ(results->front().state, GateState::kCannotTell);
}

}  // namespace
}  // namespace shardscope::analysis
