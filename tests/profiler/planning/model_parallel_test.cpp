#include "profiler/planning/model_parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace shardscope::planning {
namespace {

DividedRun runOf(const char* model) {
    DividedRun run;
    run.model = *findKnownModel(model);
    return run;
}

// Korthikanti et al., arXiv 2205.05198: a layer keeps s b h (34 + 5 a s / h) bytes (equation 1),
// and for GPT-3 5 a s / h is 80 (section 5).
TEST(LayerActivations, AreThePublishedOnes) {
    DividedRun run = runOf("gpt3-175b");
    run.dropout = true;
    run.kept = Kept::kAll;
    const auto h = static_cast<double>(run.model.hidden);
    EXPECT_DOUBLE_EQ(layerActivations(run).all() / h, 34 + 80);
    // Table 2: without sequence parallelism 10 of the 34 are not divided.
    EXPECT_DOUBLE_EQ(layerActivations(run).whole / h, 10);
    run.kept = Kept::kNoScores;
    EXPECT_DOUBLE_EQ(layerActivations(run).all() / h, 34);
    run.kept = Kept::kInput;
    EXPECT_DOUBLE_EQ(layerActivations(run).all() / h, 2);
}

TEST(LayerActivations, GroupedQueriesKeepFewerKeysAndAGateOneMore) {
    const DividedRun run = runOf("llama2-70b");
    const double h = 8192, inner = 28672;
    EXPECT_DOUBLE_EQ(layerActivations(run).divided, 2 * (2 * h + 2 * h / 8) + 2 * 3 * inner);
    EXPECT_DOUBLE_EQ(layerActivations(run).whole, 8 * h);
}

TEST(Division, DividesStateByTensorsAndStages) {
    const DividedRun run = runOf("gpt3-175b");
    const double whole = planDivision(run, {}).stateBytes;
    EXPECT_NEAR(whole, 16 * static_cast<double>(parameterCount(run.model)), 1e-6 * whole);
    const double eighth = planDivision(run, {8, 1, 1, false}).stateBytes;
    EXPECT_NEAR(eighth, whole / 8, 1e-6 * whole);
    // A stage holds its layers and one table.
    const double stage = planDivision(run, {8, 8, 1, false}).stateBytes;
    EXPECT_GT(stage, whole / 64);
    EXPECT_LT(stage, whole / 64 * 1.05);
}

TEST(Division, DataParallelRanksDivideTheOptimizersState) {
    const DividedRun run = runOf("llama-7b");
    const double one = planDivision(run, {8, 1, 1, true}).stateBytes;
    EXPECT_NEAR(planDivision(run, {8, 1, 4, true}).stateBytes, one / 16 * (2 + 2 + 12.0 / 4),
                1e-9 * one);
}

TEST(Division, SequencesDivideWhatTensorsDoNot) {
    const DividedRun run = runOf("gpt3-175b");
    const double one = planDivision(run, {1, 1, 1, false}).activationBytes;
    const double tensors = planDivision(run, {8, 1, 1, false}).activationBytes;
    const double both = planDivision(run, {8, 1, 1, true}).activationBytes;
    EXPECT_GT(tensors, one / 8 * 1.5);
    EXPECT_NEAR(both, one / 8, 1e-9 * one);
    // What is sent is the same (section 4.2.2).
    EXPECT_DOUBLE_EQ(planDivision(run, {8, 1, 1, true}).tensorTraffic,
                     planDivision(run, {8, 1, 1, false}).tensorTraffic);
}

// Narayanan et al., arXiv 2104.04473, section 2.2: (p - 1) / m of the ideal time.
TEST(Division, TheBubbleIsThePublishedOne) {
    DividedRun run = runOf("gpt3-175b");
    run.microBatches = 32;
    const double bubble = planDivision(run, {1, 8, 1, false}).bubble;
    EXPECT_DOUBLE_EQ(bubble / (1 - bubble), 7.0 / 32);
    EXPECT_EQ(planDivision(run, {8, 1, 1, false}).bubble, 0);
}

TEST(Division, TheFirstStageHoldsAsManyMicroBatchesAsThereAreStages) {
    DividedRun run = runOf("gpt3-175b");
    run.microBatches = 64;
    const auto held = [&](std::int64_t p) {
        return planDivision(run, {1, p, 1, false}).activationBytes;
    };
    EXPECT_DOUBLE_EQ(held(8), held(16));  // L / p layers of p micro-batches
    run.microBatches = 4;
    EXPECT_DOUBLE_EQ(held(16), held(8) / 2);  // there are no more
}

TEST(Division, SendsFourAllReducesALayerAndSixWhereItRunsForwardAgain) {
    DividedRun run = runOf("gpt3-175b");
    run.microBatches = 1;
    const double message = 2.0 * 2048 * 12288;
    EXPECT_DOUBLE_EQ(planDivision(run, {8, 1, 1, false}).tensorTraffic,
                     4 * 2 * 7.0 / 8 * message * 96);
    run.kept = Kept::kInput;
    EXPECT_DOUBLE_EQ(planDivision(run, {8, 1, 1, false}).tensorTraffic,
                     6 * 2 * 7.0 / 8 * message * 96);
    EXPECT_DOUBLE_EQ(planDivision(run, {1, 8, 1, false}).pipelineTraffic, 2 * message);
}

TEST(Division, SaysWhatIsNotDivided) {
    const KnownModel xl = *findKnownModel("gpt2-xl");  // 25 heads
    EXPECT_NE(whyIndivisible(xl, {8, 1, 1, false}).find("25 heads"), std::string::npos);
    EXPECT_NE(whyIndivisible(xl, {1, 7, 1, false}).find("48 layers"), std::string::npos);
    EXPECT_EQ(whyIndivisible(xl, {5, 6, 1, false}), "");
}

TEST(Divisions, TakeAsLittleOfTheModelApartAsFits) {
    const DividedRun run = runOf("gpt3-175b");
    const auto plans = planDivisions(run, 1024, 8, Bytes{80'000'000'000});
    ASSERT_FALSE(plans.empty());
    const DividedPlan& fits = plans.back();
    EXPECT_LE(fits.bytes(), 80e9);
    EXPECT_EQ(fits.division.ranks(), 1024);
    EXPECT_LE(fits.division.tensor, 8);
    for (const DividedPlan& each : plans) {
        EXPECT_EQ(each.division.ranks(), 1024) << each.name;
        EXPECT_EQ(whyIndivisible(run.model, each.division), "") << each.name;
        const auto twins = std::count_if(plans.begin(), plans.end(), [&](const DividedPlan& other) {
            return other.name == each.name;
        });
        EXPECT_EQ(twins, 1) << each.name;
    }
}

TEST(Divisions, OneRankHasNone) {
    EXPECT_TRUE(planDivisions(runOf("gpt2"), 1, 8, Bytes{80'000'000'000}).empty());
}

/// Counts of the checkpoints' tensors, as their publishers and Hugging Face's model cards give
/// them; of GPT-3 the paper has three digits.
TEST(KnownModels, HaveThePublishedNumberOfParameters) {
    const auto count = [](std::string_view name) { return parameterCount(*findKnownModel(name)); };
    EXPECT_EQ(count("gpt2"), 124'439'808);
    EXPECT_EQ(count("gpt2-medium"), 354'823'168);
    EXPECT_EQ(count("gpt2-large"), 774'030'080);
    EXPECT_EQ(count("gpt2-xl"), 1'557'611'200);
    EXPECT_NEAR(static_cast<double>(count("gpt3-175b")), 175e9, 0.5e9);
    EXPECT_EQ(count("llama-7b"), 6'738'415'616);
    EXPECT_EQ(count("llama-13b"), 13'015'864'320);
    EXPECT_EQ(count("llama2-70b"), 68'976'648'192);
}

TEST(KnownModels, AreFoundByTheirNames) {
    std::set<std::string_view> names;
    for (const KnownModel& model : knownModels()) {
        EXPECT_TRUE(names.insert(model.name).second) << model.name;
        EXPECT_EQ(findKnownModel(model.name), &model);
        EXPECT_EQ(model.hidden % model.heads, 0) << model.name;
        EXPECT_EQ(model.heads % model.keyValueHeads, 0) << model.name;
    }
    EXPECT_EQ(findKnownModel("llama"), nullptr);
}

}  // namespace
}  // namespace shardscope::planning
