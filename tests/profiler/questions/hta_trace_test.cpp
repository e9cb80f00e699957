// A trace of PyTorch's own profiler, and what HolisticTraceAnalysis (f4d0062c, with
// HTA_DISABLE_NS_ROUNDING=1 and the last step kept) prints for it: span 660,551 us, idle 503,051,
// compute 115,656, 15.61 % of communication behind compute. Launches, queues and idle causes are
// those of HTA 0.5.0 from PyPI, likewise.
#include "profiler/questions/question.h"
#include "tests/storage/interchange/kineto_samples.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <string_view>

namespace shardscope::questions {
namespace {

class HtaTrace : public testing::Test {
protected:
    void SetUp() override {
        const char* path = SHARDSCOPE_SHARED_TRACES "/kineto_a100_2rank_nccl.json.gz";
        if (!std::filesystem::exists(path))
            GTEST_SKIP() << "the sample trace " << path << " is not here";
        ASSERT_THAT(m_imported.import({path}), test::IsOk());
    }
    Table breakdown(Mode mode, bool keepLastStep = false) {
        const Selection all;
        const auto answer =
            findQuestion("breakdown")
                ->ask({*m_imported.reader, m_imported.summary, all, mode, keepLastStep});
        EXPECT_THAT(answer, test::IsOk());
        return answer->tables.at(0);
    }
    Table table(const char* question, const char* key) {
        const Selection all;
        const auto answer =
            findQuestion(question)->ask({*m_imported.reader, m_imported.summary, all});
        EXPECT_THAT(answer, test::IsOk());
        for (const Table& each : answer->tables)
            if (std::string_view(key) == each.key) return each;
        ADD_FAILURE() << "no table " << key;
        return {};
    }
    static double sum(const Table& table, const char* column, const char* times = nullptr) {
        double all = 0;
        for (std::size_t row = 0; row < table.rows.size(); ++row)
            all += number(table, column, row) * (times != nullptr ? number(table, times, row) : 1);
        return all;
    }
    static std::size_t rowOf(const Table& table, std::string_view stream) {
        for (std::size_t row = 0; row < table.rows.size(); ++row)
            if (table.rows[row].at(1).text()->find(stream) != std::string::npos) return row;
        ADD_FAILURE() << "no stream " << stream;
        return 0;
    }
    static double number(const Table& table, const char* column, std::size_t row = 0) {
        const Cell& cell = table.rows.at(row).at(table.columnAt(column));
        const auto* whole = cell.integer();
        return whole != nullptr ? static_cast<double>(*whole) : *cell.real();
    }
    test::Imported m_imported;
};

TEST_F(HtaTrace, IsBrokenDownAsHtaDoes) {
    const Table table = breakdown(Mode::kHta, true);
    ASSERT_EQ(table.rows.size(), 1u);
    EXPECT_EQ(std::round(number(table, "span_us")), 660'551);
    EXPECT_EQ(std::round(number(table, "idle_us")), 503'051);
    EXPECT_EQ(std::round(number(table, "compute_us")), 115'656);
    EXPECT_EQ(number(table, "overlap_pct"), 15.61);
    EXPECT_DOUBLE_EQ(
        number(table, "span_us"),
        number(table, "idle_us") + number(table, "compute_us") + number(table, "non_compute_us"));
}

/// From the first stage, which is HTA by itself, to the last, which is the exact answer.
TEST_F(HtaTrace, EachDifferenceToTheExactNumbersIsShown) {
    const Selection all;
    Asked asked{*m_imported.reader, m_imported.summary, all};
    asked.explain = true;
    const auto answer = findQuestion("breakdown")->ask(asked);
    ASSERT_THAT(answer, test::IsOk());
    const Table& exact = answer->tables.at(0);
    const Table& stages = answer->tables.at(1);
    ASSERT_STREQ(stages.key, "differences");
    ASSERT_EQ(stages.rows.size(), 5u);
    const Table hta = breakdown(Mode::kHta), whole = breakdown(Mode::kHta, true);
    for (const char* column : {"span_us", "idle_us", "compute_us", "non_compute_us"}) {
        EXPECT_NEAR(number(stages, column, 0), number(hta, column), 1e4) << column;
        EXPECT_EQ(number(stages, column, 1), number(hta, column)) << column;
        EXPECT_EQ(number(stages, column, 2), number(whole, column)) << column;
        EXPECT_EQ(number(stages, column, 4), number(exact, column)) << column;
    }
    EXPECT_GE(number(stages, "compute_us", 3), number(stages, "compute_us", 2));
}

TEST_F(HtaTrace, ExactlyItHasItsLastStepToo) {
    const Table exact = breakdown(Mode::kExact), hta = breakdown(Mode::kHta);
    EXPECT_GT(number(exact, "compute_us"), number(hta, "compute_us"));
    EXPECT_GT(number(breakdown(Mode::kHta, true), "compute_us"), number(hta, "compute_us"));
    EXPECT_NEAR(
        number(exact, "span_us"),
        number(exact, "idle_us") + number(exact, "compute_us") + number(exact, "non_compute_us"),
        1e-3);
}

TEST_F(HtaTrace, HasTheLaunchesOfHta) {
    const Table calls = table("launches", "calls");
    EXPECT_EQ(sum(calls, "count"), 3'774);
    EXPECT_NEAR(sum(calls, "call_ns", "count"), 35'864'776, 1);
    EXPECT_NEAR(sum(calls, "work_ns", "count"), 165'185'838, 1);
    EXPECT_NEAR(sum(calls, "delay_ns", "count"), 103'192'246, 1'000);  // HTA's times are doubles
    EXPECT_EQ(sum(calls, "short_work"), 2'076);
    EXPECT_EQ(sum(calls, "slow_calls"), 1);
    EXPECT_EQ(sum(calls, "late_starts"), 267);
}

TEST_F(HtaTrace, HasTheQueuesOfHta) {
    const Table queues = table("launches", "queues");
    ASSERT_EQ(queues.rows.size(), 2u);
    EXPECT_EQ(number(queues, "launches", rowOf(queues, "stream 7")), 7'506 / 2);
    EXPECT_EQ(number(queues, "longest", rowOf(queues, "stream 7")), 10);
    EXPECT_EQ(number(queues, "launches", rowOf(queues, "stream 40")), 42 / 2);
    EXPECT_EQ(number(queues, "longest", rowOf(queues, "stream 40")), 1);
}

TEST_F(HtaTrace, IsIdleForTheReasonsOfHta) {
    const Table idle = table("launches", "idle");
    const std::size_t compute = rowOf(idle, "stream 7"), nccl = rowOf(idle, "stream 40");
    constexpr double kPlace = 5;  // HTA rounds to 10 ns
    EXPECT_NEAR(number(idle, "host_wait_ns", compute), 540'091'320, kPlace);
    EXPECT_NEAR(number(idle, "kernel_wait_ns", compute), 2'150'340, kPlace);
    EXPECT_EQ(number(idle, "other_ns", compute), 0);
    EXPECT_NEAR(number(idle, "host_wait_ns", nccl), 583'924'260, kPlace);
    EXPECT_EQ(number(idle, "other_ns", nccl), 0);
    for (std::size_t row = 0; row < idle.rows.size(); ++row)
        EXPECT_EQ(number(idle, "idle_ns", row),
                  number(idle, "host_wait_ns", row) + number(idle, "kernel_wait_ns", row) +
                      number(idle, "other_ns", row) + number(idle, "unknown_ns", row));
}

TEST_F(HtaTrace, NamesItsPartsByAnnotations) {
    const Table parts = table("work", "parts");
    ASSERT_EQ(parts.rows.size(), 3u);
    for (const auto& row : parts.rows) EXPECT_EQ(row.back(), Cell("names"));
    EXPECT_NEAR(sum(parts, "share_pct"), 100, 1e-9);
}

}  // namespace
}  // namespace shardscope::questions
