#include "profiler/collectors/allocator/large_blocks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <thread>

namespace shardscope::collectors {
namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20;

TEST(LargeBlocks, KeepABlockForTheNextOfItsSize) {
    LargeBlocks blocks;
    void* const first = blocks.take(3 * kMebibyte);
    ASSERT_NE(first, nullptr);
    std::memset(first, 7, 3 * kMebibyte);
    blocks.give(first, 3 * kMebibyte);
    EXPECT_EQ(blocks.totals().inUse, 0u);
    EXPECT_GE(blocks.totals().idle, 3 * kMebibyte);
    void* const again = blocks.take(3 * kMebibyte);
    EXPECT_EQ(blocks.totals().idle, 0u);
    // The same pages, elsewhere in the first one.
    const auto distance = static_cast<char*>(again) - static_cast<char*>(first);
    EXPECT_LT(std::abs(distance), 4096);
    EXPECT_NE(distance, 0);
    blocks.give(again, 3 * kMebibyte);
}

TEST(LargeBlocks, GiveBackWhatNothingFits) {
    LargeBlocks blocks;
    for (std::size_t size = 2; size < 40; ++size) {
        void* const block = blocks.take(size * kMebibyte);
        ASSERT_NE(block, nullptr);
        blocks.give(block, size * kMebibyte);
        const auto totals = blocks.totals();
        EXPECT_LE(totals.inUse + totals.idle, totals.most + totals.most / 8);
    }
}

TEST(LargeBlocks, SayWhenMemoryCannotBeHad) {
    LargeBlocks blocks;
    EXPECT_EQ(blocks.take(std::size_t{1} << 50), nullptr);
    EXPECT_EQ(blocks.totals().inUse, 0u);
}

/// Blocks in use are apart, aligned and keep what was written; books balance.
void takeAndGive(LargeBlocks& blocks, unsigned seed) {
    struct Block {
        void* memory;
        std::size_t bytes;
        unsigned char mark;
    };
    std::mt19937 generator(seed);
    std::vector<Block> held;
    const auto give = [&] {
        const Block block = held.back();
        held.pop_back();
        const auto* bytes = static_cast<const unsigned char*>(block.memory);
        for (const std::size_t at : {std::size_t{0}, block.bytes / 2, block.bytes - 1})
            ASSERT_EQ(bytes[at], block.mark);
        blocks.give(block.memory, block.bytes);
    };
    for (unsigned i = 0; i < 400; ++i) {
        const bool takes = held.empty() || (held.size() < 12 && generator() % 2 == 0);
        if (!takes) {
            std::swap(held[generator() % held.size()], held.back());
            give();
            continue;
        }
        const std::size_t bytes = kMebibyte + generator() % 5 * kMebibyte / 2 + generator() % 3;
        const auto mark = static_cast<unsigned char>(generator());
        void* const memory = blocks.take(bytes);
        ASSERT_NE(memory, nullptr);
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0u);
        std::memset(memory, mark, bytes);
        held.push_back({memory, bytes, mark});
    }
    while (!held.empty()) give();
}

TEST(LargeBlocks, AreApartWhateverTheOrder) {
    LargeBlocks blocks;
    for (unsigned seed = 0; seed < 5; ++seed) takeAndGive(blocks, seed);
    EXPECT_EQ(blocks.totals().inUse, 0u);
}

TEST(LargeBlocks, ServeSeveralThreads) {
    LargeBlocks blocks;
    std::vector<std::thread> threads;
    for (unsigned seed = 0; seed < 3; ++seed)
        threads.emplace_back([&, seed] { takeAndGive(blocks, 100 + seed); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(blocks.totals().inUse, 0u);
    EXPECT_LE(blocks.totals().idle, blocks.totals().most + blocks.totals().most / 8);
}

}  // namespace
}  // namespace shardscope::collectors
