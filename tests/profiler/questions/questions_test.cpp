// Questions asked of whole recordings: answers that fit what was recorded, and what is unknown.
#include "profiler/questions/compare.h"
#include "profiler/questions/question.h"
#include "profiler/questions/scaling.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/profiler/questions/asking.h"
#include "tests/profiler/questions/sound.h"
#include "tests/support/result_matchers.h"
#include "tests/support/sample_recording.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace shardscope::questions {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(QuestionList, NamesEachOnceAndSaysWhatItMeans) {
    std::set<std::string> keys;
    for (const Question& question : allQuestions()) {
        EXPECT_TRUE(keys.insert(question.key).second) << question.key;
        EXPECT_EQ(findQuestion(question.key), &question);
        EXPECT_STREQ(question.title + std::string(question.title).size() - 1, "?");
        EXPECT_NE(std::string(question.definition), "");
        EXPECT_NE(std::string(question.source), "");
    }
    EXPECT_EQ(findQuestion("nonsense"), nullptr);
}

TEST_F(Questions, AreAnsweredSoundlyOfAnyRecording) {
    std::vector<test::SampleOptions> all(6);
    all[1].ranks = 1;
    all[2].gpu = true;
    all[3].steps = 1;
    all[4].finalise = false;
    all[5].gpu = true;
    all[5].gpuTraced = false;
    for (const test::SampleOptions& options : all) {
        record(options);
        for (const Question& question : allQuestions())
            for (const Mode mode : {Mode::kExact, Mode::kHta})
                test::expectSound(ask(question.key, mode));
    }
}

TEST_F(Questions, BreakdownAddsUp) {
    record();
    const Answer answer = ask("breakdown");
    ASSERT_EQ(answer.tables.size(), 1u);
    const Table& table = answer.tables[0];
    ASSERT_EQ(table.rows.size(), 2u);
    for (std::size_t row = 0; row < 2; ++row) {
        EXPECT_NEAR(number(table, row, "span_us"),
                    number(table, row, "idle_us") + number(table, row, "compute_us") +
                        number(table, row, "non_compute_us"),
                    1e-6);
        EXPECT_GT(number(table, row, "overlap_pct"), 0);
    }
    EXPECT_THAT(answer.unknown, IsEmpty());
}

TEST_F(Questions, BreakdownOfAStepIsLessThanOfAll) {
    record();
    Selection step;
    step.steps = {{{3}, {3}}};
    step.ranks = {{1}};
    const Table one = ask("breakdown", Mode::kExact, step).tables.at(0);
    const Table all = ask("breakdown").tables.at(0);
    ASSERT_EQ(one.rows.size(), 1u);
    EXPECT_EQ(whole(one, 0, "rank"), 1);
    EXPECT_LT(number(one, 0, "span_us"), number(all, 1, "span_us") / 5);
}

TEST_F(Questions, StepsOneByOneSayWhatTheyWaitedForACore) {
    record();
    m_summary.steps.own().front().coreWaitNs = -1;
    Asked asked{*m_reader, m_summary, {}};
    asked.perStep = true;
    const auto answer = findQuestion("steps")->ask(asked);
    ASSERT_TRUE(answer) << answer.error().message;
    const Table& each = answer->tables.at(1);
    const std::size_t column = each.columnAt("core_wait_ns");
    EXPECT_FALSE(each.shows(column)) << "scripts have it; people the part";
    ASSERT_EQ(each.rows.size(), m_summary.steps.size());
    std::size_t unknown = 0;
    for (const auto& row : each.rows) {
        ASSERT_EQ(row.size(), each.columns.size());
        if (row[column].isNone())
            ++unknown;
        else
            EXPECT_EQ(*row[column].integer(), m_summary.steps.back().coreWaitNs);
    }
    EXPECT_EQ(unknown, 1u);
}

