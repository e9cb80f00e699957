#include "profiler/analysis/notices.h"

#include <gmock/gmock.h>

namespace shardscope::analysis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> titles(const std::vector<RunFinding>& notices) {
    std::vector<std::string> all;
    for (const RunFinding& notice : notices) all.push_back(notice.title);
    return all;
}

TEST(Notices, OfACompleteHealthyRunThereAreNone) {
    Report report;
    report.completeness = {true, true, {}};
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
    report.completeness = {false, true, {"step 3 of rank 1 has no reduction"}};
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

TEST(Notices, WhatCannotBeToldIsNoProblem) {
    Report report;
    report.completeness = {false, false, {"phases were not recorded"}};
    const auto all = notices(report);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].code, "completeness-unknown");
    EXPECT_EQ(problemCount(all), 0);
}

}  // namespace
}  // namespace shardscope::analysis
