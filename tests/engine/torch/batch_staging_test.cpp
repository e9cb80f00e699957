// Batches that are brought to a device ahead of their use, and what waits for what.
#include "engine/training/batch_staging.h"

#include "tests/engine/torch/fake_device.h"

#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace shardscope::training {
namespace {

data::Batch batchOf(std::int64_t index) {
    return {at::full({2, 3}, index, at::kLong), at::full({6}, -index, at::kLong)};
}

class Staging : public testing::Test {
protected:
    test::FakeDevice m_device;
    std::vector<std::int64_t> m_made;
    BatchStaging m_staging{at::kCPU, m_device, [this](std::int64_t index) {
                               if (index == 13) throw std::runtime_error("no such batch");
                               m_made.push_back(index);
                               return batchOf(index);
                           }};
};

void expectBatch(const BatchStaging::Staged& staged, std::int64_t index) {
    EXPECT_EQ(staged.batch.tokens.sizes(), at::IntArrayRef({2, 3}));
    EXPECT_TRUE(staged.batch.tokens.eq(index).all().item<bool>());
    EXPECT_EQ(staged.batch.targets.sizes(), at::IntArrayRef({6}));
    EXPECT_TRUE(staged.batch.targets.eq(-index).all().item<bool>());
}

TEST_F(Staging, BringsEachBatchOnceAndOneAhead) {
    for (std::int64_t index = 0; index < 5; ++index) {
        const auto staged = m_staging.take(index, index < 4);
        expectBatch(staged, index);
        EXPECT_EQ(m_made.size(), static_cast<std::size_t>(std::min<std::int64_t>(index + 2, 5)));
    }
    EXPECT_EQ(m_made, (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
}

TEST_F(Staging, LeavesABatchWhereItIsWhileTheNextOneComes) {
    const auto first = m_staging.take(0, true);
    expectBatch(first, 0);
    const auto second = m_staging.take(1, true);
    expectBatch(second, 1);
    EXPECT_NE(first.buffer, second.buffer);
    const auto third = m_staging.take(2, true);
    EXPECT_EQ(third.buffer, first.buffer);
    EXPECT_EQ(third.batch.tokens.data_ptr(), first.batch.tokens.data_ptr()) << "no new memory";
}

TEST_F(Staging, StartsAnewWhereABatchIsNotTheNext) {
    expectBatch(m_staging.take(0, true), 0);
    expectBatch(m_staging.take(6, true), 6);
    expectBatch(m_staging.take(7, false), 7);
    EXPECT_EQ(m_made, (std::vector<std::int64_t>{0, 1, 6, 7}));
}

TEST_F(Staging, ABatchThatCannotBeMadeFailsWhereItIsWanted) {
    expectBatch(m_staging.take(12, true), 12);
    EXPECT_THROW(static_cast<void>(m_staging.take(13, false)), std::runtime_error);
}

}  // namespace
}  // namespace shardscope::training
