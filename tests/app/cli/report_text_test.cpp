// The report for people, of few ranks and of many.
#include "app/cli/answers/report_text.h"

#include "app/cli/answers/answer_text.h"
#include "app/cli/answers/report_of.h"
#include "app/cli/console.h"
#include "app/cli/kept_text.h"
#include "engine/run/config/program_run.h"
#include "engine/run/config/run_config.h"
#include "profiler/analysis/part.h"
#include "storage/recording/beside/kept_results.h"
#include "tests/support/sample_recording.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

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

TEST(ReportText, BeginsWithWhatTheUserCallsTheRun) {
    analysis::Report report = reportOf(1);
    report.label = {"first try", {"small", "bf16"}};
    EXPECT_THAT(reportText(report, "run.sscope"),
                testing::StartsWith("Report of first try (run.sscope)\nTags: small, bf16\n"));
}

TEST(ReportText, NamesTheRangeOfMfuBySteps) {
    analysis::Report report = reportOf(1);
    report.mfu.steps = {{{4}, 0.25, 0.3}, {{7}, 0.125, 0.15}, {{9}, 0.2, 0.24}};
    EXPECT_THAT(reportText(report, "run.sscope"),
                HasSubstr("12.5 % (step 7) to 25.0 % (step 4), of the 3 that were looked at"));
}

TEST(ReportText, SaysFlopsWithAPrefix) {
    analysis::Report report = reportOf(1);
    report.mfu.flopsPerSecond = 21.17e9;
    report.mfu.flopsPerStep = 32'770;
    report.mfu.variant = "operators";
    EXPECT_THAT(
        reportText(report, "run.sscope"),
        HasSubstr("21.17 GFLOP/s over all ranks (operators, 32.77 kFLOP per step, median)"));
}

TEST(ReportText, SaysThePeakOfADeviceAsTheWindowDoes) {
    analysis::Report report = reportOf(1);
    analysis::DeviceUse use;
    use.device.name = "NVIDIA H100 80GB HBM3";
    use.device.measuredPeak = 0.26e12;
    use.device.measuredPeakSource = "measured";
    report.devices = {use};
    EXPECT_THAT(reportText(report, "run.sscope"), HasSubstr("; 260 GFLOP/s, measured"));
}

TEST(ReportText, SpeaksOfValidationOnlyOfOwnRuns) {
    analysis::Report report = reportOf(1);
    report.withinSteps = true;
    report.run.configJson = run::toJson(run::ProgramRun{{"train.py"}, "/", CaptureLevel::kFull});
    EXPECT_THAT(reportText(report, "run.sscope"),
                HasSubstr("Communication (all ranks, within steps)"));
    report.run.configJson = run::toJson(run::RunConfig{});
    report.run.model = "shakespeare";
    EXPECT_THAT(reportText(report, "run.sscope"), HasSubstr("within steps, validation left out)"));
}

TEST(ReportText, OfManyRanksHasTheoryOnlyWhereItIsKnown) {
    analysis::Report report = reportOf(kFewRanks + 1);
    EXPECT_THAT(reportText(report, "run.sscope"), Not(HasSubstr("theory")));
    report.memory.back().theory = {100};
    EXPECT_THAT(reportText(report, "run.sscope"), HasSubstr("theory"));
}

/// Only what makes a line longer than a screen loses its middle.
TEST(AnswerText, ShortensWhatIsTooLongForALine) {
    const std::string command(110, 'c'), kernel(300, 'k');
    questions::Table table{"t", "", {{"name", "name"}, {"n", "n"}, {"why", "why"}}, {}};
    table.rows = {{command, std::int64_t{1}, "none"}};
    EXPECT_EQ(tableText(table), "\n  name" + std::string(108, ' ') + "n\n  " + command + "  1\n")
        << "and no column of which no row says anything";
    table.rows = {{kernel, std::int64_t{1}, "late"}};
    const std::string text = tableText(table);
    EXPECT_THAT(text, HasSubstr("kkk...kkk"));
    EXPECT_THAT(text, HasSubstr("  1  late\n"));
    EXPECT_LE(text.substr(text.rfind("  k")).size(), 162U);
}

/// A cut trace is no run that finished.
TEST(ReportText, OfATraceDoesNotSayHowItsRunEnded) {
    analysis::Report report = reportOf(1);
    EXPECT_THAT(reportText(report, "trace.sscope"), HasSubstr("status    imported, "));
    report.run.model = "shakespeare";
    report.run.status = RunStatus::kFinished;
    EXPECT_THAT(reportText(report, "run.sscope"), HasSubstr(" finished, "));
}

