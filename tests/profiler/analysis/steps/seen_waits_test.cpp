// Waits of programs that do not say when they wait.
#include "profiler/analysis/steps/seen_waits.h"

#include "profiler/analysis/findings.h"
#include "profiler/analysis/report/report.h"
#include "storage/model/step_facts.h"
#include "tests/profiler/analysis/made_run.h"
#include "tests/support/timeline.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

namespace shardscope::analysis {
namespace {

using test::drawTimeline;
using test::kTick;
using test::Lateness;
using test::MadeRun;

RunFacts program() {
    RunFacts run;
    run.configJson = std::string(kProgramConfig) + "{}}";
    return run;
}

/// Its waits, a character of the picture each: from and to, with the phase.
std::vector<std::tuple<std::int64_t, std::int64_t, Phase>> waitsOf(const std::string& picture,
                                                                   const RunFacts& run) {
    const auto drawn = drawTimeline(picture);
    std::vector<std::tuple<std::int64_t, std::int64_t, Phase>> waits;
    for (const SpanEvent& phase : withSeenWaits(run, drawn.ranks.at(0)).phases)
        if (isWait(phase.phase))
            waits.emplace_back(phase.start.ns / kTick.ns, phase.end().ns / kTick.ns, phase.phase);
    return waits;
}

const std::string kBehindBackward = R"(
    rank 0 step    |ssssssssssssssss|
    rank 0 comm    |......--rrrrr...|
    rank 0 compute |fffffbbbb.....oo|
)";

TEST(SeenWaits, LieBetweenPhasesUntilACollectiveEnds) {
    using testing::ElementsAre;
    EXPECT_THAT(waitsOf(kBehindBackward, program()),
                ElementsAre(std::tuple(9, 13, Phase::kWaitReduction)));
    EXPECT_THAT(waitsOf(R"(
        rank 0 step    |ssssssssssssssss|
        rank 0 comm    |.......aaa..rr..|
        rank 0 compute |fffffbb......booo|
    )",
                        program()),
                ElementsAre(std::tuple(7, 10, Phase::kWaitGather)))
        << "the other ends while the thread is at work";
}

/// FSDP2: what it waited for is what ended there.
TEST(SeenWaits, OfPythonAreRecordedAndGetTheirKind) {
    using testing::ElementsAre;
    EXPECT_THAT(
        waitsOf(R"(
        rank 0 step    |ssssssssssssssssssss|
        rank 0 comm    |-aaa..-rrr..-ccc....|
        rank 0 compute |fwwwfbbwwwbwwwwwoooo|
    )",
                program()),
        ElementsAre(std::tuple(1, 4, Phase::kWaitGather), std::tuple(7, 10, Phase::kWaitReduction),
                    std::tuple(11, 16, Phase::kWaitReduction)));
}

/// The gap ends where the recorded wait begins: no time counts twice.
TEST(SeenWaits, OfCppLieBesideRecordedOnes) {
    using testing::ElementsAre;
    EXPECT_THAT(waitsOf(R"(
        rank 0 step    |ssssssssssssssss|
        rank 0 comm    |....-rrr--rr....|
        rank 0 compute |ffbbb....www..oo|
    )",
                        program()),
                ElementsAre(std::tuple(5, 8, Phase::kWaitReduction),
                            std::tuple(9, 12, Phase::kWaitReduction)));
}

/// As on work that had ended, or on a future of something else.
TEST(SeenWaits, ForNoCollectiveAreOfThePhaseAroundThem) {
    const auto drawn = drawTimeline(R"(
        rank 0 step    |ssssssssssssssssssss|
        rank 0 comm    |aaaa................|
        rank 0 compute |ffffffwwfbbbbb.ww.oo|
    )");
    const auto phases = withSeenWaits(program(), drawn.ranks.at(0)).phases;
    ASSERT_EQ(phases.size(), 4u);
    EXPECT_EQ(phases[0].phase, Phase::kForward);
    EXPECT_EQ(phases[0].duration, Duration{8 * kTick.ns});
    EXPECT_EQ(phases[1].phase, Phase::kForward);
    EXPECT_EQ(phases[2].phase, Phase::kBackward);
    EXPECT_EQ(phases[3].phase, Phase::kOptimizer) << "between phases it is none";
}

