#include "profiler/analysis/device/efficiency.h"

#include "profiler/analysis/device/roofline.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/support/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace shardscope::analysis {
namespace {

using test::drawTimeline;

TEST(Efficiency, CountsTheReferenceModelAsOthersDo) {
    // 70,028 tokens/s on an A100 of 312 TFLOP/s: performance reference 1.2.
    const auto model = run::findModelPreset("ref");
    ASSERT_TRUE(model);
    const auto all = utilisationBy(*model, 70'028, 312e12);
    ASSERT_EQ(all.size(), kAll<theory::FlopsVariant>.size());
    const auto percent = [&](theory::FlopsVariant variant) {
        for (const UtilisationBy& each : all)
            if (each.variant == variant) return 100 * *each.utilisation;
        return 0.0;
    };
    EXPECT_NEAR(percent(theory::FlopsVariant::kSixN), 27.34, 0.01);
    EXPECT_NEAR(percent(theory::FlopsVariant::kPalm), 29.04, 0.01);
    EXPECT_NEAR(percent(theory::FlopsVariant::kLlmc), 28.19, 0.01);
    EXPECT_NEAR(percent(theory::FlopsVariant::kExact), 28.11, 0.01);
    EXPECT_FALSE(utilisationBy(*model, 70'028, std::nullopt)[0].utilisation);
}

TEST(Efficiency, RecomputingIsHardwaresBusinessOnly) {
    run::RunConfig config;
    const double without = hardwareUtilisation(config, 1000, 1e12);
    config.recomputeEvery = 1;
    const double all = hardwareUtilisation(config, 1000, 1e12);
    config.recomputeEvery = 2;
    const double half = hardwareUtilisation(config, 1000, 1e12);
    EXPECT_GT(half, without);
    EXPECT_NEAR(all - without, 2 * (half - without), 1e-12);
}

TEST(Goodput, AddsUpToTheWallTimeOfAllRanks) {
    auto drawn = drawTimeline(R"(
        rank 0 step    |...ssssssss.ssssss...|
        rank 0 compute |...ddffffee.ddffff...|
    )");
    drawn.summary.bounds = {{0}, {21'000}};
    const auto goodput = goodputOf(drawn.summary, drawn.ranks);
    ASSERT_TRUE(goodput);
    EXPECT_EQ(goodput->wall.ns, 21'000);
    EXPECT_EQ(goodput->productive.ns, 8'000);
    Duration sum = goodput->productive;
    std::map<std::string, std::int64_t> items;
    for (const Goodput::Item& item : goodput->badput) {
        sum += item.time;
        items[item.key] = item.time.ns;
    }
    EXPECT_EQ(sum, goodput->wall);
    EXPECT_EQ(items["data"], 4'000);
    EXPECT_EQ(items["evaluation"], 2'000);
    EXPECT_EQ(items["start"], 3'000);
    EXPECT_EQ(items["between_steps"], 1'000);
    EXPECT_EQ(items["end"], 3'000);
}

TEST(Goodput, OfATraceWithoutPhasesIsNotKnown) {
    const auto drawn = drawTimeline("rank 0 kernels |ff..b|");
    EXPECT_FALSE(goodputOf(drawn.summary, drawn.ranks));
}

TEST(PartSpeeds, ShareAStepsTokensAmongItsMicroSteps) {
    run::RunConfig config;
    RecordingSummary summary;
    StepFacts step;
    step.end = {1'000'000};
    step.tokens = 4096;
    summary.steps.push_back(step);
    RankEvents events;
    events.rank = {0};
    for (const std::int64_t start : {0, 100, 200, 300}) {
        SpanEvent phase;
        phase.start = {start};
        phase.duration = {50};
        phase.step = {0};
        phase.layer = {static_cast<std::int16_t>(start / 200)};
        phase.phase = Phase::kForward;
        events.phases.push_back(phase);
    }
    const auto parts = partSpeeds(summary, config.model, events);
    ASSERT_EQ(parts.size(), 3u);  // all blocks, then each of two
    EXPECT_EQ(parts[0].layer, kNoLayer);
    EXPECT_EQ(parts[0].time.ns, 200);
    EXPECT_EQ(parts[1].time.ns, 100);
    const double block =
        theory::forwardFlopsPerToken(config.model, theory::AttentionCount::kCausal).blocks() /
        static_cast<double>(config.model.layers);
    EXPECT_DOUBLE_EQ(parts[1].flops, 4096 * block);
    EXPECT_DOUBLE_EQ(parts[0].flops, 2 * 4096 * block);
}

PartSpeed speedOf(Phase phase, int layer, std::uint32_t rank, std::int64_t ns, double flops) {
    PartSpeed speed;
    speed.phase = phase;
    speed.layer = {static_cast<std::int16_t>(layer)};
    speed.rank = {rank};
    speed.time = {ns};
    speed.flops = flops;
    return speed;
}

TEST(PartSpeeds, OfAllRanksAreTheirWorkOverTheirTime) {
    const int whole = kNoLayer.value;
    const auto parts = overRanks({speedOf(Phase::kForward, whole, 0, 1'000'000'000, 300),
                                  speedOf(Phase::kForward, 0, 0, 1'000'000'000, 100),
                                  speedOf(Phase::kForward, whole, 1, 3'000'000'000, 300),
                                  speedOf(Phase::kBackward, whole, 1, 0, 300)});
    ASSERT_EQ(parts.size(), 3u);
    EXPECT_EQ(parts[0].phase, Phase::kForward);
    EXPECT_EQ(parts[0].layer, kNoLayer);
    EXPECT_EQ(parts[0].ranks, 2);
    EXPECT_DOUBLE_EQ(*parts[0].flopsPerSecond(), 150);
    EXPECT_DOUBLE_EQ(*parts[0].slowest, 100);
    EXPECT_DOUBLE_EQ(*parts[0].fastest, 300);
    EXPECT_FALSE(parts[1].flopsPerSecond()) << "of no time there is no speed";
    EXPECT_FALSE(parts[1].slowest);
    EXPECT_EQ(parts[2].layer, LayerIndex{0}) << "blocks follow what is of all of them";
}

using testing::HasSubstr;

DeviceUse use(std::uint32_t rank, const char* uuid, std::optional<double> joules,
              double tokens = 100) {
    DeviceUse made;
    made.device.rank = {rank};
    made.device.uuid = uuid;
    made.joulesPerStep = joules;
    if (joules) made.joulesPerToken = *joules / tokens;
    return made;
}

TEST(RunEnergy, IsOfAllDevices) {
    const RunEnergy told = runEnergy({use(0, "a", 300), use(1, "b", 100)}, 2);
    EXPECT_DOUBLE_EQ(*told.joulesPerStep, 400);
    EXPECT_DOUBLE_EQ(*told.joulesPerToken, 2);
}

/// Its counter is of the whole of it.
TEST(RunEnergy, OfASharedDeviceCountsOnce) {
    const RunEnergy told = runEnergy({use(0, "a", 300), use(1, "a", 300), use(2, "b", 100)}, 3);
    EXPECT_DOUBLE_EQ(*told.joulesPerStep, 400);
    EXPECT_DOUBLE_EQ(*told.joulesPerToken, 400.0 / 300);
}

TEST(RunEnergy, OfDevicesWithoutANameIsThatOfEach) {
    EXPECT_DOUBLE_EQ(*runEnergy({use(0, "", 300), use(1, "", 300)}, 2).joulesPerStep, 600);
}

TEST(RunEnergy, SaysWhatItLacks) {
    EXPECT_THAT(runEnergy({}, 2).missing, HasSubstr("no rank has a device"));
    EXPECT_THAT(runEnergy({use(0, "a", 3), use(1, "b", std::nullopt)}, 2).missing,
                HasSubstr("rank 1's device was not sampled"));
    EXPECT_THAT(runEnergy({use(0, "a", 3)}, 2).missing, HasSubstr("some ranks have no device"));
    EXPECT_FALSE(runEnergy({use(0, "a", 3)}, 2).joulesPerStep);
}

// FLOPs, least bytes and roofs of matrix products.

Product product(ProductType type, std::int64_t batch = 1) {
    Product made;
    made.batch = batch;
    made.m = 128;
    made.k = 64;
    made.n = 256;
    made.type = type;
    return made;
}

TEST(Roofline, CountsAMultiplicationAndAnAdditionEach) {
    EXPECT_EQ(flopsOf(product(ProductType::kFloat)), 2.0 * 128 * 64 * 256);
    EXPECT_EQ(flopsOf(product(ProductType::kFloat, 8)), 8 * 2.0 * 128 * 64 * 256);
}

TEST(Roofline, MovesInputsAndOutputOnceAtLeast) {
    constexpr double kElements = 128 * 64 + 64 * 256 + 128 * 256;
    EXPECT_EQ(bytesOf(product(ProductType::kFloat)), 4 * kElements);
    EXPECT_EQ(bytesOf(product(ProductType::kBFloat, 3)), 3 * 2 * kElements);
    EXPECT_EQ(bytesOf(product(ProductType::kFloat8)), kElements);
}

TEST(Roofline, DoesNotGuess) {
    EXPECT_FALSE(bytesOf(product(ProductType::kUnknown)));
    Product convolution = product(ProductType::kHalf);
    convolution.convolution = true;
    EXPECT_FALSE(flopsOf(convolution));
    EXPECT_FALSE(bytesOf(convolution));
}

TEST(Roofline, IsTheLowerOfBothRoofs) {
    EXPECT_EQ(roofAt(10, 1e12, 1e10), 1e11);
    EXPECT_EQ(roofAt(1000, 1e12, 1e10), 1e12);
    EXPECT_EQ(roofAt(10, 1e12, std::nullopt), 1e12);
}

const std::vector<std::string> kHalves{"c10::Half", "c10::Half", "c10::Half"};

TEST(Products, ReadTheirFactorsByOperator) {
    const auto mm =
        productOf("aten::mm", {{128, 64}, {64, 256}}, {"c10::BFloat16", "c10::BFloat16"});
    ASSERT_TRUE(mm);
    EXPECT_EQ(shapeText(*mm), "(128 x 64)(64 x 256)");
    EXPECT_EQ(mm->type, ProductType::kBFloat);
    const auto addmm = productOf("aten::addmm", {{256}, {128, 64}, {64, 256}, {}, {}}, kHalves);
    ASSERT_TRUE(addmm);
    EXPECT_EQ(addmm->n, 256);
    const auto bmm = productOf("aten::bmm", {{8, 2, 3}, {8, 3, 4}}, {});
    ASSERT_TRUE(bmm);
    EXPECT_EQ(shapeText(*bmm), "8 x (2 x 3)(3 x 4)");
    EXPECT_EQ(bmm->type, ProductType::kUnknown);
    const auto conv =
        productOf("aten::cudnn_convolution", {{8, 3, 32, 32}, {64, 3, 7, 7}}, {"float", "float"});
    ASSERT_TRUE(conv);
    EXPECT_EQ(shapeText(*conv), "3 -> 64 channels");
}

TEST(Products, AreNoneWhereShapesAreNotTheirs) {
    EXPECT_FALSE(productOf("aten::add", {{8, 8}, {8, 8}}, kHalves));
    EXPECT_FALSE(productOf("aten::linear", {{8, 8}, {8, 8}}, kHalves));  // calls addmm
    EXPECT_FALSE(productOf("aten::mm", {}, kHalves));
    EXPECT_FALSE(productOf("aten::mm", {{8, 8}}, kHalves));
    EXPECT_FALSE(productOf("aten::mm", {{8, 8}, {}}, kHalves));
    EXPECT_FALSE(productOf("aten::mm", {{8, 8}, {7, 8}}, kHalves));
    EXPECT_FALSE(productOf("aten::mm", {{0, 8}, {8, 8}}, kHalves));
    EXPECT_FALSE(productOf("aten::mm", {{-8, 8}, {8, 8}}, kHalves));
    EXPECT_FALSE(productOf("aten::bmm", {{2, 8, 8}, {3, 8, 8}}, kHalves));
    EXPECT_FALSE(productOf("aten::cudnn_convolution", {{8, 8}, {8, 8}}, kHalves));
}

TEST(Eligibility, GoesByTypeAndMultiples) {
    const auto told = [](std::int64_t m, std::int64_t n, std::int64_t k, const char* type) {
        return eligibilityOf(*productOf("aten::mm", {{m, k}, {k, n}}, {type, type}));
    };
    EXPECT_TRUE(*told(8, 16, 24, "c10::Half").eligible);
    EXPECT_FALSE(*told(8, 16, 28, "c10::BFloat16").eligible);
    EXPECT_EQ(told(8, 16, 28, "c10::BFloat16").why, "K is 28, no multiple of 8");
    EXPECT_TRUE(*told(8, 16, 28, "float").eligible);
    EXPECT_THAT(told(7, 16, 28, "float").why, HasSubstr("M is 7"));
    EXPECT_TRUE(*told(6, 2, 10, "double").eligible);
    EXPECT_FALSE(*told(16, 16, 24, "c10::Float8_e4m3fn").eligible);
    EXPECT_TRUE(*told(16, 32, 48, "signed char").eligible);
    EXPECT_FALSE(*told(16, 16, 16, "c10::complex<float>").eligible);
    EXPECT_FALSE(told(16, 16, 16, "").eligible.has_value());
    const auto conv = productOf("aten::cudnn_convolution", {{8, 3, 9, 9}, {64, 3, 7, 7}}, kHalves);
    EXPECT_EQ(eligibilityOf(*conv).why, "channels in is 3, no multiple of 8");
}

TEST(TensorCores, AreKnownByKernelNames) {
    for (const char* name :
         {"ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_nn", "volta_h884gemm_64x64",
          "turing_fp16_s1688cudnn_fp16_256x64", "sm90_xmma_gemm_bf16bf16_hmma", "nvjet_tst_128x256",
          "cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4",
          "sm80_xmma_fprop_implicit_gemm_tf32f32_f32_nhwckrsc_nchw_tilesize128_warpgroupsize1_"
          "tensor16x8x8_kernel_cudnn"})
        EXPECT_TRUE(usesTensorCores(name)) << name;
    for (const char* name :
         {"", "884", "ampere_sgemm_128x64_nn", "volta_sgemm_32x128_tn", "triton_poi_fused_1688100",
          "vectorized_elementwise_kernel<4>", "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32"})
        EXPECT_FALSE(usesTensorCores(name)) << name;
}

}  // namespace
}  // namespace shardscope::analysis
