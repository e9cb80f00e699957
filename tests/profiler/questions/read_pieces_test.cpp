#include "profiler/questions/read_pieces.h"

#include "profiler/questions/report_reader.h"
#include "storage/recording/read/recording_reader.h"
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
        EXPECT_EQ(parts, row.parts) << "rank " << row.rank.value << " step " << row.step.value;
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

}  // namespace
}  // namespace shardscope::questions
