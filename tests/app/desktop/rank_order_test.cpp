// Orders of ranks: of the Timeline's rows, and of the Overview's heat map.
#include "app/desktop/models/rank_order.h"

#include "app/desktop/pages/overview/overview_model.h"
#include "app/desktop/widgets/pictures/heat_map.h"
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

}  // namespace
}  // namespace shardscope::desktop
