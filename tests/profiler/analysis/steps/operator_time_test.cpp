// What of drawn steps lies outside of operators.
#include "profiler/analysis/steps/operator_time.h"

#include "tests/support/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace shardscope::analysis {
namespace {

using test::drawTimeline;
using test::kTick;

Duration ticks(std::int64_t count) {
    return {count * kTick.ns};
}

/// Spans of one thread, a run of letters each.
void addThread(const std::string& drawn, OperatorCover& cover) {
    cover.beginThread();
    for (std::size_t at = 0; at < drawn.size();) {
        const std::size_t end = std::min(drawn.find_first_not_of(drawn[at], at), drawn.size());
        SpanEvent span;
        span.start = Timestamp{static_cast<std::int64_t>(at) * kTick.ns};
        span.duration = Duration{static_cast<std::int64_t>(end - at) * kTick.ns};
        if (drawn[at] != '.') cover.add(span);
        at = end;
    }
}

OperatorTime timeOf(const std::string& picture, const std::vector<std::string>& threads,
                    std::size_t step = 0) {
    const auto drawn = drawTimeline(picture);
    OperatorCover cover(drawn.summary.steps.at(step));
    for (const std::string& each : threads) addThread(each, cover);
    return cover.timeOf(drawn.ranks.at(0));
}

TEST(OperatorTime, IsWhatNoThreadHasAnOperatorIn) {
    const OperatorTime time = timeOf(R"(
        rank 0 step    |ssssssssssssssss|
        rank 0 compute |fffffffbbbbbbboo|
    )",
                                     {"aa..bb..........", ".......aa.bbb..."});
    EXPECT_EQ(time.wall, ticks(16));
    EXPECT_EQ(time.outside, ticks(7));
    EXPECT_EQ(time.operators, 4);
    EXPECT_EQ(time.inOperators, ticks(9));
    EXPECT_EQ(time.inLongGaps, Duration{}) << "none of them lasts a millisecond";
    EXPECT_DOUBLE_EQ(time.share(), 7.0 / 16);
}

TEST(OperatorTime, OfWaitsDataAndCollectivesIsNone) {
    const OperatorTime time = timeOf(R"(
        rank 0 step    |ssssssssssssssss|
        rank 0 comm    |.......-aa......|
        rank 0 compute |ddffff......rrbb|
    )",
                                     {"...a.............."});
    // Two ticks of data, one of the operator, three of the collective, two of the wait.
    EXPECT_EQ(time.outside, ticks(8));
}

TEST(OperatorTime, OfAnOperatorOverTheStepsEndIsOnlyWhatLiesWithin) {
    const std::string picture = R"(
        rank 0 step    |ssss1sss|
        rank 0 compute |ffffffff|
    )";
    const OperatorTime first = timeOf(picture, {"..aaaa.."}),
                       next = timeOf(picture, {"..aaaa.."}, 1);
    EXPECT_EQ(first.outside, ticks(2));
    EXPECT_EQ(first.operators, 1);
    EXPECT_EQ(next.outside, ticks(2));
    EXPECT_EQ(next.operators, 0) << "it began in the step before";
}

TEST(OperatorTime, CountsOutermostOperators) {
    const auto drawn = drawTimeline("rank 0 step |ssssssss|\n");
    OperatorCover cover(drawn.summary.steps.at(0));
    const auto add = [&](std::int64_t from, std::int64_t length) {
        SpanEvent span;
        span.start = Timestamp{from * kTick.ns};
        span.duration = ticks(length);
        cover.add(span);
    };
    add(1, 4);
    add(1, 2);
    add(3, 1);
    add(5, 1);
    const OperatorTime time = cover.timeOf(drawn.ranks.at(0));
    EXPECT_EQ(time.operators, 2);
    EXPECT_EQ(time.inOperators, ticks(5));
    EXPECT_EQ(time.outside, ticks(3));
}

TEST(OperatorTime, TellsLongGapsFromTheWayToAnOperator) {
    StepFacts step;
    step.end = Timestamp{5'000'000};
    OperatorCover cover(step);
    SpanEvent span;
    span.start = Timestamp{3'000'000};
    span.duration = Duration{1'500'000};
    cover.add(span);
    const OperatorTime time = cover.timeOf({});
    EXPECT_EQ(time.outside, Duration{3'500'000});
    EXPECT_EQ(time.inLongGaps, Duration{3'000'000});
}

TEST(OperatorTime, OfRangesIsNone) {
    const SpanEvent plain;
    for (const char* range : {"Optimizer.step#SGD.step", "FSDP::all_gather (blocks.0)",
                              "DistributedDataParallel.forward", "torch.distributed.Work.wait",
                              "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                              "PythonDispatchMode", "my range", "::", ""})
        EXPECT_FALSE(isOperator(range, plain)) << range;
    for (const char* name : {"aten::empty", "_c10d_functional::wait_tensor", "c10d::allreduce_",
                             "torch::autograd::AccumulateGrad"})
        EXPECT_TRUE(isOperator(name, plain)) << name;
    SpanEvent node;
    node.correlation = 7;
    EXPECT_TRUE(isOperator("MmBackward0", node));
    SpanEvent shaped;
    shaped.arguments = {3};
    EXPECT_TRUE(isOperator("CompiledFunction", shaped));
}

}  // namespace
}  // namespace shardscope::analysis