TEST(ReportText, OfATraceSpeaksOfNoTheoryAndNoEvaluation) {
    analysis::Report report = reportOf(1);
    report.stepSecondsMedian = 0.1;
    EXPECT_THAT(reportText(report, "trace.json"), Not(HasSubstr("theory")));
    EXPECT_THAT(reportText(report, "trace.json"), Not(HasSubstr("evaluation")));
    report.run.model = "shakespeare";
    report.memory.front().theory = {100};
    report.memory.front().theoryByCategory.front() = {100};
    EXPECT_THAT(reportText(report, "run.sscope"), HasSubstr("of theory"));
    EXPECT_THAT(reportText(report, "run.sscope"), HasSubstr("steps with evaluation"));
}

TEST(ReportText, OfFewRanksShowsEachOfThem) {
    const std::string text = reportText(reportOf(kFewRanks), "run.sscope");
    EXPECT_THAT(text, testing::ContainsRegex("\n +7  wall time"));
    EXPECT_THAT(text, Not(HasSubstr("--all")));
    EXPECT_THAT(text, Not(HasSubstr("idle, host"))) << "no rank has any";
    EXPECT_EQ(text, reportText(reportOf(kFewRanks), "run.sscope", true));
}

TEST(ReportText, OfAMeasuringRunTellsOfNoTraining) {
    analysis::Report report = reportOf(2);
    run::RunConfig config;
    config.work = run::Work::kMeasuring;
    config.measureNorms = "50000x1024";
    report.run.configJson = run::toJson(config);
    const std::string text = reportText(report, "run.sscope");
    EXPECT_THAT(text, HasSubstr("nothing was trained"));
    EXPECT_THAT(text, HasSubstr("all-reduce of 1MB-64MB"));
    EXPECT_THAT(text, HasSubstr("50000x1024"));
    EXPECT_THAT(text, Not(HasSubstr("loss")));
    EXPECT_THAT(text, Not(HasSubstr("strategy")));
}

TEST(ReportText, OfManyShowsTheSpreadAndTheWorst) {
    const std::string text = reportText(reportOf(1000), "run.sscope");
    EXPECT_THAT(text, HasSubstr("the spread over 1000 ranks; --all shows each of them"));
    EXPECT_THAT(text, Not(HasSubstr("idle, host"))) << "no rank has any";
    // 0 to 999 ms: the least, the median, the most and whose that is.
    EXPECT_THAT(
        text, testing::ContainsRegex("waiting for the slowest +0 ns +500.*ms +999.*ms +rank 999"));
    EXPECT_THAT(text, testing::ContainsRegex("longest: rank 999 999.* ms .90.9 %.*, rank 998"));
    EXPECT_THAT(text, Not(HasSubstr("rank 994")));
    EXPECT_THAT(text, testing::ContainsRegex("peak +0 B.*rank 999"));
}

TEST(ReportText, OfManyFitsAScreen) {
    for (const bool gpu : {false, true}) {
        const test::TemporaryFolder folder;
        const std::string path = folder.file("many.sscope");
        test::SampleOptions options;
        options.ranks = 24;
        options.ranksPerHost = 4;
        options.gpu = gpu;
        options.steps = 14;
        ASSERT_TRUE(test::writeSampleRecording(path, options));
        const auto reader = storage::openRecording(path);
        ASSERT_TRUE(reader);
        const auto report = cli::reportOf(**reader, false);
        ASSERT_TRUE(report);
        const std::string text = reportText(*report, "many.sscope");
        EXPECT_LE(linesOf(wrapped(text, 140)), 50u) << text;
        EXPECT_THAT(text, Not(HasSubstr("rank 7 ")));
        EXPECT_GT(linesOf(reportText(*report, "many.sscope", true)), 100u);
    }
}

/// Problem, then warnings of less and less cost.
analysis::Report withFindings(std::size_t count) {
    analysis::Report report = reportOf(2);
    report.judged.enough = true;
    for (std::size_t i = 0; i < count; ++i) {
        analysis::RunFinding finding;
        finding.severity = i == 0 ? Severity::kProblem : Severity::kWarning;
        finding.title = "Finding " + std::to_string(i);
        finding.detail = "Seen in steps.";
        finding.remedy = "look at it";
        finding.rank = RankId{1};
        finding.steps = {StepIndex{2}, StepIndex{19}};
        finding.range = TimeRange{{5'000'000}, {6'000'000}};
        if (i > 0) finding.cost = Duration{static_cast<std::int64_t>(count - i) * 1'000'000};
        report.findings.push_back(finding);
    }
    return report;
}

TEST(ReportText, BeginsWithFindings) {
    const std::string text = reportText(withFindings(2), "run.sscope");
    EXPECT_THAT(text, testing::StartsWith(
                          "Report of run.sscope\n\nFindings\n  problem        Finding 0\n"));
    EXPECT_THAT(text, testing::ContainsRegex("where +rank 1, steps 2 to 19, at 5.*ms of the rec"));
    EXPECT_THAT(text, testing::ContainsRegex("evidence +Seen in steps"));
    EXPECT_THAT(text, testing::ContainsRegex("what to try +look at it\n"));
    EXPECT_THAT(text, testing::ContainsRegex("cost +1.*ms of all ranks together"));
    EXPECT_LT(text.find("Finding 1"), text.find("Configuration"));
    EXPECT_THAT(text, Not(HasSubstr("nothing stands out")));
    EXPECT_THAT(text, Not(HasSubstr("more: --all")));
}

