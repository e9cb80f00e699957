#include "app/desktop/pages/timeline/details/communication_headline.h"

#include <gtest/gtest.h>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// Two ranks, ten milliseconds, of another tool unless it has a model.
OpenRecording recordingOf(const char* model, std::uint64_t collectives) {
    OpenRecording recording;
    recording.summary.bounds = {{0}, {10'000'000}};
    recording.summary.run.model = model;
    recording.summary.run.worldSize = 2;
    recording.summary.events.collectives = collectives;
    return recording;
}

TEST(CommunicationHeadline, SaysWhatOfItIsWaiting) {
    CommunicationFacts facts;
    facts.sum.collectives = 3;
    facts.sum.moving = {6'000'000};
    facts.sum.waiting = {2'000'000};
    facts.sum.longestWait = {1'000'000};
    facts.sum.waitingRank = {1};
    const RangeTexts texts = rangeTexts(recordingOf("m", 3), {}, facts);
    EXPECT_EQ(texts.headline,
              u"Whole run: 3 collectives take 8.00\u2009ms, of which "
              u"2.00\u2009ms (25.0\u2009%) is waiting for a peer."_s);
    EXPECT_EQ(texts.subline, u"Longest single wait: 1.00\u2009ms, on rank 1."_s);
    facts.sum.waitingInValidation = {500'000};
    EXPECT_EQ(rangeTexts(recordingOf("m", 3), {}, facts).subline,
              texts.subline +
                  u" Of the waiting 500\u2009µs is in validation passes, which Overview "
                  "and report leave out."_s);
}

TEST(CommunicationHeadline, NoneIsNotTheSameAsNotRecorded) {
    EXPECT_EQ(rangeTexts(recordingOf("m", 3), {}, {}).headline,
              u"Whole run: no collective in 10.0\u2009ms."_s);
    const RangeTexts level = rangeTexts(recordingOf("m", 0), {}, {});
    EXPECT_EQ(level.headline, u"Whole run: 10.0\u2009ms, collectives not recorded."_s);
    EXPECT_TRUE(level.subline.contains(u"capture level"_s));
    const RangeTexts trace = rangeTexts(recordingOf("", 0), {}, {});
    EXPECT_EQ(trace.headline, level.headline);
    EXPECT_TRUE(trace.subline.contains(u"kind of trace"_s));
}

TEST(CommunicationHeadline, OneRankHasNoPeer) {
    OpenRecording recording = recordingOf("m", 0);
    recording.summary.run.worldSize = 1;
    EXPECT_TRUE(rangeTexts(recording, {}, {}).headline.contains(u"no peer"_s));
}

TEST(CommunicationHeadline, KernelsOfCollectivesAreCommunicationToo) {
    CommunicationFacts facts;
    facts.kernels = 14;
    facts.kernelTime = {4'000'000};
    const RangeTexts texts = rangeTexts(recordingOf("", 0), {}, facts);
    EXPECT_EQ(texts.headline,
              u"Whole run: 14 communication kernels take 4.00\u2009ms of 10.0\u2009ms."_s);
    EXPECT_TRUE(texts.subline.startsWith(u"How much of it is waiting for a peer is unknown."_s));
}

TEST(CommunicationHeadline, StepsThatWereNotKeptAreSaid) {
    OpenRecording recording = recordingOf("m", 3);
    for (int step = 0; step < 3; ++step) {
        StepFacts facts;
        facts.step = {step};
        facts.start = {step * 1'000'000};
        facts.end = {(step + 1) * 1'000'000};
        recording.summary.steps.push_back(facts);
    }
    DetailFacts left;
    left.rank = {0};
    left.first = {1};
    left.last = {1};
    left.level = CaptureLevel::kSteps;
    recording.summary.detail.push_back(left);
    Selection selection;
    selection.steps = StepSpan{{1}, {1}};
    EXPECT_EQ(rangeTexts(recording, selection, {}).headline,
              u"Step 1: 1.00\u2009ms, collectives not recorded."_s);
    selection.steps = StepSpan{{2}, {2}};
    EXPECT_EQ(rangeTexts(recording, selection, {}).headline,
              u"Step 2: no collective in 1.00\u2009ms."_s);
}

}  // namespace
}  // namespace shardscope::desktop