TEST_F(Questions, HtaKnowsNoSteps) {
    record();
    Selection step;
    step.steps = {{{3}, {3}}};
    const auto selected = step.of(m_summary);
    ASSERT_TRUE(selected);
    const auto answer = findQuestion("breakdown")->ask({*m_reader, *selected, step, Mode::kHta});
    ASSERT_FALSE(answer);
    EXPECT_THAT(answer.error().message, HasSubstr("HTA knows no range"));
}

TEST_F(Questions, CollectivesNameTheLateRank) {
    record();
    const Answer answer = ask("collectives");
    const Table& operations = answer.tables.at(0);
    const Table& each = answer.tables.at(1);
    ASSERT_GT(operations.rows.size(), 1u);
    std::int64_t counted = 0;
    for (std::size_t row = 0; row < operations.rows.size(); ++row)
        counted += whole(operations, row, "count");
    EXPECT_LE(counted, static_cast<std::int64_t>(each.rows.size()));
    std::int64_t late = 0;
    for (std::size_t row = 0; row < each.rows.size(); ++row)
        late += whole(each, row, "late_rank") == 1;
    EXPECT_GT(late, static_cast<std::int64_t>(each.rows.size()) / 2);  // the last is always late
}

TEST_F(Questions, CollectivesOfOneRankCannotBeTold) {
    test::SampleOptions options;
    options.ranks = 1;
    record(options);
    EXPECT_THAT(ask("collectives").unknown, testing::Not(IsEmpty()));
}

/// The table of that key, of an answer that has it.
const Table* find(const Answer& answer, std::string_view key) {
    for (const Table& table : answer.tables)
        if (key == table.key) return &table;
    return nullptr;
}

TEST_F(Questions, LaunchesWithoutDevicesAreUnknownOnce) {
    record();
    const Answer answer = ask("launches");
    EXPECT_THAT(answer.tables, IsEmpty());
    ASSERT_EQ(answer.unknown.size(), 1u);  // said once, not for each rank
    EXPECT_THAT(answer.unknown[0], HasSubstr("how kernels were launched is unknown"));
}

TEST_F(Questions, LaunchesOfOneRankWithoutADeviceNameIt) {
    test::SampleOptions options;
    options.ranks = 1;
    record(options);
    const Answer answer = ask("launches");
    ASSERT_EQ(answer.unknown.size(), 1u);
    EXPECT_THAT(answer.unknown[0], HasSubstr("how kernels of rank 0 were launched is unknown"));
}

TEST_F(Questions, LaunchesAddUp) {
    test::SampleOptions options;
    options.gpu = true;
    record(options);
    const Answer answer = ask("launches");
    const Table* idle = find(answer, "idle");
    ASSERT_NE(idle, nullptr);
    for (std::size_t row = 0; row < idle->rows.size(); ++row) {
        EXPECT_EQ(whole(*idle, row, "idle_ns"),
                  whole(*idle, row, "host_wait_ns") + whole(*idle, row, "kernel_wait_ns") +
                      whole(*idle, row, "other_ns") + whole(*idle, row, "unknown_ns"));
        EXPECT_LE(whole(*idle, row, "idle_ns"), whole(*idle, row, "span_ns"));
    }
    ASSERT_NE(find(answer, "calls"), nullptr);
    EXPECT_GT(whole(*find(answer, "calls"), 0, "count"), 0);
    // The kernels of collectives say no launch.
    EXPECT_THAT(answer.unknown, testing::Contains(HasSubstr("what launched")));
}

