// kill -9 of each process of a run at several moments: the file opens with what was received,
// and no process of the run is left.
#include "storage/model/quantity_text.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/app/cli/program.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <filesystem>
#include <set>

namespace shardscope::cli {
namespace {

/// How many steps have been told when the kill comes.
class Kill : public CliTest, public testing::WithParamInterface<int> {
protected:
    /// A run of two ranks that would go on for long, all of it alive, `GetParam()` steps in.
    void startTree() {
        environment["FAKE_RANK_STEP_MS"] = "5";
        m_program = startRecord({"--control", "stdio", "--steps", "1000000"}, true);
        ASSERT_TRUE(eventually([this] {
            return (stepsTold() >= GetParam() && findTree()) || m_program->ended();
        })) << m_program->out()
            << m_program->err();
        for (const pid_t pid : m_tree) ASSERT_TRUE(isAlive(pid)) << "alive before";
    }
    void expectAllGone() {
        EXPECT_TRUE(eventually([this] {
            for (const pid_t pid : m_tree) {
                if (isAlive(pid)) return false;
            }
            return true;
        })) << "gone after";
    }
    /// The flush comes within a second; the last steps may be lost, no more.
    void expectKept(const RecordingSummary& summary) const {
        if (GetParam() >= 300) {
            EXPECT_GT(summary.steps.size(), 100u);
        }
        EXPECT_EQ(summary.run.worldSize, 2);
    }

