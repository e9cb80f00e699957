// FLOPs of drawn operators, and what counts of operators within others.
#include "profiler/analysis/device/operator_flops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace shardscope::analysis {
namespace {

std::optional<double> all(const char* name, std::vector<Shape> shapes,
                          std::vector<Shape> lists = {}) {
    const auto flops = flopsOf(name, {std::move(shapes), {}, std::move(lists)});
    return flops ? std::optional(flops->all) : std::nullopt;
}

// mm, addmm, bmm, baddbmm as flop_counter.py has them.
TEST(OperatorFlops, OfMatrixProducts) {
    EXPECT_EQ(all("aten::mm", {{3, 5}, {5, 7}}), 2.0 * 3 * 5 * 7);
    EXPECT_EQ(all("aten::addmm", {{7}, {3, 5}, {5, 7}}), 2.0 * 3 * 5 * 7);
    EXPECT_EQ(all("aten::bmm", {{2, 3, 5}, {2, 5, 7}}), 2.0 * 2 * 3 * 5 * 7);
    EXPECT_EQ(all("aten::baddbmm", {{2, 3, 7}, {2, 3, 5}, {2, 5, 7}}), 2.0 * 2 * 3 * 5 * 7);
    EXPECT_EQ(all("aten::_addmm_activation", {{7}, {3, 5}, {5, 7}}), 2.0 * 3 * 5 * 7);
}

TEST(OperatorFlops, OfNothingAreNone) {
    EXPECT_EQ(all("aten::mm", {{0, 5}, {5, 7}}), 0.0);
    EXPECT_EQ(all("aten::bmm", {{0, 3, 5}, {0, 5, 7}}), 0.0);
    EXPECT_EQ(all("aten::convolution", {{0, 3, 8, 8}, {4, 3, 3, 3}},
                  {{1, 1}, {0, 0}, {1, 1}, {0}, {0, 0}, {1}}),
              0.0);
    EXPECT_EQ(all("aten::_scaled_dot_product_flash_attention_for_cpu",
                  {{2, 0, 4, 8}, {2, 0, 4, 8}, {2, 0, 4, 8}}),
              0.0);
}

TEST(OperatorFlops, OfShapesThatDoNotFitAreUnknown) {
    EXPECT_FALSE(all("aten::mm", {}));
    EXPECT_FALSE(all("aten::mm", {{3, 5}}));
    EXPECT_FALSE(all("aten::mm", {{3, 5}, {6, 7}}));
    EXPECT_FALSE(all("aten::mm", {{3}, {3}}));
    EXPECT_FALSE(all("aten::mm", {{-3, 5}, {5, 7}}));
    EXPECT_FALSE(all("aten::bmm", {{2, 3, 5}, {3, 5, 7}}));
    EXPECT_FALSE(all("aten::addmm", {{3, 5}, {5, 7}}));
    EXPECT_FALSE(
        all("aten::_scaled_dot_product_flash_attention", {{3, 4, 8}, {3, 4, 8}, {3, 4, 8}}));
    EXPECT_FALSE(all("aten::_scaled_dot_product_flash_attention",
                     {{2, 3, 4, 8}, {2, 3, 4, 9}, {2, 3, 4, 8}}));
    EXPECT_FALSE(all("aten::_scaled_dot_product_flash_attention",
                     {{2, 3, 4, 8}, {2, 2, 4, 8}, {2, 2, 4, 8}}));
    EXPECT_FALSE(all("aten::convolution", {{2, 3, 8, 8}, {4, 3, 3, 3}}));
    EXPECT_FALSE(all("aten::convolution", {{2, 3, 8, 8}, {4, 3, 3, 3}},
                     {{0, 0}, {0, 0}, {1, 1}, {0}, {0, 0}, {1}}));
    EXPECT_FALSE(all("aten::convolution", {{2, 3, 2, 2}, {4, 3, 3, 3}},
                     {{1, 1}, {0, 0}, {1, 1}, {0}, {0, 0}, {1}}));
    EXPECT_FALSE(all("aten::convolution", {{2, 3, 8, 8}, {4, 3, 3, 3}},
                     {{1, 1}, {std::int64_t{1} << 62, 0}, {1, 1}, {0}, {0, 0}, {1}}));
    EXPECT_FALSE(all("aten::convolution", {{2, 3, 8, 8}, {4, 3, 3}},
                     {{1, 1}, {0, 0}, {1, 1}, {0}, {0, 0}, {1}}));
    EXPECT_FALSE(all("aten::convolution_backward", {{2, 4, 6, 6}, {2, 3, 8, 8}, {4, 3, 3, 3}},
                     {{1, 1}, {0, 0}, {1, 1}, {0}, {0, 0}, {1}}));
    EXPECT_FALSE(all("aten::add", {{3}, {3}}));
}

// Query [b, h, s_q, d_q]: 2 b h s_q s_k d_q + 2 b h s_q s_k d_v.
TEST(OperatorFlops, OfAttention) {
    const double scores = 2.0 * 2 * 3 * 4 * 6 * 8, values = 2.0 * 2 * 3 * 4 * 6 * 16;
    EXPECT_EQ(all("aten::_scaled_dot_product_efficient_attention",
                  {{2, 3, 4, 8}, {2, 3, 6, 8}, {2, 3, 6, 16}}),
              scores + values);
    const auto backward =
        flopsOf("aten::_scaled_dot_product_flash_attention_for_cpu_backward",
                {{{2, 3, 4, 16}, {2, 3, 4, 8}, {2, 3, 6, 8}, {2, 3, 6, 16}}, {}, {}});
    ASSERT_TRUE(backward);
    EXPECT_EQ(backward->all, 3 * scores + 2 * values);
    EXPECT_EQ(backward->again, scores);
    // Keys of one head stand for those of four.
    EXPECT_EQ(all("aten::_scaled_dot_product_flash_attention",
                  {{2, 4, 4, 8}, {2, 1, 4, 8}, {2, 1, 4, 8}}),
              2 * 2.0 * 2 * 4 * 4 * 4 * 8);
}

TEST(OperatorFlops, OfConvolutions) {
    // 3x3 with stride 2 and padding 1 over 9x7: 5x4 positions.
    const std::vector<Shape> lists{{2, 2}, {1, 1}, {1, 1}, {0}, {0, 0}, {1}};
    const double forward = 2.0 * 2 * (5 * 4) * (4 * 3 * 3 * 3);
    EXPECT_EQ(all("aten::convolution", {{2, 3, 9, 7}, {4, 3, 3, 3}}, lists), forward);
    EXPECT_EQ(
        all("aten::convolution", {{2, 3, 9, 7}, {4, 3, 3, 3}, {4}}, {{2}, {1}, {1}, {0}, {0}, {1}}),
        forward);
    // Dilation 2: 9 - 4 = 5 positions. Groups: the weight has a group's channels.
    EXPECT_EQ(all("aten::convolution", {{1, 4, 9}, {6, 2, 3}}, {{1}, {0}, {2}, {0}, {0}, {2}}),
              2.0 * 5 * 6 * 2 * 3);
    // Transposed, over the positions of the input.
    EXPECT_EQ(all("aten::convolution", {{2, 3, 5}, {3, 4, 3}}, {{2}, {0}, {1}, {1}, {0}, {1}}),
              2.0 * 2 * 5 * 3 * 4 * 3);
}

TEST(OperatorFlops, OfTheGradientsThatAConvolutionIsAskedFor) {
    const double forward = 2.0 * 2 * (5 * 4) * (4 * 3 * 3 * 3);
    const std::vector<Shape> shapes{{2, 4, 5, 4}, {2, 3, 9, 7}, {4, 3, 3, 3}};
    std::vector<Shape> lists{{4}, {2, 2}, {1, 1}, {1, 1}, {0}, {0, 0}, {1}, {1, 1, 1}};
    EXPECT_EQ(all("aten::convolution_backward", shapes, lists), 2 * forward);
    lists.back() = {0, 1, 1};
    EXPECT_EQ(all("aten::convolution_backward", shapes, lists), forward);
    lists.back() = {0, 0, 1};
    EXPECT_EQ(all("aten::convolution_backward", shapes, lists), 0.0);
    lists.erase(lists.begin());  // a bias without sizes
    EXPECT_EQ(all("aten::convolution_backward", shapes, lists), 0.0);
    // Transposed: the input's positions.
    EXPECT_EQ(all("aten::convolution_backward", {{2, 4, 11}, {2, 3, 5}, {3, 4, 3}},
                  {{2}, {0}, {1}, {1}, {0}, {1}, {1, 1, 0}}),
              2 * 2.0 * 2 * 5 * 3 * 4 * 3);
}

TEST(OperatorFlops, KnowTypesOfBothSpellings) {
    const auto type = [](std::vector<std::string> types) {
        return flopsOf("aten::mm", {{{3, 5}, {5, 7}}, std::move(types), {}})->type;
    };
    EXPECT_EQ(type({"BFloat16", "BFloat16"}), ProductType::kBFloat);
    EXPECT_EQ(type({"float", "float"}), ProductType::kFloat);
    EXPECT_EQ(type({"Float", "Float"}), ProductType::kFloat);
    EXPECT_EQ(type({"Float", "UInt4"}), ProductType::kOther);
    EXPECT_EQ(type({"Float"}), ProductType::kUnknown);
    EXPECT_EQ(type({}), ProductType::kUnknown);
}

TEST(OperatorFlops, NameWhatMultipliesAndIsNotCounted) {
    EXPECT_EQ(flopRuleOf("aten::mm"), FlopRule::kCounted);
    EXPECT_EQ(flopRuleOf("aten::linear"), FlopRule::kNone);
    EXPECT_EQ(flopRuleOf("aten::scaled_dot_product_attention"), FlopRule::kNone);
    EXPECT_EQ(flopRuleOf("aten::convolution"), FlopRule::kCounted);
    EXPECT_EQ(flopRuleOf("aten::cudnn_convolution"), FlopRule::kUnknown);
    EXPECT_EQ(flopRuleOf("mkldnn::_linear_pointwise"), FlopRule::kUnknown);
    EXPECT_EQ(flopRuleOf("CompiledFunction"), FlopRule::kCompiled);
    EXPECT_EQ(flopRuleOf("AddmmBackward0"), FlopRule::kNone);
}

SpanEvent span(std::int64_t start, std::int64_t end, Phase phase = Phase::kForward,
               std::uint64_t correlation = 0) {
    SpanEvent event;
    event.start = {start};
    event.duration = {end - start};
    event.phase = phase;
    event.correlation = correlation;
    return event;
}

TEST(ThreadFlops, TakeTheOuterOneOfTwo) {
    StepFlops sum;
    ThreadFlops thread(sum);
    thread.add(span(10, 20), OperatorFlops{100, 0, ProductType::kFloat});
    EXPECT_TRUE(thread.covers(span(10, 15)));
    EXPECT_TRUE(thread.covers(span(19, 20)));
    EXPECT_FALSE(thread.covers(span(20, 21)));
    EXPECT_EQ(sum.forward, 100);
    EXPECT_TRUE(sum.isWhole());
    thread.add(span(20, 30), std::nullopt);
    EXPECT_TRUE(thread.covers(span(25, 26)));
    EXPECT_EQ(sum.unknown, 1);
    EXPECT_FALSE(sum.isWhole());
}

TEST(ThreadFlops, TellForwardBackwardAndWhatIsComputedAgain) {
    StepFlops sum;
    ThreadFlops thread(sum);
    const OperatorFlops flops{100, 0, ProductType::kFloat};
    thread.add(span(0, 1, Phase::kForward, 7), flops);
    thread.add(span(1, 2, Phase::kBackward), flops);
    thread.add(span(2, 3, Phase::kBackward, 9), flops);  // a checkpointed block's
    thread.add(span(3, 4, Phase::kBackward), OperatorFlops{50, 10, ProductType::kFloat});
    thread.add(span(4, 5, Phase::kOptimizer), flops);
    EXPECT_EQ(sum.forward, 100);
    EXPECT_EQ(sum.backward, 250);
    EXPECT_EQ(sum.again, 110);
    EXPECT_EQ(sum.other, 100);
    EXPECT_EQ(sum.executed(), 350);
    EXPECT_EQ(sum.needed(), 240);
    EXPECT_EQ(sum.byType[static_cast<std::size_t>(ProductType::kFloat)], 350);
}

TEST(ThreadFlops, KnowBackwardByItsNodesWherePhasesAreNotRecorded) {
    StepFlops sum;
    ThreadFlops thread(sum);
    const OperatorFlops flops{1, 0, ProductType::kFloat};
    thread.add(span(0, 1, Phase::kNone, 5), flops);
    thread.addNode(span(10, 20, Phase::kNone));
    thread.add(span(12, 14, Phase::kNone, 5), flops);
    thread.add(span(20, 22, Phase::kNone), flops);
    EXPECT_EQ(sum.forward, 2);
    EXPECT_EQ(sum.backward, 1);
    EXPECT_EQ(sum.again, 0);
}

}  // namespace
}  // namespace shardscope::analysis
