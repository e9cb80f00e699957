#include "engine/comm/wait_watch.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

namespace shardscope {
namespace {

using comm::WaitWatch;
using std::chrono::milliseconds;

/// What was told so far, and a way to wait for more.
class Told {
public:
    WaitWatch::Tell tell() {
        return [this](int rank) {
            const std::lock_guard lock(m_mutex);
            m_ranks.push_back(rank);
            m_more.notify_all();
        };
    }
    std::vector<int> first(std::size_t count) {
        std::unique_lock lock(m_mutex);
        m_more.wait(lock, [&] { return m_ranks.size() >= count; });
        return m_ranks;
    }
    std::vector<int> all() {
        const std::lock_guard lock(m_mutex);
        return m_ranks;
    }

private:
    std::mutex m_mutex;
    std::condition_variable m_more;
    std::vector<int> m_ranks;
};

TEST(WaitWatch, TellsOfALongWaitAndOfItsEnd) {
    Told told;
    WaitWatch watch(milliseconds(10), told.tell());
    {
        const auto waiting = watch.waitsFor(3);
        EXPECT_TRUE(waiting);
        EXPECT_THAT(told.first(1), testing::ElementsAre(3));
    }
    EXPECT_THAT(told.first(2), testing::ElementsAre(3, WaitWatch::kNoRank));
    const auto again = watch.waitsFor(5);
    EXPECT_THAT(told.first(3), testing::ElementsAre(3, WaitWatch::kNoRank, 5));
}

TEST(WaitWatch, TellsOfTheLongestOfSeveral) {
    Told told;
    WaitWatch watch(milliseconds(10), told.tell());
    auto first = watch.waitsFor(1);
    told.first(1);
    const auto second = watch.waitsFor(2);
    { const auto gone = std::move(first); }
    // Whatever lies between: then it is the other's turn.
    for (std::size_t count = 2;; ++count)
        if (told.first(count).back() == 2) break;
    EXPECT_EQ(told.all().front(), 1);
}

TEST(WaitWatch, KeepsSilentAboutShortWaitsAndEndsAtOnce) {
    Told told;
    {
        WaitWatch watch(std::chrono::hours(1), told.tell());
        for (int i = 0; i < 1000; ++i) EXPECT_TRUE(watch.waitsFor(i));
        std::vector<WaitWatch::Waiting> many;
        for (int i = 0; i < 100; ++i) many.push_back(watch.waitsFor(i));
        EXPECT_TRUE(many.front());
        EXPECT_FALSE(many.back()) << "more at once than it looks after";
        many.clear();
        EXPECT_TRUE(watch.waitsFor(1)) << "there is room again";
    }
    EXPECT_THAT(told.all(), testing::IsEmpty());
}

}  // namespace
}  // namespace shardscope