TEST_F(Questions, WorkHasCollectivesAndPartsOfPhases) {
    record();
    const Answer answer = ask("work");
    const Table* collectives = find(answer, "collectives");
    ASSERT_NE(collectives, nullptr);
    std::size_t counted = 0, recorded = 0;
    for (std::size_t row = 0; row < collectives->rows.size(); ++row) {
        counted += static_cast<std::size_t>(whole(*collectives, row, "count"));
        EXPECT_LE(whole(*collectives, row, "median_ns"), whole(*collectives, row, "longest_ns"));
    }
    const TimeRange all{m_summary.bounds.begin, {m_summary.bounds.end.ns + 1}};
    for (const RankFacts& rank : m_summary.ranks)
        recorded += m_reader->rankEvents(rank.rank, all)->collectives.size();
    EXPECT_EQ(counted, recorded);
    const Table* parts = find(answer, "parts");
    ASSERT_NE(parts, nullptr);
    double share = 0;
    for (std::size_t row = 0; row < parts->rows.size(); ++row)
        share += number(*parts, row, "share_pct");
    EXPECT_NEAR(share, 100.0 * static_cast<double>(m_summary.ranks.size()), 1e-9);
    EXPECT_EQ(parts->rows.at(0).back(), Cell("phases"));
}

// It runs once before the first step and would be taken for a part of the training.
TEST_F(Questions, WorkLeavesCalibrationOut) {
    for (const bool gpu : {false, true}) {
        record({.gpu = gpu});
        const Answer answer = ask("work");
        const auto counted = [&](const std::string& view, const std::string& of) {
            const auto rows = m_reader->query("SELECT count(*) FROM " + view + " WHERE " + of);
            EXPECT_TRUE(rows);
            return std::stoll(rows->rows.at(0).at(0).value_or("0"));
        };
        ASSERT_GT(counted("operators", "phase='calibration'"), 0);
        const Table& operators = *find(answer, "operators");
        std::int64_t count = 0;
        for (std::size_t row = 0; row < operators.rows.size(); ++row)
            count += whole(operators, row, "count");
        EXPECT_EQ(count, counted("operators", "phase<>'calibration'"));
        ASSERT_EQ(answer.sentences.size(), 1u);
        EXPECT_THAT(answer.sentences.front(),
                    AllOf(HasSubstr("Calibration before the training is left out: "),
                          HasSubstr("s of operators")));
        if (!gpu) continue;
        EXPECT_THAT(answer.sentences.front(), HasSubstr("s of kernels and copies"));
        const Table& kernels = *find(answer, "kernels");
        for (std::size_t row = 0; row < kernels.rows.size(); ++row) {
            const std::string& name = *kernels.rows[row][kernels.columnAt("name")].text();
            EXPECT_EQ(whole(kernels, row, "count"),
                      counted("events",
                              "kind='span' AND role IN ('compute', 'communication') AND "
                              "lane_name LIKE '%stream%' AND "
                              "phase<>'calibration' AND name='" +
                                  name + "'"))
                << name;
        }
    }
    Selection steps;
    steps.steps = {{StepIndex{1}, StepIndex{2}}};
    EXPECT_TRUE(ask("work", Mode::kExact, steps).sentences.empty());
}

TEST_F(Questions, LongTablesAreSortedAndCut) {
    record();
    const Selection all;
    const auto sorted = [&](Order by, std::size_t top) {
        auto answer = findQuestion("work")->ask(
            {*m_reader, m_summary, all, Mode::kExact, false, false, by, top});
        EXPECT_TRUE(answer);
        return *find(*answer, "operators");
    };
    const Table whole = sorted(Order::kCount, 0);
    ASSERT_GT(whole.rows.size(), 2u);
    for (const Order order : kAll<Order>) {
        const Table table = sorted(order, 0);
        const char* column = entryOf(order)->column;
        ASSERT_EQ(table.rows.size(), whole.rows.size());
        for (std::size_t row = 1; row < table.rows.size(); ++row)
            EXPECT_GE(number(table, row - 1, column), number(table, row, column)) << column;
    }
    const Table two = sorted(Order::kCount, 2);
    ASSERT_EQ(two.rows.size(), 2u);
    EXPECT_EQ(two.rows[1], whole.rows[1]);
}

