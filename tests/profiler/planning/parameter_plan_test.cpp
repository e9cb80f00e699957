#include "profiler/planning/parameter_plan.h"

#include <gmock/gmock.h>

#include <utility>

namespace shardscope::planning {
namespace {

using testing::HasSubstr;

ParameterPlanInput sevenBillion(std::int64_t ranks, std::optional<std::int64_t> gigabytes = {}) {
    ParameterPlanInput input{"", 7e9, ranks, kMixedAdam, {}};
    if (gigabytes) input.memory = Bytes{*gigabytes * 1'000'000'000};
    return input;
}

std::vector<std::string> recommended(const ParameterPlanInput& input) {
    std::vector<std::string> found;
    for (const StrategyPlan& plan : planStrategies(input))
        if (plan.recommended) found.push_back(plan.word);
    return found;
}

TEST(ParameterPlan, RecommendsTheSimplestThatFitsOfThoseThatSendLeast) {
    EXPECT_THAT(recommended(sevenBillion(8, 141)), testing::ElementsAre("ddp"));
    EXPECT_THAT(recommended(sevenBillion(8, 80)), testing::ElementsAre("zero1"));
    EXPECT_THAT(recommended(sevenBillion(8, 40)), testing::ElementsAre("zero2"));
    EXPECT_THAT(recommended(sevenBillion(8, 24)), testing::ElementsAre("zero3"));
    EXPECT_THAT(recommended(sevenBillion(8, 16)), testing::IsEmpty());
}

TEST(ParameterPlan, SaysNothingOfFittingWithoutADevice) {
    for (const StrategyPlan& plan : planStrategies(sevenBillion(8))) {
        EXPECT_FALSE(plan.fits);
        EXPECT_FALSE(plan.recommended);
        EXPECT_EQ(plan.reason, "");
    }
}

TEST(ParameterPlan, SaysWhatEachRejectedOneLacks) {
    const auto plans = planStrategies(sevenBillion(8, 24));
    EXPECT_THAT(plans[0].reason, HasSubstr("467 % of the device; more ranks do not help"));
    EXPECT_THAT(plans[1].reason, HasSubstr("more ranks do not help"));
    // 14 GB of parameters and 98 / W of the rest in 19.2.
    EXPECT_THAT(plans[2].reason, HasSubstr("it fits from 19 ranks on"));
    EXPECT_TRUE(plans[3].recommended);
    const auto roomy = planStrategies(sevenBillion(8, 141));
    EXPECT_THAT(roomy[1].reason, HasSubstr("sends as much as DDP"));
    EXPECT_THAT(roomy[3].reason, HasSubstr("1.5 times as much as DDP"));
}

TEST(ParameterPlan, FewestRanksAreTheFirstThatFit) {
    for (const Sharding sharding : kAll<Sharding>) {
        for (const std::int64_t gigabytes : {16, 24, 40, 80, 141}) {
            const ParameterPlanInput input = sevenBillion(1, gigabytes);
            const auto fewest = fewestRanks(sharding, input);
            const auto fits = [&](std::int64_t ranks) {
                ParameterPlanInput other = input;
                other.ranks = ranks;
                return *planStrategies(other)[static_cast<std::size_t>(sharding)].fits;
            };
            EXPECT_EQ(fewest.has_value(), fits(kMostRanks));
            if (!fewest) continue;
            EXPECT_TRUE(fits(*fewest));
            EXPECT_TRUE(*fewest == 1 || !fits(*fewest - 1));
        }
    }
}

TEST(ParameterPlan, NumbersOfParametersAreReadAsPeopleWriteThem) {
    const std::pair<const char*, double> written[] = {{"7e9", 7e9},
                                                      {"7B", 7e9},
                                                      {"124M", 124e6},
                                                      {"1.5T", 1.5e12},
                                                      {"96k", 96e3},
                                                      {"203,033,600", 203'033'600},
                                                      {"203_033_600", 203'033'600},
                                                      {"1", 1}};
    for (const auto& [text, number] : written) {
        const auto read = parseParameters(text);
        ASSERT_TRUE(read) << text;
        EXPECT_DOUBLE_EQ(*read, number);
    }
    for (const char* text :
         {"", "B", "7X", "7BB", "0", "-7e9", "nan", "inf", "1e16", "0.5", "7 B"}) {
        const auto read = parseParameters(text);
        ASSERT_FALSE(read) << text;
        EXPECT_EQ(read.error().code, ErrorCode::kUsage);
        EXPECT_THAT(read.error().message, HasSubstr("7B"));
    }
}

}  // namespace
}  // namespace shardscope::planning
