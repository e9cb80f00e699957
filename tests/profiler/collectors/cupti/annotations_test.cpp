#include "profiler/collectors/cupti/annotations.h"

#include "tests/profiler/collectors/cupti/fake_cupti.h"

#include <gtest/gtest.h>

#include <thread>

namespace shardscope::collectors::cupti {
namespace {

using capture::AnnotationStack;

class AnnotationsTest : public testing::Test {
protected:
    AnnotationsTest() {
        setAnnotationTarget(&cupti);
        setAnnotating(true);
    }
    ~AnnotationsTest() override {
        setAnnotating(false);
        setAnnotationTarget(nullptr);
    }
    static void push(std::uint64_t id, AnnotationStack stack = AnnotationStack::kContext) {
        annotator().push(stack, id);
    }
    static void pop(AnnotationStack stack = AnnotationStack::kContext) { annotator().pop(stack); }
    FakeCupti cupti;
};

TEST_F(AnnotationsTest, StacksAreCustom0And1) {
    push(7);
    push(8, AnnotationStack::kNcclLaunch);
    pop(AnnotationStack::kNcclLaunch);
    pop();
    EXPECT_EQ(cupti.pushed, (std::vector<std::pair<std::uint32_t, std::uint64_t>>{
                                {CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 7},
                                {CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1, 8}}));
    EXPECT_EQ(cupti.pops, 2);
}

TEST_F(AnnotationsTest, BalanceWhateverTheLevelDoes) {
    setAnnotating(false);
    push(1);
    setAnnotating(true);
    push(2);
    setAnnotating(false);
    pop();
    setAnnotating(true);
    pop();
    pop();  // one too many
    EXPECT_EQ(cupti.pushed.size(), 1u);
    EXPECT_EQ(cupti.pops, 1);
}

TEST_F(AnnotationsTest, DeepNestingIsCutButBalances) {
    for (std::uint64_t i = 0; i < 100; ++i) push(i);
    for (int i = 0; i < 100; ++i) pop();
    EXPECT_EQ(cupti.pushed.size(), 64u);
    EXPECT_EQ(cupti.pops, 64);
}

TEST_F(AnnotationsTest, AnIdHoldsEveryPhaseOfAnyStepAndLayer) {
    for (const Phase phase : kAll<Phase>) {
        const capture::LaunchContext context{{16'000'000}, kRootLayer, phase, {500'000}};
        EXPECT_EQ(capture::unpack(capture::pack(context)), context) << toWord(phase);
    }
    const capture::LaunchContext tooLarge{{1 << 24}, {0}, Phase::kSample, {1 << 19}};
    const capture::LaunchContext none{kNoStep, {0}, Phase::kSample, kEmptyString};
    EXPECT_EQ(capture::unpack(capture::pack(tooLarge)), none);
}

TEST_F(AnnotationsTest, InnermostOfThisThread) {
    const capture::LaunchContext outer{{1}, {2}, Phase::kForward, {3}};
    const capture::LaunchContext inner{{1}, {2}, Phase::kForward, {4}};
    EXPECT_EQ(threadAnnotations().context, capture::LaunchContext{});
    EXPECT_EQ(threadAnnotations().ncclLaunch, 0u);
    push(capture::pack(outer));
    push(capture::pack(inner));
    push(55, AnnotationStack::kNcclLaunch);
    EXPECT_EQ(threadAnnotations().context, inner);
    EXPECT_EQ(threadAnnotations().ncclLaunch, 55u);
    std::thread([] { EXPECT_EQ(threadAnnotations().context, capture::LaunchContext{}); }).join();
    pop(AnnotationStack::kNcclLaunch);
    pop();
    EXPECT_EQ(threadAnnotations().context, outer);
    pop();
}

TEST_F(AnnotationsTest, NothingWithoutATarget) {
    setAnnotationTarget(nullptr);
    push(1);
    pop();
    EXPECT_TRUE(cupti.pushed.empty());
    EXPECT_EQ(cupti.pops, 0);
}

}  // namespace
}  // namespace shardscope::collectors::cupti