TEST_F(Questions, StacksOfAFlameGraphHoldTheTimeOfTheirLane) {
    record();
    const Answer answer = ask("flame");
    const Table* stacks = find(answer, "stacks");
    ASSERT_NE(stacks, nullptr);
    // A lane's self times are what its outermost spans took.
    std::int64_t self = 0, outermost = 0;
    for (std::size_t row = 0; row < stacks->rows.size(); ++row) {
        EXPECT_LE(whole(*stacks, row, "self_ns"), whole(*stacks, row, "total_ns"));
        const std::string& stack = *stacks->rows[row][2].text();
        if (whole(*stacks, row, "rank") == 0 && stack.starts_with("operators;"))
            self += whole(*stacks, row, "self_ns");
    }
    const TimeRange all{m_summary.bounds.begin, {m_summary.bounds.end.ns + 1}};
    const auto spans = m_reader->spans({0}, lanes::kOperators.id, all);
    ASSERT_TRUE(spans);
    for (const SpanEvent& span : *spans)
        if (span.depth == 0 && !isApart(span)) outermost += span.duration.ns;
    EXPECT_GT(self, 0);
    EXPECT_EQ(self, outermost);
    ASSERT_EQ(answer.sentences.size(), 1u);
    EXPECT_TRUE(answer.sentences[0].starts_with("Calibration before the training is left out: "));
}

/// The steady ones: two of warm-up left out, none that evaluates (every fifth).
TEST_F(Questions, BoundsAddUpToTheSteps) {
    record();
    const Answer answer = ask("bounds");
    std::map<StepIndex, TimeRange> steps;
    for (const StepFacts& facts : m_summary.steps) {
        if (facts.step < StepIndex{2} || (facts.step.value + 1) % 5 == 0) continue;
        TimeRange& range = steps.try_emplace(facts.step, facts.range()).first->second;
        range = {std::min(range.begin, facts.start), std::max(range.end, facts.end)};
    }
    std::int64_t walls = 0;
    for (const auto& [step, range] : steps) walls += range.duration().ns;
    for (const std::size_t table : {0U, 1U}) {
        std::int64_t times = 0;
        for (std::size_t row = 0; row < answer.tables.at(table).rows.size(); ++row)
            times += whole(answer.tables[table], row, "time_ns");
        EXPECT_EQ(times, walls) << answer.tables[table].key;
    }
    EXPECT_EQ(*answer.figures.at(0).value.integer(), static_cast<std::int64_t>(steps.size()));
    EXPECT_THAT(answer.sentences, testing::Contains(HasSubstr("played again")));
    EXPECT_THAT(answer.unknown, IsEmpty());
}

TEST_F(Questions, BoundsAreWithoutExposedGathersShorter) {
    record();
    const Answer answer = ask("bounds");
    const Table& scenarios = answer.tables.at(2);
    ASSERT_GT(scenarios.rows.size(), 3u);
    EXPECT_EQ(*scenarios.rows[0][0].text(), "gathers hidden");
    EXPECT_EQ(*scenarios.rows[1][0].text(), "link twice as fast");
    const std::int64_t recorded = *answer.figures.at(1).value.integer();
    for (std::size_t row = 0; row < scenarios.rows.size(); ++row)
        EXPECT_EQ(whole(scenarios, row, "step_ns") + whole(scenarios, row, "saved_ns"), recorded);
    EXPECT_GT(whole(scenarios, 0, "saved_ns"), 0);
    EXPECT_GT(whole(scenarios, 1, "saved_ns"), 0);
}

