#include "profiler/questions/read_pieces.h"

#include "profiler/analysis/report/report.h"
#include "profiler/questions/read_stacks.h"
#include "profiler/questions/report_reader.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/read/recording_reader.h"
#include "tests/profiler/questions/asking.h"
#include "tests/support/sample_recording.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace shardscope::questions {
namespace {

using analysis::LedgerParts;

/// Of every step, by phases and by devices: the pieces are the ledger's row, in order of time.
void expectPiecesAreTheLedger(const test::SampleOptions& options) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    ASSERT_TRUE(test::writeSampleRecording(path, options));
    auto reader = storage::openRecording(path).value();
    const RecordingSummary summary = reader->summary().value();
    const auto report = readReport(*reader, summary);
    ASSERT_TRUE(report);
    ASSERT_FALSE(report->ledger.empty());
    for (const analysis::LedgerRow& row : report->ledger) {
        const auto steps = readStep(*reader, summary, row.step, 8);
        ASSERT_TRUE(steps);
        const auto own = std::find_if(steps->begin(), steps->end(), [&](const StepOfRank& each) {
            return each.step.rank == row.rank;
        });
        ASSERT_NE(own, steps->end());
        LedgerParts parts{};
        Timestamp reached = own->step.start;
        for (const analysis::LedgerPiece& piece : own->pieces) {
            EXPECT_EQ(piece.range.begin, reached) << "no gaps";
            reached = piece.range.end;
            parts[analysis::at(piece.part)] += piece.range.duration();
        }
        EXPECT_EQ(reached, own->step.end);
        // What was without a core has no place in the step: it is out of the row's parts alone.
        Duration taken = analysis::takenFrom(row.parts);
        for (std::size_t part = 0; part < parts.size(); ++part) {
            const bool isTaken = part == analysis::at(analysis::LedgerPart::kNoCore) ||
                                 part == analysis::at(analysis::LedgerPart::kStolen);
            if (isTaken) continue;
            EXPECT_GE(parts[part], row.parts[part]);
            taken -= parts[part] - row.parts[part];
        }
        EXPECT_EQ(taken.ns, 0) << "rank " << row.rank.value << " step " << row.step.value;
    }
}

TEST(ReadPieces, OfPhasesAddUpToTheLedger) {
    expectPiecesAreTheLedger({.steps = 4, .evaluateEvery = 2});
}

TEST(ReadPieces, OfDevicesAddUpToTheLedger) {
    expectPiecesAreTheLedger({.steps = 4, .gpu = true});
}

TEST(ReadPieces, AreOfTheFirstRanksThatHaveTheStep) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    ASSERT_TRUE(test::writeSampleRecording(path, {.ranks = 4, .steps = 3}));
    auto reader = storage::openRecording(path).value();
    const RecordingSummary summary = reader->summary().value();
    const auto steps = readStep(*reader, summary, StepIndex{1}, 3);
    ASSERT_TRUE(steps);
    ASSERT_EQ(steps->size(), 3u);
    EXPECT_EQ(steps->back().step.rank, RankId{2});
    EXPECT_TRUE(readStep(*reader, summary, StepIndex{99}, 3)->empty());
}

struct Read {
    RecordingSummary summary;
    std::vector<RankEvents> ranks;
    std::vector<analysis::RankGrowth> growths;
};

Read readSample(const test::SampleOptions& options) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("sample.sscope");
    EXPECT_TRUE(test::writeSampleRecording(path, options));
    const auto reader = storage::openRecording(path);
    Read read;
    read.summary = *(*reader)->summary();
    const TimeRange whole{read.summary.bounds.begin, {read.summary.bounds.end.ns + 1}};
    for (const RankFacts& rank : read.summary.ranks)
        read.ranks.push_back(*(*reader)->rankEvents(rank.rank, whole));
    read.growths = *memoryGrowths(**reader, read.summary, read.ranks);
    return read;
}

bool findsGrowth(const Read& read) {
    const auto report = analysis::analyse(read.summary, read.ranks, {}, read.growths);
    return std::any_of(report.findings.begin(), report.findings.end(),
                       [](const auto& finding) { return finding.code == "memory-growth"; });
}

TEST(MemoryGrowths, AreThoseOfALeak) {
    test::SampleOptions options;
    options.steps = 20;
    options.leakBytes = 4'000'000;
    const Read read = readSample(options);
    ASSERT_EQ(read.growths.size(), 2u);
    EXPECT_TRUE(read.growths[0].growth.grows);
    EXPECT_EQ(read.growths[0].growth.perStep.count, 4'000'000);
    EXPECT_TRUE(findsGrowth(read));
}

TEST(MemoryGrowths, AreNoneOfARunThatFreesAll) {
    test::SampleOptions options;
    options.steps = 20;
    EXPECT_FALSE(findsGrowth(readSample(options)));
    options.memory = false;
    EXPECT_TRUE(readSample(options).growths.empty());
}

TEST(MemoryGrowths, OfFewStepsAreNotTold) {
    test::SampleOptions options;
    options.steps = 7;
    options.leakBytes = 4'000'000;
    EXPECT_TRUE(readSample(options).growths.empty());
}

// Stacks of two recordings as one tree: a step of a rank in each is what `flame` says of all.

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
