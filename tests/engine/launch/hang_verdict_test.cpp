// Which rank held up the others, on drawn graphs of waits with one rank at their root.
#include "engine/launch/rank_watch.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::launch {
namespace {

using std::chrono::seconds;

/// Ranks wait for one that was drawn before them, the first of which is at fault.
struct Drawn {
    std::vector<RankEvidence> ranks;
    std::size_t culprit = 0;
    std::size_t first = 0;  ///< to give up
};

Drawn draw(std::mt19937& random, std::size_t count) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    Drawn drawn{std::vector<RankEvidence>(count), order[0], order[1 + random() % (count - 1)]};
    for (std::size_t i = 0; i < count; ++i) {
        RankEvidence& rank = drawn.ranks[order[i]];
        rank.seen = true;
        rank.waits = i > 0;
        rank.standsFor = seconds(8);
        if (i == 0) continue;
        rank.gaveUp = true;
        rank.waitedFor = order[random() % i];
    }
    return drawn;
}

TEST(HangVerdict, NamesTheRootOfAnyGraphOfWaits) {
    std::mt19937 random(7);
    for (int turn = 0; turn < 2000; ++turn) {
        const Drawn drawn = draw(random, 2 + random() % 7);
        EXPECT_EQ(findCulprit(drawn.ranks, drawn.first), drawn.culprit) << turn;
    }
}

/// All but the one that gave up first may have heard only of that, and name a rank at random.
TEST(HangVerdict, NamesTheRootAlthoughOthersSpeakByHearsay) {
    std::mt19937 random(8);
    for (int turn = 0; turn < 2000; ++turn) {
        Drawn drawn = draw(random, 3 + random() % 6);
        for (std::size_t i = 0; i < drawn.ranks.size(); ++i) {
            if (i == drawn.first || !drawn.ranks[i].waitedFor) continue;
            drawn.ranks[i].hearsay = true;
            drawn.ranks[i].waitedFor = drawn.first;
        }
        EXPECT_EQ(findCulprit(drawn.ranks, drawn.first), drawn.culprit) << turn;
    }
}

/// The others may have been ended before they could say anything.
TEST(HangVerdict, NamesTheRootAlthoughOthersSayNothing) {
    std::mt19937 random(9);
    for (int turn = 0; turn < 2000; ++turn) {
        Drawn drawn = draw(random, 3 + random() % 6);
        for (std::size_t i = 0; i < drawn.ranks.size(); ++i) {
            if (i == drawn.first) continue;
            drawn.ranks[i].gaveUp = false;
            drawn.ranks[i].waitedFor.reset();
        }
        EXPECT_EQ(findCulprit(drawn.ranks, drawn.first), drawn.culprit) << turn;
    }
}

/// One that is stopped may have been stopped while it waited.
TEST(HangVerdict, NamesARankThatIsHeldWhateverTheOthersSay) {
    std::mt19937 random(10);
    for (int turn = 0; turn < 2000; ++turn) {
        Drawn drawn = draw(random, 3 + random() % 6);
        const std::size_t held = random() % drawn.ranks.size();
        drawn.ranks[held] = {};
        drawn.ranks[held].held = drawn.ranks[held].waits = drawn.ranks[held].seen = true;
        EXPECT_EQ(findCulprit(drawn.ranks, drawn.first), held) << turn;
    }
}

TEST(HangVerdict, NamesNoneWhereRanksWaitForEachOther) {
    std::vector<RankEvidence> ranks(2);
    for (std::size_t i = 0; i < 2; ++i) {
        ranks[i].gaveUp = ranks[i].seen = ranks[i].waits = true;
        ranks[i].waitedFor = 1 - i;
    }
    EXPECT_FALSE(findCulprit(ranks, 0));
    EXPECT_FALSE(findCulprit({}, 0));
}

/// Two ranks on each host; those of `waits` gave up waiting for a rank of another host.
std::vector<RankEvidence> acrossHosts(
    std::size_t hosts, const std::vector<std::pair<std::size_t, std::size_t>>& waits) {
    std::vector<RankEvidence> ranks(2 * hosts);
    for (const auto& [rank, other] : waits) {
        ranks[rank].gaveUp = true;
        ranks[rank].waitedFor = other;
    }
    return ranks;
}
constexpr std::array<std::size_t, 6> kHostOf{0, 0, 1, 1, 2, 2};
using Hosts = std::vector<std::size_t>;

TEST(SeveredHosts, AreThoseWhoseRanksWaitForEachOther) {
    EXPECT_EQ(findSeveredHosts(acrossHosts(2, {{0, 2}, {1, 2}, {2, 0}, {3, 1}}), kHostOf, 1),
              (Hosts{0, 1}));
    EXPECT_EQ(findSeveredHosts(acrossHosts(3, {{1, 2}, {3, 4}, {5, 0}}), kHostOf, 3),
              (Hosts{1, 2, 0}));
    // The third host waits for one of the two, and is not part of it.
    EXPECT_EQ(findSeveredHosts(acrossHosts(3, {{4, 0}, {0, 2}, {2, 0}}), kHostOf, 4),
              (Hosts{0, 1}));
}

TEST(SeveredHosts, AreNoneWhereARankIsAtTheRootOrWaitsStayOnAHost) {
    EXPECT_EQ(findSeveredHosts(acrossHosts(2, {{0, 2}, {1, 2}, {3, 2}}), kHostOf, 0), Hosts{});
    EXPECT_EQ(findSeveredHosts(acrossHosts(1, {{0, 1}, {1, 0}}), kHostOf, 0), Hosts{});
    EXPECT_EQ(findSeveredHosts(acrossHosts(2, {{0, 2}, {2, 9}}), kHostOf, 0), Hosts{});
    EXPECT_EQ(findSeveredHosts({}, kHostOf, 0), Hosts{});
    // Rank 2 only heard that rank 0 had given up.
    auto ranks = acrossHosts(2, {{0, 2}, {2, 0}});
    ranks[2].hearsay = true;
    EXPECT_EQ(findSeveredHosts(ranks, kHostOf, 0), Hosts{});
}

