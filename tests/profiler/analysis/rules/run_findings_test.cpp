// Findings: none of healthy runs, however their ranks take turns to be late; the right one of
// others.
#include "profiler/analysis/rules/run_findings.h"

#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/profiler/analysis/made_run.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <random>

namespace shardscope::analysis {
namespace {

using test::Lateness;
using test::MadeRun;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> codesOf(const MadeRun& run) {
    std::vector<std::string> found;
    for (const RunFinding& finding : analyse(run.summary, run.ranks).findings)
        found.push_back(finding.code);
    return found;
}

TEST(RunFindings, HaveNothingToSayOfRanksThatTakeTurns) {
    const MadeRun run([](int step) {
        return Lateness{static_cast<std::uint32_t>(step % 2), 200'000};
    });
    EXPECT_THAT(codesOf(run), IsEmpty());
}

/// Of two equal ranks one is the later in each step, by chance.
TEST(RunFindings, HaveNothingToSayOfACoin) {
    int alarmed = 0;
    for (unsigned seed = 0; seed < 50; ++seed) {
        std::mt19937 random(seed);
        std::vector<Lateness> late;
        std::exponential_distribution<double> much(1 / 100'000.0);
        for (int i = 0; i < test::kSteps; ++i)
            late.push_back({static_cast<std::uint32_t>(random() % 2),
                            static_cast<std::int64_t>(much(random))});
        const MadeRun run([&](int step) { return late[static_cast<std::size_t>(step)]; });
        alarmed += !codesOf(run).empty();
    }
    EXPECT_LE(alarmed, 1);
}

TEST(RunFindings, NameARankThatIsAlwaysLate) {
    const MadeRun run([](int) { return Lateness{1, 150'000}; });
    const Report report = analyse(run.summary, run.ranks);
    ASSERT_EQ(report.findings.size(), 1u);
    const RunFinding& finding = report.findings.front();
    EXPECT_EQ(finding.code, "late-rank");
    EXPECT_EQ(finding.rank, RankId{1});
    EXPECT_EQ(finding.title, "Rank 1 arrives last");
    ASSERT_EQ(finding.evidence.size(), 8u);
    // 18 steps after warm-up, of 1.15 ms.
    EXPECT_EQ(finding.evidence[0].value, 18 * 150'000);
    EXPECT_DOUBLE_EQ(finding.evidence[1].value, 150.0 / 1150);
    EXPECT_EQ(finding.evidence[2].value, 18);
    ASSERT_TRUE(finding.range);
    EXPECT_EQ(finding.steps, std::pair(StepIndex{2}, StepIndex{19}));
    // Both ranks would end as much earlier.
    EXPECT_EQ(finding.cost, Duration{2 * 18 * 150'000});
    EXPECT_EQ(finding.detail.find("What to try"), std::string::npos);
    EXPECT_FALSE(finding.remedy.empty());
    EXPECT_FALSE(finding.remedy.ends_with('.'));
}

TEST(RunFindings, CountOnlyWhatBlocksTheStepThread) {
    const MadeRun run([](int) { return Lateness{1, 300'000}; }, false);
    EXPECT_THAT(codesOf(run), IsEmpty());
}

TEST(RunFindings, LeaveSmallDelaysAlone) {
    const MadeRun run([](int) { return Lateness{1, 20'000}; });
    EXPECT_THAT(codesOf(run), IsEmpty());
}

TEST(RunFindings, NameAStepThatStandsOut) {
    const auto spike = [](int at) {
        return MadeRun([at](int step) {
            return Lateness{static_cast<std::uint32_t>(step % 2),
                            step == at ? 2'000'000 : 1'000 * step};
        });
    };
    const MadeRun run = spike(9);
    const Report report = analyse(run.summary, run.ranks);
    ASSERT_EQ(report.findings.size(), 1u);
    EXPECT_EQ(report.findings[0].code, "slow-step");
    EXPECT_EQ(report.findings[0].steps, std::pair(StepIndex{9}, StepIndex{9}));
    ASSERT_EQ(report.slowSteps.size(), 1u);
    EXPECT_EQ(report.slowSteps[0].step, StepIndex{9});
    EXPECT_THAT(report.findings[0].detail, testing::HasSubstr(report.slowSteps[0].why));
    EXPECT_THAT(report.slowSteps[0].why, testing::HasSubstr("Rank 1 was late"));
    EXPECT_THAT(codesOf(spike(0)), IsEmpty()) << "warm-up is slow in every run";
}

TEST(RunFindings, ExpectNothingOfARestlessMachine) {
    std::mt19937 random(7);
    std::vector<std::int64_t> noise;
    for (int i = 0; i < test::kSteps; ++i)
        noise.push_back(static_cast<std::int64_t>(random() % 700'000));
    const MadeRun run([&](int step) {
        return Lateness{static_cast<std::uint32_t>(step % 2),
                        noise[static_cast<std::size_t>(step)]};
    });
    EXPECT_THAT(codesOf(run), IsEmpty());
}

TEST(RunFindings, SayOfMemoryOnlyWhatTheoryCannotExplain) {
    const auto codeAt = [](std::int64_t peak) {
        MadeRun run([](int) { return Lateness{0, 0}; });
        run.ranks[1].hasMemoryEvents = true;
        run.ranks[1].peakMemory = Bytes{peak};
        run.summary.memoryTheory.push_back(
            {RankId{1}, MemoryCategory::kActivation, Bytes{1'000'000}});
        const auto found = analyse(run.summary, run.ranks).findings;
        return found.empty() ? std::string("none")
                             : found[0].code + " " + toWord(found[0].severity);
    };
    EXPECT_EQ(codeAt(1'028'000), "none");
    EXPECT_EQ(codeAt(1'070'000), std::string("memory-above-theory ") + toWord(Severity::kNote));
    EXPECT_EQ(codeAt(1'200'000), std::string("memory-above-theory ") + toWord(Severity::kWarning));
}

TEST(RunFindings, AreInTheJsonWithTheirEvidence) {
    const MadeRun run([](int) { return Lateness{1, 150'000}; });
    const auto json = nlohmann::json::parse(toJson(analyse(run.summary, run.ranks)));
    const auto& finding = json.at("findings").at(0);
    EXPECT_EQ(finding.at("code"), "late-rank");
    EXPECT_EQ(finding.at("severity"), "note");
    EXPECT_EQ(finding.at("rank"), 1);
    EXPECT_EQ(finding.at("steps"), nlohmann::json::array({2, 19}));
    EXPECT_EQ(finding.at("evidence").at("blocked_ns"), 2.7e6);
    EXPECT_EQ(finding.at("cost_ns"), 5'400'000);
    EXPECT_FALSE(finding.at("remedy").get<std::string>().empty());
    EXPECT_EQ(json.at("judged").at("enough"), false) << "it was not finalised";
    EXPECT_FALSE(finding.at("denominator").get<std::string>().empty());
    EXPECT_EQ(json.at("mfu").at("unsure"), false);
}

}  // namespace
}  // namespace shardscope::analysis
