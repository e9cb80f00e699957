// A trace of PyTorch's own profiler, and what HolisticTraceAnalysis (f4d0062c, with
// HTA_DISABLE_NS_ROUNDING=1 and the last step kept) prints for it: span 660,551 us, idle 503,051,
// compute 115,656, 15.61 % of communication behind compute.
#include "profiler/questions/question.h"
#include "tests/storage/interchange/kineto_samples.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>

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
    static double number(const Table& table, const char* column) {
        const Cell& cell = table.rows.at(0).at(table.columnAt(column));
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

TEST_F(HtaTrace, ExactlyItHasItsLastStepToo) {
    const Table exact = breakdown(Mode::kExact), hta = breakdown(Mode::kHta);
    EXPECT_GT(number(exact, "compute_us"), number(hta, "compute_us"));
    EXPECT_GT(number(breakdown(Mode::kHta, true), "compute_us"), number(hta, "compute_us"));
    EXPECT_NEAR(
        number(exact, "span_us"),
        number(exact, "idle_us") + number(exact, "compute_us") + number(exact, "non_compute_us"),
        1e-3);
}

}  // namespace
}  // namespace shardscope::questions
