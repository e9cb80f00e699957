// The parts of divided tensors: over a group they are every element once.
#include "engine/gpt/gpt.h"
#include "engine/parallel/tensor_group.h"
#include "engine/run/config/rank_layout.h"
#include "tests/engine/torch/counted_run.h"
#include "tests/engine/torch/rank_threads.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <map>
#include <tuple>

namespace shardscope {
namespace {

class TensorParts : public testing::TestWithParam<std::tuple<int, bool>> {
protected:
    static run::RunConfig config() {
        run::RunConfig config;
        config.model = *run::findModelPreset("tiny");
        config.model.vocabulary = 67;
        config.model.hidden = 48;
        config.model.heads = 12;
        config.model.ffn = run::FeedForward::kSwiglu;
        config.model.tieHead = std::get<1>(GetParam());
        config.tensor = config.ranks = std::get<0>(GetParam());
        config.strategy = run::Strategy::kZero3;
        config.vocabularyPieces = 3;
        return config;
    }
};

/// Of every element of `whole`, how often a piece has it; as pieceOf() and as forEachRun() say.
void count(const kernels::Parameter& parameter, std::map<std::string, at::Tensor>& counts) {
    std::int64_t all = 1;
    for (const std::int64_t extent : parameter.wholeShape()) all *= extent;
    at::Tensor& count = counts[parameter.name];
    if (!count.defined()) count = at::zeros({all}, at::kLong);
    const at::Tensor numbers =
        parameter.pieceOf(at::arange(all, at::kLong).view(parameter.wholeShape()))
            .reshape({-1})
            .contiguous();
    ASSERT_EQ(numbers.numel(), parameter.count()) << parameter.name;
    const auto* number = numbers.const_data_ptr<std::int64_t>();
    // In two, at a place that is no row's.
    const std::int64_t cut = parameter.count() / 3;
    std::int64_t next = 0;
    for (const auto& [begin, size] :
         {std::pair{std::int64_t{0}, cut}, std::pair{cut, parameter.count() - cut}})
        parameter.forEachRun(begin, size,
                             [&](std::int64_t whole, std::int64_t own, std::int64_t n) {
                                 ASSERT_EQ(own, next) << parameter.name;
                                 for (std::int64_t i = 0; i < n; ++i)
                                     ASSERT_EQ(number[own + i], whole + i) << parameter.name;
                                 next = own + n;
                                 count.narrow(0, whole, n).add_(1);
                             });
    EXPECT_EQ(next, parameter.count()) << parameter.name;
}

TEST_P(TensorParts, AreEveryElementOnce) {
    const run::RunConfig run = config();
    std::map<std::string, at::Tensor> counts;
    std::map<std::string, bool> divided;
    std::mutex mutex;
    test::runRanks(run.ranks, [&](comm::Communicator& c) {
        parallel::TensorGroupOptions options;
        options.rows = 4;
        options.hidden = run.model.hidden;
        const auto group = parallel::makeTensorGroup(c, nullptr, options);
        gpt::Gpt model(run, run.tensor > 1 ? group.get() : nullptr);
        const std::lock_guard lock(mutex);
        for (const gpt::Unit& unit : model.units())
            for (const kernels::Parameter& parameter : unit.parameters) {
                count(parameter, counts);
                divided[parameter.name] = parameter.divided;
            }
    });
    for (const auto& [name, count] : counts) {
        const std::int64_t times = divided[name] ? 1 : run.ranks;
        EXPECT_TRUE(count.eq(times).all().item<bool>()) << name;
    }
}

INSTANTIATE_TEST_SUITE_P(Groups, TensorParts,
                         testing::Combine(testing::Values(1, 2, 3, 4), testing::Bool()),
                         [](const auto& tested) {
                             return "Of" + std::to_string(std::get<0>(tested.param)) +
                                    (std::get<1>(tested.param) ? "Tied" : "");
                         });

TEST(RankLayout, PutsTensorGroupsSideBySide) {
    run::RunConfig config;
    config.ranks = 6;
    config.tensor = 2;
    EXPECT_EQ(run::replicasOf(config), 3);
    EXPECT_EQ(run::placeOf(config, 5).tensor, 1);
    EXPECT_EQ(run::placeOf(config, 5).replica, 2);
    EXPECT_EQ(run::tensorGroup(config, 3), (std::vector<int>{2, 3}));
    EXPECT_EQ(run::dataGroup(config, 3), (std::vector<int>{1, 3, 5}));
}

/// What operators ask of a group, by integers that sums are exact in.
class TensorRanks : public testing::TestWithParam<test::RankSet> {};

TEST_P(TensorRanks, SumGatherAndScatterRows) {
    constexpr std::int64_t kAllRows = 12, kHidden = 5;
    for (const bool sequence : {false, true})
        GetParam().run([&](comm::Communicator& c) {
            parallel::TensorGroupOptions options;
            options.sequence = sequence;
            options.rows = kAllRows;
            options.hidden = kHidden;
            const auto group = parallel::makeTensorGroup(c, nullptr, options);
            const std::int64_t n = sequence ? kAllRows / c.size() : kAllRows;
            const at::Tensor all =
                at::arange(kAllRows * kHidden).view({kAllRows, kHidden}).to(at::kFloat);
            for (int round = 0; round < 5; ++round) {
                const at::Tensor partial = group->partial(kAllRows, kHidden, all.options());
                partial.copy_(all).add_(c.rank() + round);
                const at::Tensor expected =
                    all * c.size() + (c.size() * (c.size() - 1) / 2 + round * c.size());
                const at::Tensor sum = group->sum(partial);
                EXPECT_TRUE(sum.equal(sequence ? expected.narrow(0, c.rank() * n, n) : expected));
                EXPECT_TRUE(group->gather(sum).equal(expected));
                const at::Tensor each = group->gatherAll(sum.narrow(0, 0, 1).narrow(1, 0, 3));
                EXPECT_EQ(each.size(0), c.size());
                const at::Tensor small = at::ones({4}) * (c.rank() + 1);
                group->sumInPlace({small, all.narrow(0, 0, 1).clone()});
                EXPECT_EQ(small[3].item<float>(),
                          static_cast<float>(c.size() * (c.size() + 1)) / 2);
            }
            // Not what was handed out last.
            EXPECT_THROW(std::ignore = group->sum(all), std::runtime_error);
            EXPECT_THROW(std::ignore = group->partial(kAllRows + 1, kHidden, all.options()),
                         std::runtime_error);
        });
}

INSTANTIATE_TEST_SUITE_P(Communicators, TensorRanks,
                         testing::ValuesIn(test::rankSets({1, 2, 3, 4})),
                         [](const auto& tested) { return tested.param.name(); });

/// Layers that are shared, in every way that a run may have them.
struct Shared {
    const char* name;
    run::Strategy strategy;
    int ranks;
    bool sequence;
    std::int32_t recomputeEvery = 0;
    std::int32_t pieces = 0;
    bool keepsGradients = false;
};

class SharedLayers : public testing::TestWithParam<Shared> {};

TEST_P(SharedLayers, ExchangeWhatTheorySays) {
    run::RunConfig config = test::tinyRun(GetParam().ranks);
    config.tensor = 2;
    config.strategy = GetParam().strategy;
    config.sequence = GetParam().sequence;
    config.recomputeEvery = GetParam().recomputeEvery;
    config.vocabularyPieces = GetParam().pieces;
    config.keepGradients = GetParam().keepsGradients;
    test::expectWhatTheorySays(config);
}

INSTANTIATE_TEST_SUITE_P(
    Runs, SharedLayers,
    testing::Values(Shared{"Alone", run::Strategy::kSingle, 2, false},
                    Shared{"AloneByRows", run::Strategy::kSingle, 2, true},
                    Shared{"Ddp", run::Strategy::kDdpFlat, 4, false},
                    Shared{"DdpByTensor", run::Strategy::kDdpOverlap, 4, true},
                    Shared{"Zero1", run::Strategy::kZero1, 4, true},
                    Shared{"Zero2", run::Strategy::kZero2, 4, true, 1},
                    Shared{"Zero3", run::Strategy::kZero3, 4, false, 2},
                    Shared{"Zero3ByRows", run::Strategy::kZero3, 4, true, 2},
                    Shared{"Zero3InPieces", run::Strategy::kZero3, 4, true, 0, 2},
                    Shared{"Zero3Gradients", run::Strategy::kZero3, 4, true, 0, 0, true}),
    [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace shardscope