/// Recorded waits against the same picture without them: only then is blocked time compute.
TEST(SeenWaits, AreBlockedInTheLedgerAndHideNothing) {
    auto drawn = drawTimeline(R"(
        rank 0 step    |ssssssssssssssss|
        rank 0 comm    |..--aaaa.-rrr...|
        rank 0 compute |fffwwwwwffbwwboo|
    )");
    const auto ledgerOf = [&](const RankEvents& events) {
        const auto rows = rankLedger(drawn.summary, withSeenWaits(program(), events));
        EXPECT_EQ(rows.size(), 1u);
        return rows.at(0);
    };
    const LedgerRow row = ledgerOf(drawn.ranks[0]);
    EXPECT_EQ(row.parts[at(LedgerPart::kWaiting)], Duration{1 * kTick.ns});
    EXPECT_EQ(row.parts[at(LedgerPart::kExposedGather)], Duration{4 * kTick.ns});
    EXPECT_EQ(row.parts[at(LedgerPart::kExposedAllReduce)] +
                  row.parts[at(LedgerPart::kExposedReduceScatter)],
              Duration{2 * kTick.ns});
    EXPECT_EQ(row.parts[at(LedgerPart::kCompute)], Duration{7 * kTick.ns});
    Duration all;
    for (const Duration part : row.parts) all += part;
    EXPECT_EQ(all, row.wall);
}

TEST(SeenWaits, AreOfProgramsOnly) {
    EXPECT_TRUE(waitsOf(kBehindBackward, {}).empty()) << "a trace of another tool";
    RunFacts own = program();
    own.model = "shakespeare";
    EXPECT_TRUE(waitsOf(kBehindBackward, own).empty()) << "which says when it waits";
}

/// Their events lie in no gap between phases of one step and the next.
TEST(SeenWaits, SayNothingOfStepsWithoutDetail) {
    auto drawn = drawTimeline(R"(
        rank 0 step    |sssssss1sssssss2sssssss|
        rank 0 comm    |..........rrr..........|
        rank 0 compute |ffbb............ffbb...|
    )");
    drawn.ranks.at(0).phases.back().step = StepIndex{2};
    drawn.ranks.at(0).phases[2].step = StepIndex{2};
    EXPECT_EQ(withSeenWaits(program(), drawn.ranks[0]).phases.size(), 4u);
}

/// After the collective of each step.
void addOptimizer(RankEvents& events) {
    for (const CollectiveEvent& each : events.collectives)
        MadeRun::addPhase(events, Phase::kOptimizer, each.step.value, each.end,
                          each.end + Duration{50'000});
    std::sort(events.phases.begin(), events.phases.end(),
              [](const SpanEvent& a, const SpanEvent& b) { return a.start < b.start; });
}

/// DistributedDataParallel, one rank of which sleeps before each step.
TEST(SeenWaits, NameTheRankThatTheOthersWaitFor) {
    MadeRun run([](int) { return Lateness{1, 300'000, Phase::kOther, false}; }, false);
    run.summary.run = program();
    run.summary.run.worldSize = 2;
    for (RankEvents& events : run.ranks) addOptimizer(events);
    std::vector<RankEvents> seen;
    for (const RankEvents& events : run.ranks)
        seen.push_back(withSeenWaits(run.summary.run, events));
    const auto found = analyse(run.summary, seen).findings;
    const auto late = std::find_if(found.begin(), found.end(),
                                   [](const auto& each) { return each.code == "late-rank"; });
    ASSERT_NE(late, found.end());
    EXPECT_EQ(late->rank, RankId{1});
    EXPECT_THAT(late->detail, testing::HasSubstr("Why: not running"));
    EXPECT_THAT(late->remedy, testing::HasSubstr("a sleep"));
}

}  // namespace
}  // namespace shardscope::analysis