TEST_F(Questions, StepsArePlayedWithWhatIsGiven) {
    record();
    const Selection all;
    Asked asked{*m_reader, m_summary, all};
    const auto first = [&](const char* question, std::size_t table) {
        const auto answer = findQuestion(question)->ask(asked);
        EXPECT_TRUE(answer) << answer.error().message;
        return answer ? answer->tables.at(table).rows.at(0) : std::vector<Cell>(4);
    };
    asked.faster = {{"link", 2}, {"rank 1", 1.5}};
    EXPECT_EQ(*first("bounds", 2)[0].text(), "link 2 times as fast, rank 1 1.5 times as fast");
    // What is played anyway is not there twice.
    asked.faster = {{"link", 2}};
    const auto played = findQuestion("bounds")->ask(asked);
    ASSERT_TRUE(played) << played.error().message;
    int links = 0;
    for (const auto& row : played->tables.at(2).rows) links += row[0].text()->starts_with("link");
    EXPECT_EQ(links, 1);
    const auto complaint = [&](SpeedUp wrong) {
        asked.faster = {std::move(wrong)};
        const auto answer = findQuestion("bounds")->ask(asked);
        return answer ? std::string() : answer.error().message;
    };
    EXPECT_THAT(complaint({"rank 77", 2}), HasSubstr("rank 77"));
    EXPECT_THAT(complaint({"rank x", 2}), HasSubstr("'rank x'"));
    EXPECT_THAT(complaint({"linke", 2}), HasSubstr("did you mean 'link'"));
}

TEST_F(Questions, BoundsOfAStepAreItsOwn) {
    record();
    Selection step;
    step.steps = {{{3}, {3}}};
    const auto selected = step.of(m_summary);
    ASSERT_TRUE(selected);
    Asked asked{*m_reader, *selected, step};
    asked.perStep = true;
    const auto answer = findQuestion("bounds")->ask(asked);
    ASSERT_TRUE(answer) << answer.error().message;
    const Table& each = answer->tables.at(3);
    EXPECT_EQ(each.rows.size(), answer->tables.at(0).rows.size());
    for (std::size_t row = 0; row < each.rows.size(); ++row) EXPECT_EQ(whole(each, row, "step"), 3);
    EXPECT_EQ(*answer->figures.at(0).value.integer(), 1);
}

TEST_F(Questions, BoundsOfADeviceGoThroughKernels) {
    test::SampleOptions options;
    options.gpu = true;
    record(options);
    const Answer answer = ask("bounds");
    const Table& pieces = answer.tables.at(1);
    std::set<std::string> kinds;
    bool kernel = false;
    for (const auto& row : pieces.rows) {
        kinds.insert(*row.at(pieces.columnAt("kind")).text());
        const auto* name = row.at(pieces.columnAt("name")).text();
        kernel = kernel || (name != nullptr && name->find("shardedAdamW") == 0);
    }
    EXPECT_TRUE(kernel);
    EXPECT_THAT(kinds, testing::IsSupersetOf({"compute", "launch", "moving", "host"}));
}

TEST_F(Questions, BoundsOfAnUntracedDeviceCannotBeTold) {
    test::SampleOptions options;
    options.gpu = true;
    options.gpuTraced = false;
    record(options);
    const Answer answer = ask("bounds");
    EXPECT_TRUE(answer.tables.empty());
    EXPECT_THAT(answer.unknown, testing::ElementsAre(HasSubstr("nor kernels of devices")));
}

TEST_F(Questions, MemoryOfThePeakAddsUpToIt) {
    record();
    const Answer answer = ask("memory");
    const Table* ranks = find(answer, "ranks");
    const Table* owners = find(answer, "owners");
    const Table* phases = find(answer, "phases");
    ASSERT_TRUE(ranks != nullptr && owners != nullptr && phases != nullptr);
    std::int64_t peak = 0, alive = 0;
    for (std::size_t row = 0; row < ranks->rows.size(); ++row)
        peak = std::max(peak, whole(*ranks, row, "peak_bytes"));
    for (std::size_t row = 0; row < owners->rows.size(); ++row)
        alive += whole(*owners, row, "bytes");
    EXPECT_GT(peak, 0);
    EXPECT_EQ(alive, peak);
    ASSERT_FALSE(phases->rows.empty());
    EXPECT_LE(whole(*phases, 0, "peak_bytes"), peak);
    EXPECT_THAT(answer.unknown,
                testing::Contains(HasSubstr("fragmentation and the allocator's retries unknown")));
}

