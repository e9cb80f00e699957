#include "profiler/planning/model_parallel.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace shardscope::planning {
namespace {

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
