#include "engine/run/theory/model_theory.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace shardscope::theory {
namespace {

using run::FeedForward;
using run::ModelConfig;
using run::Norm;
using run::Position;

ModelConfig preset(const char* name) {
    return *run::findModelPreset(name);
}

/// As the performance reference prints them.
std::string millions(std::int64_t n) {
    return fmt::format("{:.1f}M", static_cast<double>(n) * 1e-6);
}
std::string giga(double flops) {
    return fmt::format("{:.3f}", flops * 1e-9);
}
std::string mega(double flops) {
    return fmt::format("{:.1f}", flops * 1e-6);
}

struct Cs336 {
    const char* name;
    const char* tied;
    const char* tiedPalm;
    const char* tiedExact;
    const char* step;
    const char* untied;
    const char* untiedPalm;
    const char* untiedStep;
};

// Performance reference 1.3: the 2024 handout's model (RMS norms, learned positions, tied head, a
// GELU), then the later one's (rotary positions, untied, SwiGLU of three matrices).
constexpr Cs336 kCs336[] = {
    {"small", "92.7M", "0.571", "0.563", "1.17", "128.6M", "0.786", "1.61"},
    {"medium", "312.4M", "1.912", "1.892", "3.92", "423.2M", "2.577", "5.28"},
    {"large", "720.8M", "4.396", "4.359", "9.00", "969.4M", "5.887", "12.06"},
    {"xl", "1490.9M", "9.063", "9.003", "18.56", "1998.2M", "12.107", "24.80"},
    {"2.7B", "2542.7M", "15.382", "15.317", "31.50", "3406.8M", "20.567", "42.12"}};

std::string teraflopsOfStep(double flopsPerToken) {
    return fmt::format("{:.2f}", flopsPerToken * 16 * 128 * 1e-12);
}

TEST(ModelTheory, GivesTheCs336TableToTheDigit) {
    for (const Cs336& row : kCs336) {
        SCOPED_TRACE(row.name);
        ModelConfig model = preset(row.name);
        model.norm = Norm::kRmsNorm;
        EXPECT_EQ(millions(parameterCount(model)), row.tied);
        EXPECT_EQ(giga(palmFlopsPerToken(model)), row.tiedPalm);
        EXPECT_EQ(giga(flopsPerToken(model, FlopsVariant::kExact)), row.tiedExact);
        EXPECT_EQ(teraflopsOfStep(palmFlopsPerToken(model)), row.step);
        model.tieHead = false;
        model.ffn = FeedForward::kSwiglu;
        model.position = Position::kRope;
        EXPECT_EQ(millions(parameterCount(model)), row.untied);
        EXPECT_EQ(giga(palmFlopsPerToken(model)), row.untiedPalm);
        EXPECT_EQ(teraflopsOfStep(palmFlopsPerToken(model)), row.untiedStep);
    }
}

TEST(ModelTheory, CountsTheReferenceModelInEveryVariant) {
    const ModelConfig ref = preset("ref");
    EXPECT_EQ(parameterCount(ref), 203'033'600);
    const auto counted = [&](const char* word) {
        return mega(flopsPerToken(ref, *fromWord<FlopsVariant>(word)));
    };
    EXPECT_EQ(counted("6N"), "1218.2");
    for (const char* word : {"palm", "foundry"}) EXPECT_EQ(counted(word), "1293.7");
    // Its head is the token table, which multiplies; positions do not.
    for (const char* word : {"nanogpt", "titan"}) EXPECT_EQ(counted(word), "1290.6");
    EXPECT_EQ(counted("meg21"), "1290.2");
    EXPECT_EQ(counted("llmc"), "1256.0");
    EXPECT_EQ(counted("megnow"), "1252.8");
    EXPECT_EQ(counted("exact"), "1252.6");
    EXPECT_FALSE(fromWord<FlopsVariant>("PALM"));
    for (const FlopsVariant variant : kAll<FlopsVariant>)
        EXPECT_EQ(fromWord<FlopsVariant>(toWord(variant)), variant);
    EXPECT_EQ(kAll<FlopsVariant>.size(), 9U);
}

// Narayanan et al. 2021: 72·L·h²·(1 + T/6h + V/12hL).
TEST(ModelTheory, Megatron2021IsItsPublishedFormula) {
    const double h = 1024, layers = 12, context = 512, vocabulary = 50'257;
    const double published =
        72 * layers * h * h * (1 + context / (6 * h) + vocabulary / (12 * h * layers));
    EXPECT_DOUBLE_EQ(flopsPerToken(preset("ref"), FlopsVariant::kMegatron2021), published);
}

TEST(ModelTheory, OptionsChangeTheCountsByTheirTensors) {
    const ModelConfig plain = preset("small");
    const std::int64_t n = parameterCount(plain);
    const std::int64_t c = plain.hidden, v = plain.vocabulary;
    const auto with = [&](auto change) {
        ModelConfig model = plain;
        change(model);
        return model;
    };
    const auto rms = with([](ModelConfig& m) { m.norm = Norm::kRmsNorm; });
    EXPECT_EQ(parameterCount(rms), n - (2 * plain.layers + 1) * c);
    const auto rope = with([](ModelConfig& m) { m.position = Position::kRope; });
    EXPECT_EQ(parameterCount(rope), n - plain.context * c);
    const auto swiglu = with([](ModelConfig& m) { m.ffn = FeedForward::kSwiglu; });
    EXPECT_EQ(parameterCount(swiglu), n + plain.layers * 4 * c * c);
    const auto untied = with([](ModelConfig& m) { m.tieHead = false; });
    EXPECT_EQ(parameterCount(untied), n + v * c);
    const auto narrow = with([](ModelConfig& m) { m.ffnWidth = 1000; });
    EXPECT_EQ(parameterCount(narrow), n + plain.layers * 2 * c * (1000 - 4 * c));
    EXPECT_EQ(parameterTensorCount(plain), 4 + 12 * 8);
    EXPECT_EQ(parameterTensorCount(swiglu), 4 + 12 * 9);
    EXPECT_EQ(parameterTensorCount(rms), 3 + 12 * 6);

    // A table that is only looked up costs no products.
    for (const FlopsVariant variant : {FlopsVariant::kTitan, FlopsVariant::kExact})
        EXPECT_NEAR(flopsPerToken(untied, variant) / flopsPerToken(plain, variant), 1.0, 2e-3);
    EXPECT_DOUBLE_EQ(
        flopsPerToken(untied, FlopsVariant::kPalm) - flopsPerToken(plain, FlopsVariant::kPalm),
        6.0 * static_cast<double>(v * c));
    EXPECT_EQ(flopsPerToken(rope, FlopsVariant::kNanoGpt),
              flopsPerToken(rope, FlopsVariant::kPalm));
}

TEST(ModelTheory, PartsAddUpToTheMatrixProducts) {
    for (const FeedForward ffn : {FeedForward::kGelu, FeedForward::kSwiglu}) {
        ModelConfig model = preset("medium");
        model.ffn = ffn;
        const FlopsByPart full = forwardFlopsPerToken(model, AttentionCount::kFull);
        EXPECT_DOUBLE_EQ(3 * full.total(), flopsPerToken(model, FlopsVariant::kMegatron2021));
        EXPECT_DOUBLE_EQ(full.feedForward / full.projection, ffn == FeedForward::kGelu ? 8 : 12);
        EXPECT_DOUBLE_EQ(full.qkv, 3 * full.projection);
        const FlopsByPart causal = forwardFlopsPerToken(model, AttentionCount::kCausal);
        EXPECT_DOUBLE_EQ(causal.attention / full.attention, 129.0 / 256.0);
    }
}

TEST(ModelTheory, RecomputationRunsForwardAgain) {
    const ModelConfig model = preset("ref");
    const FlopsByPart forward = forwardFlopsPerToken(model, AttentionCount::kFull);
    const double palm = palmFlopsPerToken(model);
    // Flash attention: backward 10 where the formula counts 8 (performance reference 1.1).
    EXPECT_DOUBLE_EQ(executedFlopsPerToken(model, 0), palm + forward.attention * 2 / 4);
    EXPECT_NEAR(executedFlopsPerToken(model, model.layers) - executedFlopsPerToken(model, 0),
                forward.blocks(), 1);
    EXPECT_NEAR(executedFlopsPerToken(model, 4) - executedFlopsPerToken(model, 0),
                forward.blocks() / 3, 1);
}

}  // namespace
}  // namespace shardscope::theory
