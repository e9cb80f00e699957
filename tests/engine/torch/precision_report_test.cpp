#include "engine/training/precision_report.h"

#include "engine/kernels/attention.h"
#include "engine/kernels/matmul.h"
#include "tests/engine/torch/tiny_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace shardscope::training {
namespace {

using Types = std::map<std::string, std::set<std::string>>;
using ::testing::UnorderedElementsAre;

/// Passes collectives on to the report.
class Forwarding final : public control::Observer {
public:
    explicit Forwarding(PrecisionReport& report) : m_report(report) {}
    void stepBegin(std::int32_t) override {}
    void stepEnd(const control::StepReport&) override {}
    void phaseBegin(Phase, LayerIndex) override {}
    void phaseEnd(const control::PhaseReport&) override {}
    void buffer(const control::BufferReport&) override {}
    void metric(control::Metric, std::int32_t, double) override {}
    void collective(const control::CollectiveReport& report) override {
        m_report.collective(report);
    }

private:
    PrecisionReport& m_report;
};

/// Of rank 0, the types by what they are of.
Types typesOf(const run::RunConfig& config, const parallel::Placement& placement,
              bool listens = true) {
    kernels::useMatmulLibrary(kernels::MatmulLibrary::kMkl);
    kernels::useAttention(kernels::AttentionKind::kFlash);
    Types types;
    auto segment = comm::Segment::anonymous(std::size_t{64} << 20, config.ranks);
    std::vector<PrecisionReport> reports(static_cast<std::size_t>(config.ranks));
    std::vector<std::thread> threads;
    for (int index = 0; index < config.ranks; ++index) {
        threads.emplace_back([&, index] {
            PrecisionReport& report = reports[static_cast<std::size_t>(index)];
            Forwarding observer(report);
            const auto c = comm::makeDirectCommunicator(*segment, index, &observer, "threads");
            test::TinyRank rank(config, *c, &observer, placement);
            Trainer trainer(rank.config, at::kCPU, rank.model, *rank.partitioning, *c,
                            rank.batches(), nullptr);
            const control::PrecisionScope scope(listens ? &report : nullptr);
            const auto result = trainer.step(0, false, training::AfterStep::kPause);
            ASSERT_TRUE(result) << result.error().message;
            c->barrier({}).wait();
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (const PrecisionRow& row : reports[0].rows()) {
        EXPECT_GT(row.tensors, 0);
        EXPECT_FALSE(row.where.empty());
        types[row.what].insert(row.dtype);
    }
    return types;
}

Types typesOf(const run::RunConfig& config) {
    return typesOf(config, placementOf(config, at::kCPU));
}

const char* const kAlwaysFp32[] = {"master parameter", "reduced gradient", "first moment",
                                   "second moment", "norm statistic"};
const char* const kComputed[] = {"parameter",          "activation", "norm output",
                                 "query, key, value",  "logits",     "attention output",
                                 "activation gradient"};

TEST(PrecisionReport, SaysThatFp32RunsAreFp32ThroughoutButTheSumOfLosses) {
    Types types = typesOf(test::tinyRun(run::Strategy::kZero3, 2));
    EXPECT_THAT(types["loss"], UnorderedElementsAre("fp64"));
    types.erase("loss");
    for (const auto& [what, dtypes] : types)
        EXPECT_THAT(dtypes, UnorderedElementsAre("fp32")) << what;
    for (const char* what : kAlwaysFp32) EXPECT_EQ(types.count(what), 1U) << what;
    for (const char* what : kComputed) EXPECT_EQ(types.count(what), 1U) << what;
    for (const char* what : {"gradient", "logit gradient", "reduction"})
        EXPECT_EQ(types.count(what), 1U) << what;
}

TEST(PrecisionReport, SaysWhatStaysFp32InABf16Run) {
    run::RunConfig config = test::tinyRun(run::Strategy::kZero3, 2);
    config.precision = run::Precision::kBFloat16;
    for (const bool reduceInBf16 : {false, true}) {
        config.reduceIn = reduceInBf16 ? run::GradientType::kBFloat16 : run::GradientType::kFloat32;
        Types types = typesOf(config);
        for (const char* what : kAlwaysFp32)
            EXPECT_THAT(types[what], UnorderedElementsAre("fp32")) << what;
        for (const char* what : kComputed)
            EXPECT_THAT(types[what], UnorderedElementsAre("bf16")) << what;
        // Taken in fp32, rounded once for the products.
        EXPECT_THAT(types["logit gradient"], UnorderedElementsAre("fp32", "bf16"));
        EXPECT_THAT(types["gradient"], UnorderedElementsAre(reduceInBf16 ? "bf16" : "fp32"));
        EXPECT_THAT(types["reduction"], UnorderedElementsAre(reduceInBf16 ? "bf16" : "fp32"));
    }
}

TEST(PrecisionReport, FollowsAnFp16RunWithAnyOptions) {
    run::RunConfig config = test::tinyRun(run::Strategy::kSingle, 1);
    config.model.norm = run::Norm::kRmsNorm;
    config.model.position = run::Position::kRope;
    config.model.ffn = run::FeedForward::kSwiglu;
    config.model.tieHead = false;
    parallel::Placement placement;
    placement.compute = at::kHalf;
    Types types = typesOf(config, placement);
    for (const char* what : kAlwaysFp32)
        EXPECT_THAT(types[what], UnorderedElementsAre("fp32")) << what;
    for (const char* what : kComputed)
        EXPECT_THAT(types[what], UnorderedElementsAre("fp16")) << what;
    EXPECT_THAT(types["gradient"], UnorderedElementsAre("fp32"));
    EXPECT_EQ(types.count("reduction"), 0U);  // one rank
}

TEST(PrecisionReport, HearsNothingWhenNobodyAsked) {
    const run::RunConfig config = test::tinyRun(run::Strategy::kSingle, 1);
    EXPECT_TRUE(typesOf(config, placementOf(config, at::kCPU), false).empty());
}

TEST(PrecisionReport, CountsAlikeTensorsOnceAndOrdersByRole) {
    PrecisionReport report;
    report.tensor(control::TensorRole::kLogits, DataType::kBFloat16, "head");
    report.tensor(control::TensorRole::kParameter, DataType::kFloat32, "b");
    report.tensor(control::TensorRole::kLogits, DataType::kBFloat16, "head");
    report.tensor(control::TensorRole::kParameter, DataType::kFloat32, "a");
    EXPECT_THAT(report.rows(), ::testing::ElementsAre(PrecisionRow{"parameter", "fp32", "b", 1},
                                                      PrecisionRow{"parameter", "fp32", "a", 1},
                                                      PrecisionRow{"logits", "bf16", "head", 2}));
}

}  // namespace
}  // namespace shardscope::training