TEST_F(Questions, MemoryOfADeviceHasWhatItsAllocatorHolds) {
    test::SampleOptions options;
    options.gpu = true;
    record(options);
    const Answer answer = ask("memory");
    const Table* allocator = find(answer, "allocator");
    ASSERT_NE(allocator, nullptr);
    ASSERT_EQ(allocator->rows.size(), 2u);
    for (std::size_t row = 0; row < 2; ++row)
        EXPECT_LE(whole(*allocator, row, "slack_bytes"), whole(*allocator, row, "reserved_bytes"));
}

/// The figure of that key, which there is.
const Cell& figure(const Answer& answer, std::string_view key) {
    return std::find_if(answer.figures.begin(), answer.figures.end(),
                        [&](const Figure& each) { return key == each.what.key; })
        ->value;
}

TEST_F(Questions, EfficiencyOfDevicesHasEnergyAndBothPeaks) {
    test::SampleOptions options;
    options.gpu = true;
    record(options);
    const Answer answer = ask("efficiency");
    ASSERT_NE(figure(answer, "joules_per_step").real(), nullptr);
    EXPECT_GT(*figure(answer, "joules_per_step").real(),
              *figure(answer, "joules_per_token").real());
    const Table* energy = find(answer, "energy");
    ASSERT_NE(energy, nullptr);
    double sum = 0;
    for (std::size_t row = 0; row < energy->rows.size(); ++row)
        sum += number(*energy, row, "joules_per_step");
    EXPECT_DOUBLE_EQ(*figure(answer, "joules_per_step").real(), sum);
    const Table* peaks = find(answer, "peaks");
    ASSERT_NE(peaks, nullptr);
    EXPECT_NEAR(number(*peaks, 0, "measured_of_vendor_pct"),
                100 * number(*peaks, 0, "measured_flops") / number(*peaks, 0, "vendor_flops"),
                1e-9);
}

TEST_F(Questions, EfficiencyOfCpusSaysThatEnergyIsNotKnown) {
    record();
    const Answer answer = ask("efficiency");
    EXPECT_TRUE(figure(answer, "joules_per_token").isNone());
    EXPECT_THAT(answer.unknown, testing::Contains(HasSubstr("joules per token unknown")));
}

TEST_F(Questions, EfficiencyOfPartsOverRanksLiesBetweenThoseOfRanks) {
    record();
    const Answer answer = ask("efficiency");
    const Table* all = find(answer, "all_parts");
    const Table* byRank = find(answer, "parts");
    ASSERT_NE(all, nullptr);
    ASSERT_NE(byRank, nullptr);
    ASSERT_FALSE(all->rows.empty());
    EXPECT_EQ(all->rows.size() * m_summary.ranks.size(), byRank->rows.size());
    for (std::size_t row = 0; row < all->rows.size(); ++row) {
        EXPECT_EQ(whole(*all, row, "ranks"), static_cast<std::int64_t>(m_summary.ranks.size()));
        EXPECT_LE(number(*all, row, "slowest_flops_per_s"), number(*all, row, "flops_per_s"));
        EXPECT_GE(number(*all, row, "fastest_flops_per_s"), number(*all, row, "flops_per_s"));
        EXPECT_NEAR(number(*all, row, "peak_pct"),
                    100 * number(*all, row, "flops_per_s") / *m_summary.ranks.front().peakFlops,
                    1e-9);
    }
    const Table* peaks = find(answer, "peaks");
    ASSERT_NE(peaks, nullptr);
    EXPECT_EQ(peaks->rows.front().at(peaks->columnAt("precision")), Cell("fp32"));
}

