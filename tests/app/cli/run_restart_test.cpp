#include "app/cli/record/run_restart.h"

#include "tests/support/result_matchers.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>

#include <fstream>

namespace shardscope::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

class RunRestart : public testing::Test {
protected:
    RunRestart() {
        m_config.checkpoint = m_folder.file("checkpoints");
        m_config.output = m_folder.file("run.sscope");
    }
    void hosts(const std::string& list, std::int32_t ranks) {
        m_config.hosts = list;
        m_config.ranks = ranks;
        ASSERT_THAT(run::validate(m_config), test::IsOk());
    }
    run::RunConfig without(std::int32_t host) {
        const auto next = withoutHost(m_config, host);
        EXPECT_THAT(next, test::IsOk());
        return next.value_or(run::RunConfig());
    }
    test::TemporaryFolder m_folder;
    run::RunConfig m_config;
};

TEST_F(RunRestart, TakesTheOtherHostsAndTheirRanks) {
    hosts("node-a,node-b,node-c", 6);
    const run::RunConfig next = without(1);
    EXPECT_EQ(next.ranks, 4);
    EXPECT_EQ(next.hosts, "node-a; node-c");
    EXPECT_EQ(next.resume, "");
    EXPECT_THAT(restartText(m_config, next, 1),
                HasSubstr("node-b was lost: the run goes on without it, on 4 of 6 ranks (each step "
                          "has so many fewer sequences), from where this run began, since it had "
                          "written no checkpoint, into "));
}

TEST_F(RunRestart, FillsSlotsThatWereFree) {
    hosts("node-a:2,node-b:2,node-c:4", 4);
    const run::RunConfig next = without(0);
    EXPECT_EQ(next.ranks, 4);
    EXPECT_EQ(run::placesOf(next).perHost, (std::vector<std::int32_t>{2, 2}));
}

TEST_F(RunRestart, WritesARecordingOfItsOwnEachTime) {
    hosts("node-a,node-b,node-c", 3);
    run::RunConfig next = without(2);
    EXPECT_THAT(next.output, EndsWith("/run-restart1.sscope"));
    std::ofstream(next.output) << "the first restart's";
    next = withoutHost(next, 0).value_or(run::RunConfig());
    EXPECT_THAT(next.output, EndsWith("/run-restart2.sscope"));
    EXPECT_EQ(next.hosts, "node-b");
}

TEST_F(RunRestart, OfTheLastHostIsNone) {
    hosts("node-a:2", 2);
    EXPECT_THAT(withoutHost(m_config, 0),
                test::FailsWith("without node-a there is no host to go on with"));
}

TEST_F(RunRestart, ThatTheRulesOfRunsForbidSaysSo) {
    hosts("node-a:2,node-b:2,node-c:2", 6);
    m_config.strategy = run::Strategy::kHsdp;
    m_config.shardRanks = 3;
    ASSERT_THAT(run::validate(m_config), test::IsOk());
    EXPECT_THAT(withoutHost(m_config, 2), test::FailsWith("the run cannot go on without node-c"));
}

}  // namespace
}  // namespace shardscope::cli
