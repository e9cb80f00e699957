// The report for people, of few ranks and of many.
#include "app/cli/report_text.h"

#include "app/cli/report_many.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace shardscope::cli {
namespace {

using analysis::LedgerPart;
using testing::HasSubstr;
using testing::Not;

/// Rank r computes 100 ms and waits r ms, and holds r MiB.
analysis::Report reportOf(std::uint32_t ranks) {
    analysis::Report report;
    report.run.worldSize = static_cast<std::int32_t>(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        analysis::LedgerRow row;
        row.rank = {rank};
        const Duration compute{100'000'000}, waiting{std::int64_t{rank} * 1'000'000};
        row.parts[static_cast<std::size_t>(LedgerPart::kCompute)] = compute;
        row.parts[static_cast<std::size_t>(LedgerPart::kWaiting)] = waiting;
        row.wall = compute + waiting;
        report.ledger.push_back(row);
        analysis::RankMemory memory;
        memory.rank = {rank};
        memory.known = true;
        memory.peak = {std::int64_t{rank} << 20};
        report.memory.push_back(memory);
        report.waiting.push_back({{rank}, {1'000'000}, 1});
    }
    return report;
}

std::size_t linesOf(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(ReportText, OfFewRanksShowsEachOfThem) {
    const std::string text = reportText(reportOf(kFewRanks), "run.sscope");
    EXPECT_THAT(text, HasSubstr("rank 7"));
    EXPECT_THAT(text, Not(HasSubstr("--all")));
    EXPECT_THAT(text, Not(HasSubstr("idle, host"))) << "no rank has any";
    EXPECT_EQ(text, reportText(reportOf(kFewRanks), "run.sscope", true));
}

TEST(ReportText, OfManyShowsTheSpreadAndTheWorst) {
    const std::string text = reportText(reportOf(1000), "run.sscope");
    EXPECT_LT(linesOf(text), 60u) << "fits a screen";
    EXPECT_THAT(text, HasSubstr("Over 1000 ranks"));
    EXPECT_THAT(text, Not(HasSubstr("idle, host"))) << "no rank has any";
    // 0 to 999 ms: the least, the median, the most and whose that is.
    EXPECT_THAT(
        text, testing::ContainsRegex("waiting for the slowest +0 ns +500.*ms +999.*ms +rank 999"));
    EXPECT_THAT(text, testing::ContainsRegex("\n +999 +999.*ms +90.9 %"));
    EXPECT_THAT(text, Not(testing::ContainsRegex("\n +994 +994")));
    EXPECT_THAT(text, testing::ContainsRegex("peak +0 B.*rank 999"));
    EXPECT_THAT(text, HasSubstr("Of 1000 ranks; --all shows each of them."));
}

TEST(ReportText, OfManyShowsAllWhenAsked) {
    const std::string text = reportText(reportOf(20), "run.sscope", true);
    EXPECT_THAT(text, HasSubstr("rank 19"));
    EXPECT_THAT(text, HasSubstr("rank 12: "));
    EXPECT_THAT(text, Not(HasSubstr("Over 20 ranks")));
}

}  // namespace
}  // namespace shardscope::cli
