// Findings: none of healthy runs, however their ranks take turns to be late; the right one of
// others.
#include "profiler/analysis/run_findings.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <random>

namespace shardscope::analysis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kStepNs = 1'000'000, kComputeNs = 600'000;
constexpr int kSteps = 20;

/// Who comes late to the one collective of a step, and by how much.
struct Lateness {
    std::uint32_t rank;
    std::int64_t ns;
};

/// Ranks that compute for 600 us, meet in a collective of group 0, and move data for 100 us.
struct MadeRun {
    RecordingSummary summary;
    std::vector<RankEvents> ranks;

    /// `blocked`: the step thread waits for the collective, and not the communication thread alone.
    explicit MadeRun(const std::function<Lateness(int)>& late, bool blocked = true,
                     std::uint32_t worldSize = 2) {
        summary.run.worldSize = static_cast<std::int32_t>(worldSize);
        for (std::uint32_t r = 0; r < worldSize; ++r) {
            RankEvents events;
            events.rank = RankId{r};
            Timestamp at{0};
            for (int s = 0; s < kSteps; ++s) at = addStep(events, s, at, late(s), blocked);
            ranks.push_back(std::move(events));
        }
    }

    Timestamp addStep(RankEvents& events, int s, Timestamp begin, Lateness late, bool blocked) {
        const auto after = [&](std::int64_t ns) { return begin + Duration{ns}; };
        const std::int64_t own = late.rank == events.rank.value ? late.ns : 0;
        const Timestamp wanted = after(kComputeNs + own), last = after(kComputeNs + late.ns);
        const Timestamp end = after(kStepNs + late.ns);
        addPhase(events, Phase::kForward, s, begin, wanted);
        if (blocked) addPhase(events, Phase::kWaitReduction, s, wanted, last + Duration{100'000});
        CollectiveEvent collective;
        collective.step = StepIndex{s};
        collective.sequence = static_cast<std::uint64_t>(s) + 1;
        collective.start = wanted;
        collective.end = last + Duration{100'000};
        for (std::int32_t r = 0; r < summary.run.worldSize; ++r)
            collective.arrivals.push_back(
                static_cast<std::uint32_t>(r) == late.rank ? last : after(kComputeNs));
        events.collectives.push_back(collective);
        StepFacts step;
        step.rank = events.rank;
        step.step = StepIndex{s};
        step.start = begin;
        step.end = end;
        step.tokens = 100;
        summary.steps.push_back(step);
        return end;
    }

    static void addPhase(RankEvents& events, Phase phase, int step, Timestamp begin,
                         Timestamp end) {
        SpanEvent span;
        span.phase = phase;
        span.step = StepIndex{step};
        span.start = begin;
        span.duration = end - begin;
        events.phases.push_back(span);
    }

    [[nodiscard]] std::vector<std::string> codes() const {
        std::vector<std::string> found;
        for (const RunFinding& finding : analyse(summary, ranks).findings)
            found.push_back(finding.code);
        return found;
    }
};

TEST(RunFindings, HaveNothingToSayOfRanksThatTakeTurns) {
    const MadeRun run([](int step) {
        return Lateness{static_cast<std::uint32_t>(step % 2), 200'000};
    });
    EXPECT_THAT(run.codes(), IsEmpty());
}

/// Of two equal ranks one is the later in each step, by chance.
TEST(RunFindings, HaveNothingToSayOfACoin) {
    int alarmed = 0;
    for (unsigned seed = 0; seed < 50; ++seed) {
        std::mt19937 random(seed);
        std::vector<Lateness> late;
        std::exponential_distribution<double> much(1 / 100'000.0);
        for (int i = 0; i < kSteps; ++i)
            late.push_back({static_cast<std::uint32_t>(random() % 2),
                            static_cast<std::int64_t>(much(random))});
        const MadeRun run([&](int step) { return late[static_cast<std::size_t>(step)]; });
        alarmed += !run.codes().empty();
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
    ASSERT_EQ(finding.evidence.size(), 5u);
    // 18 steps after warm-up, of 1.15 ms.
    EXPECT_EQ(finding.evidence[0].value, 18 * 150'000);
    EXPECT_DOUBLE_EQ(finding.evidence[1].value, 150.0 / 1150);
    EXPECT_EQ(finding.evidence[2].value, 18);
    ASSERT_TRUE(finding.range);
    EXPECT_EQ(finding.steps, std::pair(StepIndex{2}, StepIndex{19}));
}

TEST(RunFindings, CountOnlyWhatBlocksTheStepThread) {
    const MadeRun run([](int) { return Lateness{1, 300'000}; }, false);
    EXPECT_THAT(run.codes(), IsEmpty());
}

TEST(RunFindings, LeaveSmallDelaysAlone) {
    const MadeRun run([](int) { return Lateness{1, 20'000}; });
    EXPECT_THAT(run.codes(), IsEmpty());
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
    EXPECT_THAT(spike(0).codes(), IsEmpty()) << "warm-up is slow in every run";
}

TEST(RunFindings, ExpectNothingOfARestlessMachine) {
    std::mt19937 random(7);
    std::vector<std::int64_t> noise;
    for (int i = 0; i < kSteps; ++i) noise.push_back(static_cast<std::int64_t>(random() % 700'000));
    const MadeRun run([&](int step) {
        return Lateness{static_cast<std::uint32_t>(step % 2),
                        noise[static_cast<std::size_t>(step)]};
    });
    EXPECT_THAT(run.codes(), IsEmpty());
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
    EXPECT_EQ(finding.at("severity"), "warning");
    EXPECT_EQ(finding.at("rank"), 1);
    EXPECT_EQ(finding.at("steps"), nlohmann::json::array({2, 19}));
    EXPECT_EQ(finding.at("evidence").at("blocked_ns"), 2.7e6);
    EXPECT_FALSE(finding.at("denominator").get<std::string>().empty());
    EXPECT_EQ(json.at("mfu").at("unsure"), false);
}

}  // namespace
}  // namespace shardscope::analysis
