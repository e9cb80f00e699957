// What a page is told of communication is what the command line says.
#include "profiler/questions/communication.h"

#include "engine/run/config/run_config.h"
#include "profiler/analysis/findings.h"
#include "profiler/planning/calibration_store.h"
#include "profiler/questions/calibrated_limit.h"
#include "profiler/questions/report_reader.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/profiler/questions/asking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace shardscope::questions {
namespace {

class CommunicationTest : public Questions {
protected:
    Communication read(const Selection& selection = {}) {
        const auto selected = selection.of(m_summary);
        EXPECT_TRUE(selected);
        auto told = readCommunication({*m_reader, *selected, selection});
        EXPECT_TRUE(told);
        return std::move(*told);
    }
    static const Table& tableOf(const Answer& answer, std::string_view key) {
        return *std::find_if(answer.tables.begin(), answer.tables.end(),
                             [&](const Table& table) { return key == table.key; });
    }
};

TEST_F(CommunicationTest, SaysOfLayersWhatOverlapSays) {
    record();
    Selection steps;
    steps.steps = {{{2}, {4}}};
    for (const Selection& selection : {Selection{}, steps}) {
        const Communication told = read(selection);
        const Answer answer = ask("overlap", Mode::kExact, selection);
        const Table& layers = tableOf(answer, "layers");
        std::size_t row = 0;
        for (const auto& [kind, sum] : told.byLayer) {
            if (kind.first == kNoLayer) continue;
            ASSERT_LT(row, layers.rows.size());
            EXPECT_EQ(whole(layers, row, "layer"), kind.first.value);
            EXPECT_EQ(whole(layers, row, "count"), sum.count);
            EXPECT_EQ(whole(layers, row, "hidden_ns"), sum.hidden.ns);
            EXPECT_EQ(whole(layers, row, "waiting_ns"), sum.waiting.ns);
            EXPECT_EQ(whole(layers, row, "moving_ns"), sum.moving.ns);
            ++row;
        }
        EXPECT_EQ(row, layers.rows.size());
        EXPECT_GT(row, 0u);
    }
}

TEST_F(CommunicationTest, HasTheCollectivesThatAreListed) {
    record();
    const Communication told = read();
    const Answer answer = ask("collectives");
    const Table& listed = tableOf(answer, "collectives");
    ASSERT_EQ(told.transfers.size(), listed.rows.size());
    std::int64_t waited = 0, waitedThere = 0;
    for (std::size_t row = 0; row < listed.rows.size(); ++row) {
        waited += told.transfers[row].waited.ns;
        waitedThere += whole(listed, row, "waited_ns");
    }
    EXPECT_EQ(waited, waitedThere);
    EXPECT_GT(waited, 0);
    EXPECT_EQ(told.classes.size(), tableOf(answer, "operations").rows.size());
    ASSERT_TRUE(told.groups.contains(0));
    EXPECT_EQ(told.groups.at(0), (std::vector<RankId>{{0}, {1}}));
}

TEST_F(CommunicationTest, NamesLastComersAsTheReportDoes) {
    test::SampleOptions options;
    options.ranks = 4;
    record(options);
    const Communication told = read();
    const auto report = readReport(*m_reader, m_summary);
    ASSERT_TRUE(report);
    ASSERT_EQ(told.skew.ranks.size(), report->waiting.size());
    ASSERT_FALSE(report->waiting.empty());
    for (std::size_t i = 0; i < report->waiting.size(); ++i) {
        EXPECT_EQ(told.skew.ranks[i].rank, report->waiting[i].late);
        EXPECT_EQ(told.skew.ranks[i].waited, report->waiting[i].waited);
        EXPECT_EQ(told.skew.ranks[i].collectives, report->waiting[i].collectives);
    }
    EXPECT_EQ(told.skew.unknown, report->unknown.collectives);
}

TEST_F(CommunicationTest, ReasonsAddUpToWhatIsExposed) {
    record();
    const Communication told = read();
    Duration byLayer, byReason;
    for (const auto& [kind, sum] : told.byLayer) byLayer += sum.exposed();
    for (const auto& sum : told.reasons) byReason += sum.exposed;
    EXPECT_EQ(byLayer, byReason);
    EXPECT_GT(byReason.ns, 0);
}

TEST_F(CommunicationTest, OfOneRankCollectivesAreTimedOverAllRanksThatTookPart) {
    record();
    Selection one;
    one.ranks = {RankId{1}};
    EXPECT_EQ(toJson({ask("collectives")}), toJson({ask("collectives", Mode::kExact, one)}));
    one.steps = {{StepIndex{3}, StepIndex{4}}};
    Selection steps = one;
    steps.ranks.clear();
    EXPECT_EQ(toJson({ask("collectives", Mode::kExact, steps)}),
              toJson({ask("collectives", Mode::kExact, one)}));
}

TEST_F(CommunicationTest, SaysOfHowManyStepsAndRanksItsSumsAre) {
    record();
    EXPECT_EQ(read().rankSteps, m_summary.steps.size());
    Selection some;
    some.ranks = {RankId{1}};
    some.steps = {{StepIndex{3}, StepIndex{4}}};
    EXPECT_EQ(read(some).rankSteps, 2U);
}

TEST_F(CommunicationTest, OfOneRankNothingIsTold) {
    test::SampleOptions options;
    options.ranks = 1;
    record(options);
    const Communication told = read();
    EXPECT_EQ(told.skew.known, 0);
    for (const auto& transfer : told.transfers) EXPECT_FALSE(transfer.transfer);
}

// The most that could be hidden over a link as it was calibrated.

class CalibratedLimits : public Questions {
protected:
    void SetUp() override {
        ::setenv("XDG_STATE_HOME", m_folder.file("state").c_str(), 1);
        record();
        for (const RankFacts& rank : m_summary.ranks)
            m_ranks.push_back(*m_reader->rankEvents(rank.rank, m_summary.bounds));
        m_config = *run::parseRunConfigJson(m_summary.run.configJson);
    }
    void TearDown() override { ::unsetenv("XDG_STATE_HOME"); }

