#include "profiler/analysis/rules/checks.h"

#include "engine/run/config/program_run.h"
#include "profiler/analysis/rules/notices.h"
#include "storage/model/host_facts.h"
#include "storage/model/quantity_text.h"
#include "storage/model/rank_facts.h"
#include "storage/model/repaired.h"
#include "storage/model/step_facts.h"
#include "storage/recording/read/recording_reader.h"
#include "tests/support/sample_recording.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string_view>

namespace shardscope::analysis {
namespace {

using testing::HasSubstr;

struct Read {
    RecordingSummary summary;
    Report report;
    [[nodiscard]] std::vector<Check> checks() const {
        return checksOf(summary, report.completeness, report.clocks, {});
    }
};

Read read(const test::SampleOptions& options) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    EXPECT_TRUE(test::writeSampleRecording(path, options));
    auto reader = storage::openRecording(path).value();
    Read made{reader->summary().value(), {}};
    std::vector<RankEvents> ranks;
    for (const RankFacts& rank : made.summary.ranks)
        ranks.push_back(reader
                            ->rankEvents(rank.rank, {made.summary.bounds.begin,
                                                     {made.summary.bounds.end.ns + 1}})
                            .value());
    made.report = analyse(made.summary, ranks);
    return made;
}

const Check& find(const std::vector<Check>& checks, std::string_view key) {
    return *std::find_if(checks.begin(), checks.end(),
                         [&](const Check& each) { return key == each.key; });
}

TEST(Checks, OfAWholeRecordingSayWhatWasCounted) {
    const Read made = read({});
    const auto checks = made.checks();
    EXPECT_GT(made.report.completeness.compared, 0);
    EXPECT_EQ(find(checks, "certificate").state, CheckState::kFine);
    EXPECT_THAT(find(checks, "certificate").found,
                HasSubstr(std::to_string(made.report.completeness.compared)));
    for (const char* key : {"dropped", "ranks", "rows", "detail", "repairs", "clocks"})
        EXPECT_EQ(find(checks, key).state, CheckState::kFine) << key;
    EXPECT_EQ(find(checks, "observer").state, CheckState::kUnknown) << "all at one level";
    EXPECT_FALSE(std::any_of(checks.begin(), checks.end(), [](const Check& each) {
        return std::string_view(each.key) == "import";
    }));
}

TEST(Checks, NameTheStepsThatLackSomething) {
    const Read made = read({.dropGathersOfStep = 4});
    EXPECT_EQ(find(made.checks(), "certificate").state, CheckState::kProblem);
    const Completeness& told = made.report.completeness;
    ASSERT_FALSE(told.gaps.empty());
    EXPECT_EQ(static_cast<std::size_t>(told.different), told.gaps.size());
    EXPECT_LT(told.different, told.compared);
    for (const CountGap& gap : told.gaps) {
        EXPECT_EQ(gap.step, StepIndex{4});
        EXPECT_STREQ(gap.what, "gathers");
        EXPECT_LT(gap.recorded, gap.expected);
    }
}

TEST(Checks, TellProblemsFromWhatNobodyCouldTell) {
    EXPECT_EQ(find(read({.dropped = 7}).checks(), "dropped").state, CheckState::kProblem);
    Read killed = read({});
    for (RankFacts& rank : killed.summary.ranks) rank.emitted = 1;  // counted last before its end
    EXPECT_EQ(
        find(killed.checks(), "dropped").found,
        "0 of " + countText(killed.summary.events.total()) + " that are recorded or were dropped");
    EXPECT_EQ(find(read({.finalise = false}).checks(), "rows").state, CheckState::kUnknown);
    Read made = read({});
    made.summary.run.worldSize = 3;
    EXPECT_EQ(find(made.checks(), "ranks").state, CheckState::kUnknown);
    made.summary.run.model.clear();
    EXPECT_EQ(find(made.checks(), "import").state, CheckState::kUnknown);
    made.summary.diagnostics.push_back(
        {Severity::kNote, "imported", "imported from a.json", "", {}, {}, 1});
    EXPECT_EQ(find(made.checks(), "import").state, CheckState::kFine);
    made.summary.diagnostics.push_back({Severity::kWarning, kRepairedCode, "lost", "", {}, {}, 1});
    EXPECT_EQ(find(made.checks(), "repairs").state, CheckState::kProblem);
    made.summary.lostRows.push_back({"metrics", 40, 3});
    EXPECT_EQ(find(made.checks(), "rows").state, CheckState::kProblem);
    EXPECT_THAT(find(made.checks(), "rows").found, HasSubstr("3 of 40"));
}

TEST(Checks, OfAProgramWithoutRanksCountNone) {
    Read made = read({});
    made.summary.run.configJson = run::toJson(run::ProgramRun{{"make"}, "/", CaptureLevel::kFull});
    made.summary.run.model.clear();
    made.summary.processes.emplace_back().role = ProcessRole::kProgram;
    const Check check = find(made.checks(), "ranks");
    EXPECT_EQ(check.state, CheckState::kFine);
    EXPECT_EQ(check.found, "there is none: no process was one");
}

TEST(Checks, NameRanksThatDidNotEndWell) {
    Read made = read({});
    EXPECT_EQ(find(made.checks(), "ranks").state, CheckState::kFine);
    made.summary.ranks.at(0).exitCode = 5;
    made.summary.ranks.at(1).exitSignal = 9;
    const Check check = find(made.checks(), "ranks");
    EXPECT_EQ(check.state, CheckState::kProblem);
    EXPECT_THAT(check.found, HasSubstr("rank 0 ended with status 5, rank 1 was ended by signal 9"));
}

TEST(Checks, AProblemIsAmongTheNoticesToo) {
    for (const test::SampleOptions& options :
         {test::SampleOptions{}, test::SampleOptions{.dropGathersOfStep = 4},
          test::SampleOptions{.dropped = 7}, test::SampleOptions{.finalise = false}}) {
        const Read made = read(options);
        const auto checks = made.checks();
        const bool any = std::any_of(checks.begin(), checks.end(), [](const Check& each) {
            return each.state == CheckState::kProblem;
        });
        EXPECT_TRUE(!any || problemCount(notices(made.report)) > 0);
    }
}

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> titles(const std::vector<Notice>& notices) {
    std::vector<std::string> all;
    for (const Notice& notice : notices) all.push_back(notice.title);
    return all;
}

Completeness certificate(bool complete, bool known, std::vector<std::string> missing = {}) {
    Completeness told;
    told.complete = complete;
    told.known = known;
    told.missing = std::move(missing);
    return told;
}

TEST(Notices, OfACompleteHealthyRunThereAreNone) {
    Report report;
    report.completeness = certificate(true, true);
    EXPECT_THAT(notices(report), IsEmpty());
    EXPECT_EQ(problemCount({}), 0);
}

TEST(Notices, AreOneListBySeverity) {
    Report report;
    report.diagnostics = {{Severity::kNote, "imported", "imported from a.json", "", {}, {}, 1},
                          {Severity::kWarning,
                           "more-ranks-than-cores",
                           "4 ranks on 2 cores",
                           "use fewer ranks",
                           RankId{3},
                           {},
                           1}};
    report.completeness = certificate(false, true, {"step 3 of rank 1 has no reduction"});
    RunFinding finding;
    finding.severity = Severity::kWarning;
    finding.title = "Rank 1 arrives last";
    report.findings = {finding};
    const auto all = notices(report);
    EXPECT_THAT(titles(all),
                ElementsAre("Something is missing from the recording", "4 ranks on 2 cores.",
                            "Rank 1 arrives last", "Imported from a.json."));
    EXPECT_EQ(all[0].detail, "Step 3 of rank 1 has no reduction.");
    EXPECT_EQ(all[1].rank, RankId{3});
    EXPECT_EQ(problemCount(all), 3);
}

/// On an H200 two counters that the device does not offer stood above what cost half of the time.
TEST(Notices, OfNotesWhatCostsTimeComesFirst) {
    Report report;
    report.diagnostics = {{Severity::kNote, "no-counter", "no NVLink here", "", {}, {}, 1}};
    RunFinding slow, told;
    slow.title = "Devices have nothing to do";
    slow.cost = Duration{1};
    told.title = "Told";
    report.findings = {told, slow};
    EXPECT_THAT(titles(notices(report)),
                ElementsAre("Devices have nothing to do", "No NVLink here.", "Told"));
}

TEST(Notices, WhatCannotBeToldIsNoProblem) {
    Report report;
    report.completeness = certificate(false, false, {"phases were not recorded"});
    const auto all = notices(report);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].code, "completeness-unknown");
    EXPECT_EQ(problemCount(all), 0);
}

