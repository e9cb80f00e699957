#include "profiler/analysis/rules/checks.h"

#include "profiler/analysis/rules/notices.h"
#include "storage/model/repaired.h"
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

}  // namespace
}  // namespace shardscope::analysis
