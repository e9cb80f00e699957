// The most that could be hidden over a link as it was calibrated.
#include "profiler/questions/calibrated_limit.h"

#include "engine/run/config/run_config.h"
#include "profiler/analysis/findings.h"
#include "profiler/planning/calibration_store.h"
#include "tests/profiler/questions/asking.h"

#include <gmock/gmock.h>

#include <cstdlib>

namespace shardscope::questions {
namespace {

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
