// Stacks of two recordings as one tree: a step of a rank in each is what `flame` says of all.
#include "profiler/questions/read_stacks.h"
#include "tests/profiler/questions/asking.h"

namespace shardscope::questions {
namespace {

class StackDifferenceTest : public Questions {
protected:
    void recordOther(const test::SampleOptions& options) {
        const std::string path = m_folder.file("other.sscope");
        ASSERT_TRUE(test::writeSampleRecording(path, options));
        m_other = std::move(*storage::openRecording(path));
    }
    StackDifference read(const Selection& selection = {},
                         std::optional<StackKind> wanted = std::nullopt) {
        auto made = readStackDifference(*m_reader, *m_other, selection, wanted);
        EXPECT_TRUE(made) << (made ? "" : made.error().message);
        return std::move(*made);
    }
    static double selfTime(storage::RecordingReader& reader, StackKind kind, Selection selection) {
        const RecordingSummary summary = *selection.of(*reader.summary());
        return static_cast<double>(
            readStacks({reader, summary, selection}, kind)->merged.total().ns);
    }

    std::unique_ptr<storage::RecordingReader> m_other;
};

Selection steps(std::int32_t first, std::int32_t last) {
    Selection selection;
    selection.steps = {{StepIndex{first}, StepIndex{last}}};
    return selection;
}

TEST_F(StackDifferenceTest, IsOfAStepOfARank) {
    record();
    recordOther({.ranks = 4, .steps = 6, .operatorRounds = 4});
    const StackDifference made = read();
    EXPECT_EQ(made.kind, StackKind::kOperators);
    EXPECT_EQ(made.stepsBefore, 20u);
    EXPECT_EQ(made.stepsAfter, 24u);
    EXPECT_NEAR(made.stacks.times[0].before * 20,
                selfTime(*m_reader, StackKind::kOperators, steps(0, 1000)), 1);
    EXPECT_NEAR(made.stacks.times[0].after * 24,
                selfTime(*m_other, StackKind::kOperators, steps(0, 1000)), 1);
    EXPECT_GT(made.stacks.times[0].after, 0);
}

TEST_F(StackDifferenceTest, FollowsTheSelectionAndTheKind) {
    record();
    recordOther({});
    Selection part = steps(2, 4);
    part.ranks = {RankId{1}};
    const StackDifference made = read(part, StackKind::kPhases);
    EXPECT_EQ(made.kind, StackKind::kPhases);
    EXPECT_EQ(made.stepsBefore, 3u);
    EXPECT_NEAR(made.stacks.times[0].before * 3, selfTime(*m_reader, StackKind::kPhases, part), 1);
    for (const auto& times : made.stacks.times) EXPECT_DOUBLE_EQ(times.before, times.after);
    EXPECT_FALSE(readStackDifference(*m_reader, *m_other, steps(50, 60), {}));
}

TEST_F(StackDifferenceTest, TakesWhatOneOfThemHasNot) {
    record();
    recordOther({.operators = false});
    const StackDifference made = read();
    EXPECT_EQ(made.kind, StackKind::kPhases) << "the first that both have";
    const StackDifference wanted = read({}, StackKind::kOperators);
    EXPECT_EQ(wanted.kind, StackKind::kOperators);
    EXPECT_EQ(wanted.lanesAfter, 0u);
    EXPECT_DOUBLE_EQ(wanted.stacks.times[0].after, 0);
    EXPECT_GT(wanted.stacks.times[0].before, 0);
}

TEST_F(StackDifferenceTest, WithoutStepsItIsOfAllOfIt) {
    record();
    recordOther({.steps = 0});
    const StackDifference made = read();
    EXPECT_EQ(made.stepsAfter, 0u);
    EXPECT_EQ(made.stepsBefore, 20u);
}

}  // namespace
}  // namespace shardscope::questions