TEST_F(Questions, TrustSaysWhatWasCheckedAndWhichStepsLackSomething) {
    record();
    const Answer whole = ask("trust");
    const Table* checks = find(whole, "checks");
    ASSERT_NE(checks, nullptr);
    EXPECT_EQ(checks->rows.front().at(checks->columnAt("state")), Cell("fine"));
    EXPECT_EQ(find(whole, "gaps"), nullptr);
    ASSERT_FALSE(m_summary.steps.empty());
    m_summary.steps.own().front().expectedGathers += 2;
    const Answer lacking = ask("trust");
    const Table* gaps = find(lacking, "gaps");
    ASSERT_NE(gaps, nullptr);
    ASSERT_EQ(gaps->rows.size(), 1u);
    EXPECT_EQ(gaps->rows[0].at(gaps->columnAt("step")),
              Cell(std::int64_t{m_summary.steps.front().step.value}));
    EXPECT_EQ(find(lacking, "checks")->rows.front().at(checks->columnAt("state")), Cell("problem"));
}

TEST_F(Questions, TrustKnowsTheObserverOnlyFromStepsOfDifferentLevels) {
    record();
    EXPECT_THAT(ask("trust").unknown,
                testing::Contains(HasSubstr("every step was recorded at the same level")));
    for (const RankFacts& rank : m_summary.ranks) {
        for (std::int32_t step = 1; step < 10; step += 2) {
            DetailFacts detail;
            detail.rank = rank.rank;
            detail.first = detail.last = StepIndex{step};
            m_summary.detail.push_back(detail);
        }
    }
    const Answer answer = ask("trust");
    const Table* observer = find(answer, "observer");
    ASSERT_NE(observer, nullptr);
    EXPECT_EQ(*observer->rows.at(0).at(0).text(), "full");
    EXPECT_EQ(*observer->rows.at(0).at(1).text(), "steps");
    EXPECT_THAT(answer.unknown, testing::Contains(HasSubstr("it takes 6 steady steps")));
}

TEST_F(Questions, TrustOfADeviceHasItsTracersTime) {
    test::SampleOptions options;
    options.gpu = true;
    record(options);
    const Answer answer = ask("trust");
    const Table* tracer = find(answer, "tracer");
    ASSERT_NE(tracer, nullptr);
    EXPECT_EQ(tracer->rows.size(), 2u);
}

class SeveralRecordings : public testing::Test {
protected:
    storage::RecordingReader& record(const std::string& name, const test::SampleOptions& options) {
        const std::string path = m_folder.file(name);
        EXPECT_TRUE(test::writeSampleRecording(path, options));
        auto reader = storage::openRecording(path);
        EXPECT_TRUE(reader);
        return *m_readers.emplace_back(std::move(*reader));
    }

    test::TemporaryFolder m_folder;
    std::vector<std::unique_ptr<storage::RecordingReader>> m_readers;
};

TEST_F(SeveralRecordings, ScaleAgainstTheMeasuredRank) {
    test::SampleOptions one, four;
    one.ranks = 1;
    four.ranks = 4;
    const auto answer = scalingOfRecordings(
        {{"four", &record("4.sscope", four)}, {"one", &record("1.sscope", one)}}, false);
    ASSERT_TRUE(answer) << answer.error().message;
    test::expectSound(*answer);
    const Table& table = answer->tables.at(0);
    ASSERT_EQ(table.rows.size(), 2u);
    EXPECT_EQ(table.rows[0][table.columnAt("name")], Cell("one"));
    EXPECT_EQ(table.rows[0][table.columnAt("efficiency_pct")], Cell(100.0));
    EXPECT_NE(table.rows[1][table.columnAt("efficiency_pct")].real(), nullptr);
    EXPECT_EQ(answer->settings.at(0).second, "weak");  // so many sequences a rank
    EXPECT_THAT(answer->unknown, IsEmpty());
}

