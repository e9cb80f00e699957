#include "storage/model/recording_clock.h"

#include "storage/model/step_facts.h"
#include "storage/model/step_time.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <random>
#include <thread>

namespace shardscope {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kOrigin = 77 * kSecond;

TEST(RecordingClock, IsADifferenceUntilItIsCorrected) {
    const RecordingClock clock(kOrigin);
    for (const std::int64_t time : {std::int64_t{0}, kOrigin, kOrigin + 1, 90 * kSecond + 7})
        EXPECT_EQ(clock.at(time).ns, time - kOrigin);
}

TEST(RecordingClock, MeetsTheNewLineAndFollowsItsDrift) {
    RecordingClock clock(kOrigin);
    // From 100 s on 40 us more are to be taken off, and 20 ppm.
    clock.correct({100 * kSecond, kOrigin + 40'000, 20'000}, 99 * kSecond);
    EXPECT_EQ(clock.at(100 * kSecond).ns, 23 * kSecond) << "no jump";
    EXPECT_EQ(clock.at(99 * kSecond).ns, 22 * kSecond) << "nothing moves that was";
    const std::int64_t met = 100 * kSecond + RecordingClock::kSlewNs;
    EXPECT_NEAR(static_cast<double>(clock.at(met).ns), 25e9 - 40'000 - 40'000, 2);
    EXPECT_NEAR(static_cast<double>(clock.at(met + 100 * kSecond).ns),
                125e9 - 40'000 - 102 * 20'000, 60);
}

TEST(RecordingClock, JumpsForwardsOnlyWhenItIsFarBehind) {
    RecordingClock clock(kOrigin);
    clock.correct({100 * kSecond, kOrigin - 3 * kSecond, 0}, 99 * kSecond);
    EXPECT_EQ(clock.at(100 * kSecond - 1).ns, 23 * kSecond - 1);
    EXPECT_EQ(clock.at(100 * kSecond).ns, 26 * kSecond);
}

TEST(RecordingClock, IsSlowedWhenItIsFarAhead) {
    RecordingClock clock(kOrigin);
    clock.correct({100 * kSecond, kOrigin + kSecond, 0}, 99 * kSecond);
    EXPECT_EQ(clock.at(100 * kSecond).ns, 23 * kSecond);
    EXPECT_NEAR(static_cast<double>(clock.at(105 * kSecond).ns), 27.5e9, 2);
    EXPECT_NEAR(static_cast<double>(clock.at(111 * kSecond).ns), 33e9, 2);
}

TEST(RecordingClock, ALateCorrectionBeginsAMomentAfterNow) {
    RecordingClock clock(kOrigin);
    clock.correct({100 * kSecond, kOrigin - kSecond, 0}, 110 * kSecond);
    EXPECT_EQ(clock.at(110 * kSecond).ns, 33 * kSecond);
    EXPECT_EQ(clock.at(110 * kSecond + 1'000'000).ns, 34 * kSecond + 1'000'000);
}

TEST(RecordingClock, WhatIsNoClockChangesNothing) {
    RecordingClock clock(kOrigin);
    constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
    clock.correct({100 * kSecond, kOrigin, 2'000'000'000}, 0);
    clock.correct({100 * kSecond, kOrigin, -1'000'000'000}, 0);
    clock.correct({kLargest, kOrigin, 0}, 0);
    clock.correct({100 * kSecond, kLargest, 0}, 0);
    EXPECT_EQ(clock.at(500 * kSecond).ns, 423 * kSecond);
}

TEST(RecordingClock, NeverRunsBackwardsWhateverItIsTold) {
    std::mt19937_64 random(3);
    const auto draw = [&](std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution(least, most)(random);
    };
    for (int round = 0; round < 200; ++round) {
        RecordingClock clock(kOrigin);
        std::int64_t now = kOrigin, last = 0;
        for (int i = 0; i < 100; ++i) {
            for (int j = 0; j < 50; ++j, now += draw(0, 1) == 0 ? 1 : draw(1, kSecond / 5)) {
                const std::int64_t at = clock.at(now).ns;
                ASSERT_GE(at, last);
                last = at;
            }
            const std::int64_t most = draw(0, 9) == 0 ? 10 * kSecond : 100'000;
            clock.correct({now + draw(-kSecond, kSecond), kOrigin + draw(-most, most),
                           draw(-200'000, 200'000)},
                          now);
        }
    }
}

/// Threads that stamp while another corrects.
TEST(RecordingClock, EachThreadSeesTimeRise) {
    RecordingClock clock(0);
    std::atomic<std::int64_t> now{kSecond};
    std::atomic<bool> over{false};
    std::atomic<std::int64_t> wrong{0}, read{0};
    const auto reader = [&] {
        std::int64_t last = 0;
        while (!over.load()) {
            const std::int64_t at = clock.at(now.load()).ns;
            if (at < last) ++wrong;
            last = at;
            ++read;
        }
    };
    std::thread first(reader), second(reader);
    std::mt19937 random(4);
    for (int i = 0; i < 20'000; ++i) {
        now += 40'000;
        if (i % 100 == 0)
            clock.correct({now.load(), static_cast<std::int64_t>(random() % 50'000), 0},
                          now.load());
    }
    while (read.load() < 1'000) std::this_thread::yield();
    over = true;
    first.join();
    second.join();
    EXPECT_EQ(wrong.load(), 0);
}

StepFacts step(std::uint32_t rank, std::int32_t number, std::int64_t start, std::int64_t end) {
    StepFacts facts;
    facts.rank = {rank};
    facts.step = {number};
    facts.start = {start};
    facts.end = {end};
    return facts;
}

const std::vector<StepFacts> kSteps{step(0, 1, 10, 20), step(1, 1, 8, 25), step(0, 2, 20, 30),
                                    step(1, 2, 26, 40), step(0, 3, 30, 39)};

TEST(TimeOfSteps, IsFromTheFirstStartToTheLastEnd) {
    EXPECT_EQ(timeOfSteps(kSteps, {1}, {2}, {}), (TimeRange{{8}, {40}}));
    EXPECT_EQ(timeOfSteps(kSteps, {2}, {2}, {}), (TimeRange{{20}, {40}}));
    EXPECT_EQ(timeOfSteps(kSteps, {3}, {9}, {}), (TimeRange{{30}, {39}}));
}

TEST(TimeOfSteps, IsOfTheRanksThatAreNamed) {
    EXPECT_EQ(timeOfSteps(kSteps, {1}, {2}, {RankId{0}}), (TimeRange{{10}, {30}}));
    EXPECT_EQ(timeOfSteps(kSteps, {1}, {2}, {RankId{1}, RankId{0}}), (TimeRange{{8}, {40}}));
}

TEST(TimeOfSteps, ThereIsNoneOfStepsThatAreNotThere) {
    EXPECT_FALSE(timeOfSteps(kSteps, {4}, {9}, {}));
    EXPECT_FALSE(timeOfSteps(kSteps, {3}, {3}, {RankId{1}}));
    EXPECT_FALSE(timeOfSteps({}, {0}, {9}, {}));
}

}  // namespace
}  // namespace shardscope