    std::unique_ptr<Program> m_program;
    pid_t m_agent = -1;
    std::vector<pid_t> m_ranks;

private:
    int stepsTold() const {
        int count = 0;
        const std::string out = m_program->out();
        for (std::size_t at = 0; (at = out.find("\"event\":\"step\"", at)) != std::string::npos;
             ++at) {
            ++count;
        }
        return count;
    }
    bool findTree() {
        const auto agents = childrenOf(m_program->pid());
        if (agents.size() != 1) return false;
        m_agent = agents[0];
        m_ranks = childrenOf(m_agent);
        m_tree = m_ranks;
        m_tree.push_back(m_agent);
        m_tree.push_back(m_program->pid());
        return m_ranks.size() == 2;
    }
    std::vector<pid_t> m_tree;
};

using testing::HasSubstr;
using testing::Not;

class Running : public CliTest {
protected:
    /// What a verb prints of the recording at output().
    std::string said(const std::vector<std::string>& arguments) {
        std::filesystem::create_directories(path("reader"));
        Program reader(arguments, environment, path("reader"), false);
        EXPECT_EQ(reader.wait(), 0) << reader.err();
        return reader.out();
    }
};

TEST_F(Running, IsARecordingUntilItsWriterEnds) {
    environment["FAKE_RANK_STEP_MS"] = "5";
    const auto recorder = startRecord({"--steps", "1000000"});
    ASSERT_TRUE(eventually([&] {
        return recorder->err().find(" steps  ") != std::string::npos || recorder->ended();
    })) << recorder->err();
    EXPECT_THAT(said({"info", output()}), HasSubstr("running, "));
    EXPECT_THAT(said({"info", output()}), Not(HasSubstr("incomplete")));
    EXPECT_THAT(said({"info", output(), "--json"}), HasSubstr("\"running\": true"));
    const std::string report = said({"report", output()});
    EXPECT_THAT(report, HasSubstr("the run is being recorded"));
    EXPECT_THAT(report, Not(HasSubstr("finalised")));
    EXPECT_THAT(said({"report", output(), "--json"}), HasSubstr("\"running\": true"));
    said({"export", output(), "--format", "json", "--report", "info", "-o", path("info.json")});
    EXPECT_THAT(said({"export", output(), "--format", "json", "-o", path("overview.json")}),
                HasSubstr("wrote"));
    recorder->signal(SIGKILL);
    recorder->wait();
    EXPECT_THAT(said({"info", output()}), HasSubstr("not finalised, "));
    EXPECT_THAT(said({"info", output(), "--json"}), HasSubstr("\"running\": false"));
    EXPECT_THAT(said({"report", output()}), HasSubstr("was not finalised"));
}

TEST_P(Kill, OfARankEndsTheRunAndNamesIt) {
    startTree();
    ::kill(m_ranks[1], SIGKILL);
    EXPECT_EQ(m_program->wait(), 5);
    expectAllGone();
    const RecordingSummary summary = recorded();
    EXPECT_TRUE(summary.complete);
    EXPECT_EQ(summary.run.status, RunStatus::kFailed);
    EXPECT_EQ(summary.ranks.at(1).exitSignal, SIGKILL);
    ASSERT_FALSE(summary.diagnostics.empty());
    EXPECT_EQ(summary.diagnostics.back().rank, RankId{1});
    expectKept(summary);
}

TEST_P(Kill, OfTheAgentTakesItsRanksAlongAndFinalises) {
    startTree();
    ::kill(m_agent, SIGKILL);
    EXPECT_EQ(m_program->wait(), 4);
    expectAllGone();
    const RecordingSummary summary = recorded();
    EXPECT_TRUE(summary.complete);
    EXPECT_EQ(summary.run.status, RunStatus::kFailed);
    expectKept(summary);
}

TEST_P(Kill, OfTheAgentIsCountedAlikeByAllThatCount) {
    environment["FAKE_RANK_SPANS"] = "2000";
    startTree();
    ::kill(m_agent, SIGKILL);
    EXPECT_EQ(m_program->wait(), 4);
    const auto read = [&](const std::vector<std::string>& words) {
        const auto reader = start(words);
        EXPECT_EQ(reader->wait(), 0) << reader->err();
        return reader->out();
    };
    using nlohmann::json;
    const json info = json::parse(read({"info", output(), "--json"}));
    const json report = json::parse(read({"report", output(), "--json"}));
    const auto lost = info.at("events_lost").get<std::uint64_t>();
    const auto stored = report.at("events").get<std::uint64_t>();
    EXPECT_EQ(report.at("lost"), lost);
    EXPECT_EQ(stored + lost + report.at("dropped").get<std::uint64_t>(),
              info.at("events_counted").get<std::uint64_t>() +
                  info.at("events_uncounted").get<std::uint64_t>());
    const bool said = read({"report", output()}).find("lost events") != std::string::npos;
    EXPECT_EQ(said, lost > 0);
    EXPECT_EQ(
        read({"analyze", output(), "trust"}).find("were lost on their way") != std::string::npos,
        lost > 0);
    const std::string repaired = read({"repair", output(), "-o", path("saved.sscope")});
    EXPECT_THAT(repaired, HasSubstr(lost > 0 ? "lost        " + countText(lost) +
                                                   " events that ranks had counted never came"
                                             : "nothing was lost"));
}

TEST_P(Kill, OfTheRecorderLeavesAFileThatOpensAndNoProcess) {
    startTree();
    m_program->signal(SIGKILL);
    EXPECT_EQ(m_program->wait(), 128 + SIGKILL);
    expectAllGone();
    const RecordingSummary summary = recorded();
    EXPECT_FALSE(summary.complete);
    EXPECT_EQ(summary.run.status, RunStatus::kRecording);
    expectKept(summary);
    const auto repair = start({"repair", output(), "-o", path("saved.sscope")});
    EXPECT_EQ(repair->wait(), 0);
    EXPECT_THAT(repair->out(), testing::Not(testing::HasSubstr("nothing was lost")));
}

TEST_P(Kill, OfRecorderAndAgentTogetherLeavesNoRank) {
    startTree();
    m_program->signal(SIGKILL);
    ::kill(m_agent, SIGKILL);
    EXPECT_EQ(m_program->wait(), 128 + SIGKILL);
    expectAllGone();
    expectKept(recorded());
}

INSTANTIATE_TEST_SUITE_P(AfterSteps, Kill, testing::Values(0, 1, 300));

}  // namespace
}  // namespace shardscope::cli