// RankWatch: time is given, so that no test waits.

class RankWatchTest : public testing::Test {
protected:
    RankWatchTest() {
        for (std::uint32_t i = 0; i < 2; ++i) m_watch.started(RankId{i}, 100 + i, m_start);
    }
    /// Both ranks, as they are `second` seconds later.
    void at(int second, Phase phase, int inPhase, run::ProcessHold hold, int silent,
            double processor = 0) {
        const run::RankActivity activity{
            StepIndex{3}, phase,   LayerIndex{2}, Duration{std::int64_t{inPhase} * 1'000'000'000},
            false,        Bytes{}, Bytes{}};
        if (silent == 0) m_watch.note(RankId{0}, activity);
        m_watch.note(
            RankId{0},
            run::RankLooked{100, hold, Duration{static_cast<std::int64_t>(processor * 1e9)},
                            Duration{std::int64_t{silent} * 1'000'000'000}},
            m_start + seconds(second));
    }
    std::string said() {
        std::string text;
        for (const RankWatch::Standstill& each : m_watch.due())
            text += each.text + (each.busy ? " (busy)" : "") + "\n";
        return text;
    }

    RankWatch::Time m_start{};
    RankWatch m_watch{2, standstillLimits(60)};
};

using run::ProcessHold;

TEST_F(RankWatchTest, ARankThatGoesOnAgainIsHeldToItForAMoment) {
    at(2, Phase::kForward, 0, ProcessHold::kStopped, 2);
    EXPECT_TRUE(m_watch.evidence(RankId{0}).held);
    at(4, Phase::kForward, 0, ProcessHold::kNone, 0);
    at(5, Phase::kForward, 0, ProcessHold::kNone, 0);
    EXPECT_TRUE(m_watch.evidence(RankId{0}).held);
    at(8, Phase::kForward, 0, ProcessHold::kNone, 0);
    EXPECT_FALSE(m_watch.evidence(RankId{0}).held);
}

TEST_F(RankWatchTest, SaysOnceThatARankIsStoppedAndEndsTheRunForItLater) {
    at(2, Phase::kForward, 0, ProcessHold::kNone, 0, 2);
    at(4, Phase::kForward, 0, ProcessHold::kStopped, 2, 2);
    EXPECT_EQ(said(), "");
    at(12, Phase::kForward, 0, ProcessHold::kStopped, 10, 2);
    EXPECT_EQ(said(),
              "rank 0 was last heard of in forward of layer 2 of step 3, 10 s ago: its process 100 "
              "is stopped by a signal\n");
    EXPECT_EQ(said(), "");
    EXPECT_FALSE(m_watch.overdue());
    at(66, Phase::kForward, 0, ProcessHold::kStopped, 64, 2);
    EXPECT_FALSE(m_watch.overdue());
    at(67, Phase::kForward, 0, ProcessHold::kStopped, 65, 2);
    EXPECT_EQ(m_watch.overdue(), RankId{0});
    m_watch.ended(RankId{0});
    EXPECT_FALSE(m_watch.overdue());
}

TEST_F(RankWatchTest, NeverEndsTheRunForARankThatComputes) {
    for (int second = 2; second < 7200; second += 2)
        at(second, Phase::kForward, second, ProcessHold::kNone, 0, second);
    EXPECT_EQ(said(),
              "rank 0 has been in forward of layer 2 of step 3 for 7198 s: its process 100 "
              "runs (busy)\n");
    EXPECT_FALSE(m_watch.overdue());
}

TEST_F(RankWatchTest, EndsTheRunForARankThatSleepsInItsData) {
    for (int second = 2; second < 70; second += 2)
        at(second, Phase::kData, second, ProcessHold::kSleeping, 0);
    EXPECT_EQ(said(),
              "rank 0 has been in data of layer 2 of step 3 for 68 s: its process 100 sleeps\n");
    EXPECT_EQ(m_watch.overdue(), RankId{0});
}

TEST_F(RankWatchTest, LetsARankWriteItsCheckpointForAsLongAsItTakes) {
    for (int second = 2; second < 700; second += 2)
        at(second, Phase::kCheckpoint, second, ProcessHold::kDisk, 0);
    EXPECT_EQ(said(),
              "rank 0 has been in checkpoint of layer 2 of step 3 for 698 s: its process 100 waits "
              "in the kernel (state D), for a disk or a device\n");
    EXPECT_FALSE(m_watch.overdue());
}

TEST_F(RankWatchTest, IsSilentOfRanksThatWaitForOthers) {
    for (int second = 2; second < 700; second += 2)
        at(second, Phase::kWaitGather, second, ProcessHold::kSleeping, 0);
    EXPECT_EQ(said(), "");
    EXPECT_FALSE(m_watch.overdue());
}

TEST_F(RankWatchTest, SaysThatARankHasNotSpokenSinceItsStart) {
    const auto look = [&](int second) {
        m_watch.note(RankId{1}, run::RankLooked{101, ProcessHold::kTraced, {}, {}},
                     m_start + seconds(second));
    };
    look(60);
    EXPECT_FALSE(m_watch.overdue());
    look(125);
    EXPECT_EQ(m_watch.overdue(), RankId{1});
}

}  // namespace
}  // namespace shardscope::launch
