// Orders of ranks: of the Timeline's rows, and of the Overview's heat map.
#include "app/desktop/models/rank_order.h"

#include "app/desktop/pages/overview/overview_model.h"
#include "app/desktop/pages/timeline/details/communication_headline.h"
#include "app/desktop/widgets/pictures/heat_map.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/app/desktop/window_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using analysis::LedgerPart;

analysis::LedgerRow row(std::uint32_t rank, std::int32_t step, std::int64_t wall,
                        std::int64_t data) {
    analysis::LedgerRow made{{rank}, {step}, {wall}};
    made.parts[analysis::at(LedgerPart::kData)] = {data};
    return made;
}

const RankFigure* find(const std::vector<RankFigure>& figures, const QString& name) {
    const auto at = std::find_if(figures.begin(), figures.end(),
                                 [&](const RankFigure& figure) { return figure.name == name; });
    return at == figures.end() ? nullptr : &*at;
}

TEST(RankOrder, IsBySumsOverStepsHighestFirst) {
    analysis::Report report;
    report.ledger = {row(0, 0, 10, 1), row(1, 0, 30, 2), row(2, 0, 30, 9),
                     row(0, 1, 25, 1), row(1, 1, 30, 8), row(2, 1, 1, 0)};
    const auto figures = rankFigures(report);
    const RankFigure* step = find(figures, QStringLiteral("step time"));
    ASSERT_NE(step, nullptr);
    EXPECT_EQ(highestFirst(*step), (std::vector<RankId>{{1}, {0}, {2}}));
    const RankFigure* data = find(figures, QString::fromLatin1(toWord(LedgerPart::kData)));
    ASSERT_NE(data, nullptr);
    EXPECT_EQ(highestFirst(*data), (std::vector<RankId>{{1}, {2}, {0}}));
}

TEST(RankOrder, LeavesOutWhatNoRankHas) {
    analysis::Report report;
    report.ledger = {row(0, 0, 10, 0), row(1, 0, 30, 0)};
    report.memory.resize(2);  // not known
    report.memory[1].rank = {1};
    report.memory[1].peak = {7};
    const auto figures = rankFigures(report);
    ASSERT_EQ(figures.size(), 1u);
    EXPECT_EQ(figures[0].name, QStringLiteral("step time"));
}

TEST(RankOrder, OfOneRankThereIsNone) {
    analysis::Report report;
    report.ledger = {row(0, 0, 10, 4)};
    EXPECT_TRUE(rankFigures(report).empty());
}

TEST(RankOrder, OfTracesIsByDevicesAndMemory) {
    analysis::Report report;
    for (const std::uint32_t rank : {0u, 1u}) {
        analysis::DeviceUse use;
        use.device.rank = {rank};
        use.traced = true;
        use.idle = {100 + rank};
        report.devices.push_back(use);
        analysis::RankMemory memory;
        memory.rank = {rank};
        memory.peak = {9 - static_cast<std::int64_t>(rank)};
        memory.known = true;
        report.memory.push_back(memory);
    }
    const auto figures = rankFigures(report);
    const RankFigure* idle = find(figures, QStringLiteral("idle"));
    ASSERT_NE(idle, nullptr);
    EXPECT_EQ(highestFirst(*idle), (std::vector<RankId>{{1}, {0}}));
    const RankFigure* peaks = find(figures, QStringLiteral("peak memory"));
    ASSERT_NE(peaks, nullptr);
    EXPECT_EQ(highestFirst(*peaks), (std::vector<RankId>{{0}, {1}}));
    EXPECT_EQ(find(figures, QStringLiteral("compute")), nullptr);
}

TEST(LedgerHeatOrder, PutsRanksWithTheHighestShareFirst) {
    const std::vector<analysis::LedgerRow> ledger{row(0, 4, 100, 10), row(1, 4, 100, 30),
                                                  row(2, 4, 1000, 200), row(0, 5, 100, 10),
                                                  row(1, 5, 100, 40)};
    const HeatChoice data{QStringLiteral("data"), LedgerPart::kData};
    const LedgerHeat byRank = ledgerAxes(ledger, data, HeatOrder::kByRank);
    EXPECT_EQ(byRank.ranks, (std::vector<RankId>{{0}, {1}, {2}}));
    const LedgerHeat highest = ledgerAxes(ledger, data, HeatOrder::kHighestFirst);
    EXPECT_EQ(highest.ranks, (std::vector<RankId>{{1}, {2}, {0}}));
    EXPECT_EQ(highest.steps, (std::vector<StepIndex>{{4}, {5}}));
    const HeatData map = ledgerHeat(ledger, data, highest);
    EXPECT_EQ(map.rows.front(), QStringLiteral("rank 1"));
    EXPECT_FLOAT_EQ(map.at(0, 0), 0.3F);
    EXPECT_FLOAT_EQ(map.at(0, 1), 0.4F);
    EXPECT_FLOAT_EQ(map.at(1, 0), 0.2F);
    EXPECT_LT(map.at(1, 1), 0);  // not known
    EXPECT_FLOAT_EQ(map.at(2, 1), 0.1F);
    EXPECT_FLOAT_EQ(map.maximum, 0.5F);
}

class OverviewOfManyRanks : public WindowTest {};

TEST_F(OverviewOfManyRanks, HasAHeatMapWhoseCellsAreSelected) {
    m_window->showPage(u"overview"_s);
    test::SampleOptions options;
    options.ranks = 18;
    options.steps = 3;
    openSample(options);
    auto* const heat = m_window->page(u"overview"_s)->findChild<HeatMap*>();
    ASSERT_NE(heat, nullptr);
    // the last row and column
    Q_EMIT heat->cellActivated(17, 2);
    const Selection& selected = m_window->selection().current();
    EXPECT_EQ(selected.ranks, (std::vector<RankId>{{17}}));
    ASSERT_TRUE(selected.steps);
    EXPECT_EQ(selected.steps->first, StepIndex{2});
}

/// Two ranks, ten milliseconds, of another tool unless it has a model.
OpenRecording recordingOf(const char* model, std::uint64_t collectives) {
    OpenRecording recording;
    recording.summary.bounds = {{0}, {10'000'000}};
    recording.summary.run.model = model;
    recording.summary.run.worldSize = 2;
    recording.summary.events.collectives = collectives;
    return recording;
}

TEST(CommunicationHeadline, OfATraceOfOneProcessIsNotAboutCollectives) {
    OpenRecording compiler = recordingOf("", 0);
    compiler.summary.run.worldSize = 1;
    compiler.summary.events.spans = 3;
    const RangeTexts texts = rangeTexts(compiler, {}, {});
    EXPECT_EQ(texts.headline, u"Whole run: 10.0\u2009ms, 3 events."_s);
    EXPECT_TRUE(texts.subline.startsWith(u"No collective: "_s));
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
    EXPECT_EQ(
        texts.subline,
        u"Longest single wait: 1.00\u2009ms, on rank 1. Compute goes on meanwhile where it can: "
        u"what steps wait for is on Overview."_s);
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
    EXPECT_TRUE(rangeTexts(recording, {}, {}).headline.endsWith(u" on one rank."_s));
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
