// Waits of programs that do not say when they wait.
#include "profiler/analysis/steps/seen_waits.h"

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
