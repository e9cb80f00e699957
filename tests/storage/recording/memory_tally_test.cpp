#include "storage/recording/file/memory_tally.h"

#include <gtest/gtest.h>

namespace shardscope::storage {
namespace {

MemoryEvent allocation(MemoryCategory category, std::int64_t size) {
    MemoryEvent event;
    event.category = category;
    event.size = {size};
    return event;
}

TEST(MemoryTally, BlobsComeBackWithEveryCategory) {
    MemoryTally tally;
    for (int i = 0; i < kMemoryCategoryCount; ++i)
        tally.apply(allocation(static_cast<MemoryCategory>(i), i + 1));
    const auto blob = MemoryTally::toBlob(tally.bytes());
    EXPECT_EQ(blob.size(), 8U * kMemoryCategoryCount);
    EXPECT_EQ(MemoryTally::fromBlob(blob), tally.bytes());
}

// Recordings made before "outside the allocator" was a category.
TEST(MemoryTally, ReadsBlobsOfTenCategories) {
    MemoryTally tally;
    tally.apply(allocation(MemoryCategory::kInput, 77));
    auto blob = MemoryTally::toBlob(tally.bytes());
    blob.resize(10 * std::size_t{8});
    const auto bytes = MemoryTally::fromBlob(blob);
    EXPECT_EQ(bytes[static_cast<std::size_t>(MemoryCategory::kInput)].count, 77);
    EXPECT_EQ(bytes[static_cast<std::size_t>(MemoryCategory::kOutside)].count, 0);
    EXPECT_EQ(MemoryTally::startingAt(bytes).total().count, 77);
}

}  // namespace
}  // namespace shardscope::storage
