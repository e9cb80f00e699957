#include "engine/data/reference.h"

#include "engine/kernels/matmul.h"
#include "engine/training/verification.h"
#include "tests/engine/torch/rank_threads.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <mutex>

namespace shardscope {
namespace {

struct Case {
    control::Strategy strategy;
    int ranks;
    kernels::MatmulLibrary library;
};

class FollowsReference : public testing::TestWithParam<Case> {};

TEST_P(FollowsReference, InLossNormAndWeights) {
    const std::string folder = SHARDSCOPE_REFERENCE_FOLDER;
    if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no reference folder at " << folder;
    at::set_num_threads(1);
    kernels::useMatmulLibrary(GetParam().library);
    auto reference = data::Reference::load(folder);
    ASSERT_TRUE(reference) << reference.error().message;
    control::RunConfig config;
    config.strategy = GetParam().strategy;
    config.ranks = GetParam().ranks;
    config = reference->apply(config);

    std::mutex mutex;
    std::vector<control::VerifyResult> results;
    test::runRanks(GetParam().ranks, [&](comm::Communicator& communicator) {
        auto result = training::verify(*reference, config, communicator, nullptr);
        const std::lock_guard lock(mutex);
        ASSERT_TRUE(result) << result.error().message;
        results.push_back(*result);
    });
    ASSERT_EQ(results.size(), static_cast<std::size_t>(GetParam().ranks));
    for (const control::VerifyResult& result : results) {
        EXPECT_EQ(result.steps, 20);
        EXPECT_LE(result.loss, 2e-6);
        EXPECT_LE(result.gradientNorm, 1e-5);
        EXPECT_LE(result.weights, 1e-5) << result.worstTensor;
        EXPECT_LE(static_cast<double>(result.stateBytes),
                  1.02 * static_cast<double>(result.theoryStateBytes));
    }
}

constexpr auto kSingle = control::Strategy::kSingle;
constexpr auto kZero3 = control::Strategy::kZero3;
constexpr auto kMkl = kernels::MatmulLibrary::kMkl;
constexpr auto kOneDnn = kernels::MatmulLibrary::kOneDnn;

INSTANTIATE_TEST_SUITE_P(Strategies, FollowsReference,
                         testing::Values(Case{kSingle, 1, kMkl}, Case{kZero3, 1, kMkl},
                                         Case{kZero3, 2, kMkl}, Case{kZero3, 3, kMkl},
                                         Case{kZero3, 4, kMkl}, Case{kSingle, 1, kOneDnn},
                                         Case{kZero3, 2, kOneDnn}, Case{kZero3, 3, kOneDnn}),
                         [](const auto& tested) {
                             return std::string(tested.param.strategy == kSingle ? "Single"
                                                                                 : "Zero3") +
                                    "x" + std::to_string(tested.param.ranks) +
                                    kernels::toWord(tested.param.library);
                         });

}  // namespace
}  // namespace shardscope
