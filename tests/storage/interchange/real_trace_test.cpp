// A trace of PyTorch's own profiler, with the numbers that Holistic Trace Analysis gives for it.
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/storage/interchange/kineto_samples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

namespace shardscope {
namespace {

constexpr TimeRange kEverything{{-(std::int64_t{1} << 60)}, {std::int64_t{1} << 60}};

/// Of sorted, disjoint ranges.
std::int64_t covered(const std::vector<TimeRange>& ranges) {
    std::int64_t sum = 0;
    for (const TimeRange& range : ranges) sum += range.duration().ns;
    return sum;
}

std::vector<TimeRange> united(std::vector<TimeRange> ranges) {
    std::sort(ranges.begin(), ranges.end(),
              [](const TimeRange& a, const TimeRange& b) { return a.begin < b.begin; });
    std::vector<TimeRange> merged;
    for (const TimeRange& range : ranges) {
        if (!merged.empty() && range.begin <= merged.back().end)
            merged.back().end = std::max(merged.back().end, range.end);
        else
            merged.push_back(range);
    }
    return merged;
}

/// Duration of what lies in both: |A| + |B| - |A or B|.
std::int64_t common(const std::vector<TimeRange>& a, const std::vector<TimeRange>& b) {
    std::vector<TimeRange> both = a;
    both.insert(both.end(), b.begin(), b.end());
    return covered(united(a)) + covered(united(b)) - covered(united(both));
}

class RealTrace : public ::testing::Test {
protected:
    void SetUp() override {
        const std::string path =
            std::string(SHARDSCOPE_SHARED_TRACES) + "/kineto_a100_2rank_nccl.json.gz";
        if (!std::filesystem::exists(path))
            GTEST_SKIP() << "the sample trace " << path << " is not here";
        account = imported.import({path});
        ASSERT_THAT(account, test::IsOk());
    }
    test::Imported imported;
    Result<interchange::ImportAccount> account;
};

TEST_F(RealTrace, EveryEventIsKept) {
    EXPECT_EQ(account->read, 40'573u);
    EXPECT_EQ(account->kept, 40'573u);
    EXPECT_EQ(account->rejected(), 0u);
    EXPECT_EQ(account->repaired, 0u);
    const RecordingSummary& summary = imported.summary;
    EXPECT_TRUE(summary.complete);
    EXPECT_EQ(summary.run.worldSize, 2);
    EXPECT_EQ(summary.ranks.at(0).rank.value, 0u);
    EXPECT_EQ(summary.ranks.at(0).pid, 2'910'249);
    EXPECT_EQ(summary.devices.at(0).name, "NVIDIA A100-PG509-200");
    EXPECT_EQ(summary.devices.at(0).memory.count, 42'297'524'224);
    std::vector<std::int32_t> steps;
    for (const StepFacts& step : summary.steps) steps.push_back(step.step.value);
    EXPECT_EQ(steps, (std::vector<std::int32_t>{4, 5, 6}));
}

TEST_F(RealTrace, TimesAreExactToTheNanosecond) {
    // The first event of the file; the earliest one is 0 on the recording's clock.
    const auto table = imported.reader->query(
        "SELECT start_ns + (SELECT started_unix_ns FROM run), duration_ns FROM events"
        " WHERE name='autograd::engine::evaluate_function: DivBackward1' ORDER BY 1 LIMIT 1");
    ASSERT_THAT(table, test::IsOk());
    const std::int64_t base = 1'711'964'646'000'000'000;
    EXPECT_EQ(table->rows.at(0).at(0), std::to_string(base + 4'458'676'522'690'655));
    EXPECT_EQ(table->rows.at(0).at(1), "156777");
}

TEST_F(RealTrace, KernelsGiveTheNumbersOfHolisticTraceAnalysis) {
    const auto events = imported.reader->rankEvents({0}, kEverything);
    ASSERT_THAT(events, test::IsOk());
    EXPECT_EQ(events->computeKernels.size() + events->communicationKernels.size(), 2'700u);
    EXPECT_TRUE(events->phases.empty());
    std::vector<TimeRange> all = events->computeKernels;
    all.insert(all.end(), events->communicationKernels.begin(), events->communicationKernels.end());
    for (const LaneFacts& lane : imported.summary.lanes) {
        if (lane.role != LaneRole::kCopy) continue;
        const auto spans = imported.reader->spans({0}, lane.lane, kEverything);
        ASSERT_THAT(spans, test::IsOk());
        for (const SpanEvent& span : *spans) all.push_back(span.range());
    }
    EXPECT_EQ(all.size(), 2'700u + 960 + 114);
    const std::vector<TimeRange> busy = united(all);
    const std::int64_t spanNs = (busy.back().end - busy.front().begin).ns;
    // HTA, HTA_DISABLE_NS_ROUNDING=1, last step kept; whole microseconds.
    EXPECT_NEAR(static_cast<double>(spanNs) / 1e3, 660'551, 1);
    EXPECT_NEAR(static_cast<double>(spanNs - covered(busy)) / 1e3, 503'051, 1);
    EXPECT_NEAR(static_cast<double>(covered(united(events->computeKernels))) / 1e3, 115'656, 1);
    const double overlap =
        100.0 * static_cast<double>(common(events->communicationKernels, events->computeKernels)) /
        static_cast<double>(covered(united(events->communicationKernels)));
    EXPECT_NEAR(overlap, 15.61, 0.005);
}

TEST_F(RealTrace, CollectivesAreJoinedWithTheirKernels) {
    const auto events = imported.reader->rankEvents({0}, kEverything);
    ASSERT_THAT(events, test::IsOk());
    EXPECT_EQ(events->communicationKernels.size(), 21u);
    ASSERT_EQ(events->collectives.size(), 21u);
    std::map<CollectiveOp, std::int64_t> bytes;
    std::map<DataType, int> types;
    for (const CollectiveEvent& collective : events->collectives) {
        EXPECT_EQ(collective.group, 0u);
        EXPECT_EQ(imported.text(collective.algorithm), "RING");
        EXPECT_EQ(imported.text(collective.protocol), "LL");
        EXPECT_LT(collective.issue, collective.start);
        bytes[collective.operation] += collective.size.count;
        ++types[collective.dtype];
    }
    EXPECT_EQ(bytes, (std::map<CollectiveOp, std::int64_t>{{CollectiveOp::kAllReduce, 306'684'384},
                                                           {CollectiveOp::kBroadcast, 638'712}}));
    EXPECT_EQ(types, (std::map<DataType, int>{{DataType::kFloat32, 18}, {DataType::kInt64, 3}}));
}

}  // namespace
}  // namespace shardscope
