#include "profiler/collectors/cupti/buffer_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

namespace shardscope::collectors::cupti {
namespace {

TEST(BufferPool, HandsOutAlignedZeroedDistinctBuffers) {
    BufferPool pool(4, 1001);
    EXPECT_EQ(pool.bufferBytes(), 1008u);
    std::set<std::uint8_t*> buffers;
    for (int i = 0; i < 4; ++i) {
        std::uint8_t* buffer = pool.take();
        ASSERT_NE(buffer, nullptr);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer) % 8, 0u);
        EXPECT_TRUE(std::all_of(buffer, buffer + 1008, [](std::uint8_t b) { return b == 0; }));
        buffers.insert(buffer);
    }
    EXPECT_EQ(buffers.size(), 4u);
    for (std::uint8_t* buffer : buffers) pool.complete(buffer, 0);
}

TEST(BufferPool, RefusesAndCountsWhenAllAreOut) {
    BufferPool pool(2, 64);
    std::uint8_t* first = pool.take();
    std::uint8_t* second = pool.take();
    EXPECT_EQ(pool.take(), nullptr);
    EXPECT_EQ(pool.take(), nullptr);
    EXPECT_EQ(pool.refused(), 2u);
    pool.complete(first, 8);
    EXPECT_EQ(pool.take(), nullptr) << "full is not free";
    for (const auto& full : pool.takeFull()) pool.giveBack(full);
    EXPECT_EQ(pool.take(), first);
    pool.complete(first, 0);
    pool.complete(second, 0);
}

TEST(BufferPool, ZeroesWhatWasUsed) {
    BufferPool pool(1, 64);
    std::uint8_t* buffer = pool.take();
    std::fill(buffer, buffer + 40, std::uint8_t{0xff});
    pool.complete(buffer, 40);
    const auto full = pool.takeFull();
    ASSERT_EQ(full.size(), 1u);
    EXPECT_EQ(full[0].data, buffer);
    EXPECT_EQ(full[0].bytes, 40u);
    EXPECT_TRUE(pool.takeFull().empty());
    pool.giveBack(full[0]);
    EXPECT_TRUE(std::all_of(buffer, buffer + 64, [](std::uint8_t b) { return b == 0; }));
}

TEST(BufferPool, IgnoresForeignBuffersAndImpossibleSizes) {
    BufferPool pool(1, 64);
    std::uint8_t foreign[64] = {};
    pool.complete(foreign, 64);
    EXPECT_TRUE(pool.takeFull().empty());
    std::uint8_t* buffer = pool.take();
    pool.complete(buffer, 1000);
    const auto full = pool.takeFull();
    ASSERT_EQ(full.size(), 1u);
    EXPECT_EQ(full[0].bytes, 64u);
    pool.giveBack(full[0]);
}

TEST(BufferPool, HoldsAtMostSixtyFour) {
    BufferPool pool(1000, 8);
    std::set<std::uint8_t*> buffers;
    while (std::uint8_t* buffer = pool.take()) buffers.insert(buffer);
    EXPECT_EQ(buffers.size(), 64u);
    for (std::uint8_t* buffer : buffers) pool.complete(buffer, 0);
}

TEST(BufferPool, ManyThreadsAndOneDecoder) {
    constexpr int kThreads = 4;
    constexpr int kRounds = 5000;
    BufferPool pool(3, 64);
    std::atomic<int> running{kThreads};
    std::atomic<std::uint64_t> written{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < kRounds; ++i) {
                std::uint8_t* buffer = pool.take();
                if (buffer == nullptr) continue;
                for (int b = 0; b < 64; ++b) EXPECT_EQ(buffer[b], 0);
                std::fill(buffer, buffer + 64, static_cast<std::uint8_t>(t + 1));
                ++written;
                pool.complete(buffer, 64);
            }
            --running;
        });
    }
    std::uint64_t read = 0;
    while (true) {
        const bool last = running == 0;
        for (const auto& full : pool.takeFull()) {
            EXPECT_TRUE(std::all_of(full.data, full.data + 64,
                                    [&](std::uint8_t b) { return b == full.data[0] && b != 0; }));
            ++read;
            pool.giveBack(full);
        }
        if (last) break;
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(read, written);
    EXPECT_EQ(written + pool.refused(), std::uint64_t{kThreads} * kRounds);
}

}  // namespace
}  // namespace shardscope::collectors::cupti