TEST_F(SeveralRecordings, WithoutOneOfARankHaveNoEfficiency) {
    test::SampleOptions two, four;
    four.ranks = 4;
    const auto answer = scalingOfRecordings(
        {{"two", &record("2.sscope", two)}, {"four", &record("4.sscope", four)}}, false);
    ASSERT_TRUE(answer);
    EXPECT_THAT(answer->unknown,
                testing::ElementsAre(HasSubstr("none of the recordings is of one")));
    const Table& table = answer->tables.at(0);
    EXPECT_TRUE(table.rows.at(1).at(table.columnAt("efficiency_pct")).isNone());
    EXPECT_EQ(table.rows.at(0).at(table.columnAt("speedup")), Cell(1.0));
}

TEST_F(SeveralRecordings, OfOtherModelsAreNotScaled) {
    test::SampleOptions larger;
    larger.blocks = 8;
    const std::vector<ScaledRecording> both{{"a", &record("a.sscope", {})},
                                            {"b", &record("b.sscope", larger)}};
    const auto refused = scalingOfRecordings(both, false);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("Parameters of recording 1 and recording 2"));
    EXPECT_TRUE(scalingOfRecordings(both, true));
}

TEST_F(SeveralRecordings, ThatCannotTellAreNotScaled) {
    test::SampleOptions empty;
    empty.steps = 0;
    const auto answer = scalingOfRecordings(
        {{"a", &record("a.sscope", {})}, {"b", &record("b.sscope", empty)}}, false);
    ASSERT_TRUE(answer) << answer.error().message;
    test::expectSound(*answer);
    EXPECT_THAT(answer->unknown,
                testing::Contains(HasSubstr("recording 2 (b) unknown: it has 0 of 2 ranks")));
}

TEST_F(SeveralRecordings, AreComparedByMemoryAndLosses) {
    const auto compared = compareRecordings({&record("a.sscope", {}), &record("b.sscope", {})}, {});
    ASSERT_TRUE(compared);
    const Table* memory = find(compared->answer, "memory");
    ASSERT_NE(memory, nullptr);
    ASSERT_FALSE(memory->rows.empty());
    for (const auto& row : memory->rows)
        EXPECT_EQ(row.at(memory->columnAt("difference_bytes")), Cell(std::int64_t{0}));
    const Table* losses = find(compared->answer, "losses");
    ASSERT_NE(losses, nullptr);
    EXPECT_EQ(losses->rows.size(), 10u);
    EXPECT_THAT(compared->answer.sentences,
                testing::Contains(HasSubstr("equal to the last digit in the 10 steps")));
}

TEST_F(SeveralRecordings, AreComparedByWhatIsSelectedOfEach) {
    CompareOptions options;
    options.selection.steps = {{{2}, {7}}};
    const auto compared =
        compareRecordings({&record("a.sscope", {}), &record("b.sscope", {})}, options);
    ASSERT_TRUE(compared) << compared.error().message;
    EXPECT_EQ(find(compared->answer, "losses")->rows.size(), 6u);
    ASSERT_EQ(compared->sides.size(), 2u);
    for (const ComparedSide& side : compared->sides) {
        EXPECT_EQ(side.report.basis.steps, 6);
        for (const StepFacts& step : side.summary.steps) EXPECT_GE(step.step, StepIndex{2});
    }
    options.selection.steps = {{{70}, {80}}};
    EXPECT_FALSE(compareRecordings({&record("a.sscope", {}), &record("b.sscope", {})}, options));
}

TEST_F(SeveralRecordings, WithoutMemoryDoNotTellWhatGrew) {
    test::SampleOptions without;
    without.memory = false;
    const auto compared =
        compareRecordings({&record("a.sscope", {}), &record("b.sscope", without)}, {});
    ASSERT_TRUE(compared);
    EXPECT_EQ(find(compared->answer, "memory"), nullptr);
    EXPECT_THAT(compared->answer.unknown,
                testing::Contains(HasSubstr("what memory grew by is unknown")));
}

}  // namespace
}  // namespace shardscope::questions