TEST(ReportText, ShowsFiveFindings) {
    const std::string text = reportText(withFindings(7), "run.sscope");
    EXPECT_THAT(text, HasSubstr("Finding 4"));
    EXPECT_THAT(text, Not(HasSubstr("Finding 5")));
    EXPECT_THAT(text, HasSubstr("  2 more: --all\n"));
    const std::string all = reportText(withFindings(7), "run.sscope", true);
    EXPECT_THAT(all, HasSubstr("Finding 6"));
    EXPECT_THAT(all, Not(HasSubstr("more: --all")));
}

TEST(ReportText, SaysThatNothingStandsOutOnlyWhereItCanTell) {
    constexpr const char* kNothing = "No findings: nothing stands out";
    analysis::Report report = reportOf(2);
    report.judged = {true, {"memory: no memory events are recorded"}};
    EXPECT_THAT(reportText(report, "run.sscope"), HasSubstr(kNothing));
    EXPECT_THAT(reportText(report, "run.sscope"), HasSubstr("unknown: memory: no memory"));
    analysis::markRunning(report);
    EXPECT_THAT(reportText(report, "run.sscope"), Not(HasSubstr(kNothing)));
    EXPECT_THAT(reportText(report, "run.sscope"), HasSubstr("unknown: final figures"));
    report.running = false;
    report.judged = {false, {"slow steps and late ranks: no steps are recorded"}};
    EXPECT_THAT(reportText(report, "run.sscope"), Not(HasSubstr(kNothing)));
    EXPECT_THAT(reportText(report, "run.sscope"), HasSubstr("unknown: slow steps"));
    EXPECT_THAT(reportText(analysis::Report(), "run.sscope"), Not(HasSubstr(kNothing)));
}

TEST(ReportText, OfManyShowsAllWhenAsked) {
    const std::string text = reportText(reportOf(20), "run.sscope", true);
    EXPECT_THAT(text, testing::ContainsRegex("\n +19  wall time"));
    EXPECT_THAT(text, testing::ContainsRegex("\n +12  12.0 MiB +0 ns"));
    EXPECT_THAT(text, Not(HasSubstr("spread over")));
}

class KeptText : public testing::Test {
protected:
    void SetUp() override { ASSERT_TRUE(test::writeSampleRecording(m_place.path, {.steps = 2})); }

    Result<std::string> ask(const std::string& question, std::chrono::milliseconds takes,
                            bool lasting = true, bool fresh = false) {
        return keptText(m_place, question, fresh, [&]() -> Result<Computed> {
            std::this_thread::sleep_for(takes);
            return Computed{std::to_string(++m_computed), lasting};
        });
    }
    [[nodiscard]] bool isKept() const {
        return std::filesystem::exists(storage::KeptResults::pathOf(m_place.path));
    }

    static constexpr std::chrono::milliseconds kLong{600}, kShort{0};
    test::TemporaryFolder m_folder;
    RecordingPlace m_place{m_folder.file("run.sscope"), {}};
    int m_computed = 0;
};

TEST_F(KeptText, OfLongWorkIsSaidAgain) {
    EXPECT_EQ(ask("why", kLong), "1");
    EXPECT_EQ(ask("why", kLong), "1");
    EXPECT_EQ(ask("where", kShort), "2");
    EXPECT_EQ(ask("where", kShort), "3") << "what is done at once is not kept";
    EXPECT_EQ(ask("why", kLong), "1");
}

TEST_F(KeptText, IsComputedAnewWhereThatIsWanted) {
    EXPECT_EQ(ask("why", kLong, true, true), "1");
    EXPECT_FALSE(isKept());
    EXPECT_EQ(ask("why", kLong), "2");
    EXPECT_EQ(ask("why", kLong, true, true), "3");
    EXPECT_EQ(ask("why", kLong), "2");
}

TEST_F(KeptText, OfAnUnfinishedRecordingIsNotKept) {
    EXPECT_EQ(ask("why", kLong, false), "1");
    EXPECT_FALSE(isKept());
}

TEST_F(KeptText, IsNoErrorOfBefore) {
    const auto failing = keptText(m_place, "why", false, []() -> Result<Computed> {
        std::this_thread::sleep_for(kLong);
        return failure(ErrorCode::kUnreadable, "it cannot be read");
    });
    ASSERT_FALSE(failing);
    EXPECT_EQ(failing.error().message, "it cannot be read");
    EXPECT_FALSE(isKept());
    EXPECT_EQ(ask("why", kLong), "1");
}

}  // namespace
}  // namespace shardscope::cli