    planning::Calibration costing(double alphaNs, double nsPerByte) const {
        planning::Calibration calibration;
        calibration.host = m_summary.hosts.front().name;
        calibration.kind = m_config.device;
        calibration.cores = 2;
        for (const CollectiveOp operation : kAll<CollectiveOp>) {
            planning::CollectiveCost cost;
            cost.operation = operation;
            cost.communicator = run::communicatorOf(m_config);
            cost.ranks = m_config.ranks;
            cost.hosts = std::max(1, run::placesOf(m_config).hosts());
            cost.fit = {alphaNs, nsPerByte, 3};
            cost.unixS = 1;
            calibration.collectives.push_back(cost);
        }
        return calibration;
    }
    std::vector<RankEvents> m_ranks;
    run::RunConfig m_config;
};

TEST_F(CalibratedLimits, AFasterLinkHidesNoLessThanASlowerOne) {
    const auto slow = calibratedLimit(m_summary, m_ranks, costing(1e6, 10));
    const auto fast = calibratedLimit(m_summary, m_ranks, costing(1, 1e-6));
    ASSERT_TRUE(slow && fast);
    EXPECT_GT(slow->collectives, 0);
    EXPECT_EQ(slow->collectives, fast->collectives);
    EXPECT_FALSE(slow->estimated);
    EXPECT_GT(fast->share, slow->share);
    EXPECT_LE(fast->share, 1);
}

TEST_F(CalibratedLimits, WithoutCollectivesOfItsKindThereIsNone) {
    planning::Calibration none = costing(1, 1);
    none.collectives.clear();
    EXPECT_FALSE(calibratedLimit(m_summary, m_ranks, none));
    RecordingSummary foreign = m_summary;
    foreign.run.configJson.clear();
    EXPECT_FALSE(calibratedLimit(foreign, m_ranks, costing(1, 1)));
}

TEST_F(CalibratedLimits, IsSaidOnlyOfAMachineThatWasCalibrated) {
    const auto keys = [](const Answer& answer) {
        std::vector<std::string> all;
        for (const Figure& figure : answer.figures) all.emplace_back(figure.what.key);
        return all;
    };
    EXPECT_THAT(keys(ask("overlap")), testing::Not(testing::Contains("calibrated_limit_pct")));
    ASSERT_TRUE(planning::keepCalibration(costing(1000, 0.1)));
    EXPECT_THAT(keys(ask("overlap")), testing::Contains("calibrated_limit_pct"));
}

}  // namespace
}  // namespace shardscope::questions
