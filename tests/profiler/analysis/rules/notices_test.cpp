#include "profiler/analysis/rules/notices.h"

#include <gmock/gmock.h>

namespace shardscope::analysis {
namespace {

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
}

}  // namespace
}  // namespace shardscope::analysis