TEST(Notices, SayWhatTheyAreAboutWhatFollowsAndWhatToDo) {
    Report report;
    report.diagnostics = {{Severity::kNote, "imported", "imported from a.json", "", {}, {}, 1},
                          {Severity::kWarning,
                           "events-dropped",
                           "rank 0 dropped 7 of 9 events",
                           "Record with --capture light, or leave a core free.",
                           RankId{0},
                           {},
                           7},
                          {Severity::kNote, "sample", "the model says: to be", "", {}, {}, 1}};
    report.completeness = {false, true, {"a gather is missing"},
                           9,     1,    {{RankId{1}, {4}, "g", 2, 1}}};
    report.findings.emplace_back().code = "late-rank";
    const auto all = notices(report);
    ASSERT_EQ(all.size(), 5u);
    EXPECT_EQ(all[0].topic, NoticeTopic::kMissing);
    EXPECT_EQ(all[0].rank, RankId{1}) << "of the first step that lacks something";
    ASSERT_TRUE(all[0].steps);
    EXPECT_EQ(all[0].steps->first, StepIndex{4});
    EXPECT_EQ(all[1].topic, NoticeTopic::kMissing);
    EXPECT_EQ(all[1].remedy, "record with --capture light, or leave a core free");
    EXPECT_EQ(all[1].count, 7);
    EXPECT_FALSE(all[1].consequence.empty());
    EXPECT_EQ(all[2].topic, NoticeTopic::kImport);
    EXPECT_EQ(all[3].topic, NoticeTopic::kNoted);
    EXPECT_TRUE(all[3].consequence.empty());
    EXPECT_EQ(all[4].topic, NoticeTopic::kRun);
    report.diagnostics.push_back({Severity::kProblem, "rank-died", "rank 1 ended", "", {}, {}, 1});
    EXPECT_EQ(notices(report).front().topic, NoticeTopic::kRun) << "what ended the run";
}

}  // namespace
}  // namespace shardscope::analysis
