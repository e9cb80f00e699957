// Clocks are drawn, and ways, and what happens to them; the model never knows.
#include "engine/launch/clock_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace shardscope::launch {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

ClockMeasurement within(std::int64_t timeNs, std::int64_t least, std::int64_t most) {
    return {{timeNs, least}, {timeNs, most}};
}

std::optional<ClockEstimate> add(ClockModel& model, const ClockMeasurement& measured) {
    return model.add(measured, measured.timeNs());
}

/// A host's clock as it runs, and the ways to it.
class DrawnHost {
public:
    explicit DrawnHost(unsigned seed) : m_random(seed) {
        m_aheadNs = draw(-1e15, 1e15);
        m_drift = draw(-200e-6, 200e-6);
        m_thereNs = draw(5e3, 400e3);
        m_backNs = draw(5e3, 400e3);
        m_jitterNs = draw(1e3, 300e3);
    }
    double draw(double least, double most) {
        return std::uniform_real_distribution(least, most)(m_random);
    }
    std::int64_t aheadAt(std::int64_t nowNs) const {
        return std::llround(m_aheadNs + m_drift * static_cast<double>(nowNs));
    }
    std::int64_t driftPpb() const { return std::llround(m_drift * 1e9); }
    void set(double byNs) { m_aheadNs += byNs; }
    /// A way there and back; now and then one that takes long, or a host that stands still.
    ClockExchange round(std::int64_t& nowNs) {
        ClockExchange exchange(8);
        while (const auto asked = exchange.ask(nowNs)) {
            nowNs += way(m_thereNs);
            const std::int64_t received = nowNs + aheadAt(nowNs);
            nowNs += way(3e3);
            const std::int64_t sent = nowNs + aheadAt(nowNs);
            nowNs += way(m_backNs);
            exchange.take({asked->sentNs, received, sent}, nowNs);
        }
        return exchange;
    }

private:
    std::int64_t way(double shortest) {
        double takes = shortest + m_jitterNs * -std::log(draw(1e-9, 1));
        if (draw(0, 1) < 0.02) takes += draw(0, 3e9);
        return std::llround(takes);
    }
    std::mt19937_64 m_random;
    double m_aheadNs, m_drift, m_thereNs, m_backNs, m_jitterNs;
};

TEST(ClockModel, TheFirstMeasurementIsTakenAsItIs) {
    ClockModel model;
    const auto made = add(model, within(1000, 500, 600));
    ASSERT_TRUE(made);
    EXPECT_EQ(made->aheadNs, 550);
    EXPECT_GE(made->errorNs, 50);
    EXPECT_LE(made->errorNs, 54);
    EXPECT_EQ(made->driftPpb, 0);
    EXPECT_GE(made->driftErrorPpb, 500'000);
}

TEST(ClockModel, ALineIsFoundThroughBoundsThatLeaveOne) {
    ClockModel model;
    std::optional<ClockEstimate> made;
    for (int i = 0; i < 16; ++i) {
        const std::int64_t time = i * 4 * kSecond, truth = 7'000'000'000 + time / 10'000;
        made = add(model, within(time, truth - 30'000, truth + 30'000));
        ASSERT_TRUE(made);
    }
    EXPECT_NEAR(static_cast<double>(made->driftPpb), 100'000, 50);
    EXPECT_LT(made->driftErrorPpb, 1'500);
    EXPECT_EQ(made->aheadAt(made->timeNs + 10 * kSecond), made->aheadNs + made->driftPpb * 10);
}

/// The question of one exchange and the answer of another say more than either exchange.
TEST(ClockModel, BoundsOfDifferentExchangesTightenEachOther) {
    ClockModel model;
    ASSERT_TRUE(add(model, within(0, 990, 1'000'000)));
    ASSERT_TRUE(add(model, within(1'000, -1'000'000, 1'010)));
    const auto made = add(model, within(2'000, -500'000, 500'000));
    ASSERT_TRUE(made);
    EXPECT_NEAR(static_cast<double>(made->aheadNs), 1'000, 10);
    EXPECT_LT(made->errorNs, 20);
}

TEST(ClockModel, TheTruthLiesWithinTheBoundWhateverTheWaysTake) {
    std::vector<std::int64_t> driftErrors;
    for (unsigned seed = 0; seed < 150; ++seed) {
        DrawnHost host(seed);
        ClockModel model;
        std::int64_t now = std::llround(host.draw(0, 1e14));
        for (int i = 0; i < 40; ++i) {
            const auto bounds = host.round(now).bounds();
            ASSERT_TRUE(bounds);
            const auto made = add(model, *bounds);
            ASSERT_TRUE(made) << "nothing steps here: seed " << seed << ", round " << i;
            EXPECT_FALSE(made->stepNs);
            const std::int64_t error = std::abs(made->aheadNs - host.aheadAt(made->timeNs));
            EXPECT_LE(error, made->errorNs) << seed << ' ' << i;
            EXPECT_LE(std::abs(made->driftPpb - host.driftPpb()), made->driftErrorPpb);
            const std::int64_t later = made->timeNs + kSecond / 10;
            EXPECT_LE(std::abs(made->aheadAt(later) - host.aheadAt(later)),
                      made->errorNs + made->driftErrorPpb / 10 + 2);
            if (i == 39) driftErrors.push_back(made->driftErrorPpb);
            now += std::llround(host.draw(0.2e9, 6e9));
        }
    }
    std::sort(driftErrors.begin(), driftErrors.end());
    EXPECT_LT(driftErrors[driftErrors.size() / 2], 20'000) << "a run tells the drift";
}

TEST(ClockModel, AClockThatWasSetIsFoundAndNotBelievedAtOnce) {
    for (unsigned seed = 0; seed < 60; ++seed) {
        DrawnHost host(1000 + seed);
        ClockModel model;
        std::int64_t now = 0;
        for (int i = 0; i < 12; ++i, now += 4 * kSecond)
            ASSERT_TRUE(add(model, *host.round(now).bounds()));
        const double step = host.draw(20e6, 60e9) * (seed % 2 == 0 ? 1 : -1);
        host.set(step);
        std::optional<ClockEstimate> made;
        int rounds = 0;
        // A round with nothing but slow answers may still allow both.
        for (; rounds < 8 && !(made && made->stepNs); ++rounds, now += kSecond / 2)
            made = add(model, *host.round(now).bounds());
        ASSERT_TRUE(made && made->stepNs) << seed;
        EXPECT_GE(rounds, 3);
        EXPECT_NEAR(static_cast<double>(*made->stepNs), step, 5e6);
        EXPECT_LE(std::abs(made->aheadNs - host.aheadAt(made->timeNs)), made->errorNs) << seed;
        EXPECT_FALSE(model.doubts());
    }
}

TEST(ClockModel, OneExchangeThatFitsNowhereIsForgotten) {
    ClockModel model;
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(add(model, within(i * kSecond, 0, 100)));
    EXPECT_FALSE(add(model, within(6 * kSecond, 90'000'000, 90'000'100)));
    EXPECT_TRUE(model.doubts());
    const auto made = add(model, within(7 * kSecond, 0, 100));
    ASSERT_TRUE(made);
    EXPECT_FALSE(made->stepNs);
    EXPECT_FALSE(model.doubts());
}

TEST(ClockModel, ARoundDuringWhichTheClockWasSetCountsForNothing) {
    ClockModel model;
    ASSERT_TRUE(add(model, within(0, 0, 100)));
    EXPECT_FALSE(add(model, within(kSecond, 5'000'000, 100)));
    EXPECT_FALSE(model.doubts());
}

/// ntpd begins to slew: no step, and soon the new line.
TEST(ClockModel, ADriftThatChangesIsFollowed) {
    ClockModel model;
    std::int64_t ahead = 0;
    std::optional<ClockEstimate> made;
    for (int i = 0; i < 40; ++i) {
        ahead += i < 20 ? 40'000 : 240'000;  // 10 ppm, then 60
        made = add(model, within(i * 4 * kSecond, ahead - 5'000, ahead + 5'000));
        ASSERT_TRUE(made) << i;
        EXPECT_FALSE(made->stepNs);
        EXPECT_LE(std::abs(made->aheadNs - ahead), 5'010) << i;
    }
    EXPECT_NEAR(static_cast<double>(made->driftPpb), 60'000, 2'000);
}

/// What the ranks of a drawn host stamp, with the corrections that the watch sends them.
TEST(ClockWatch, WhatRanksStampStaysWithinWhatItSays) {
    for (unsigned seed = 0; seed < 40; ++seed) {
        DrawnHost host(2000 + seed);
        std::int64_t now = 5 * kSecond;
        const std::int64_t recordingNs = now;
        const ClockExchange start = host.round(now);
        const std::int64_t originNs = recordingNs + start.aheadNs();
        ClockWatch watch(1, originNs, recordingNs, start.bounds(), now);
        RecordingClock ranks(originNs);
        std::int64_t bound = start.errorNs() + 5 * kSecond / 1000, last = -kSecond;
        const bool steps = seed % 4 == 3;
        int stepped = 0;
        for (int turn = 0; turn < 1500; ++turn, now += kSecond / 20) {
            if (steps && turn == 700) host.set(seed % 8 == 3 ? 5e6 : -300e6);
            const std::int64_t stamped = ranks.at(now + host.aheadAt(now)).ns;
            // Its own clock, set back, is not the correction's to mend.
            if (!steps || turn != 700 || seed % 8 == 3) {
                EXPECT_GE(stamped, last) << seed;
            }
            last = stamped;
            if (!steps) {
                EXPECT_LE(std::abs(stamped - (now - recordingNs)), bound + 500'000) << seed;
            }
            const auto asked = watch.ask(now);
            if (!asked) continue;
            std::optional<ClockUpdate> update;
            for (auto question = asked; question; question = watch.ask(now)) {
                const std::int64_t received = now + 40'000 + host.aheadAt(now + 40'000);
                now += 90'000;
                update = watch.take({question->sentNs, received, received + 1'000}, now);
            }
            if (!update) continue;
            stepped += update->facts.stepped ? 1 : 0;
            const std::int64_t truth =
                update->facts.time.ns - (update->facts.time.ns + recordingNs +
                                         host.aheadAt(update->facts.time.ns + recordingNs));
            EXPECT_LE(std::abs(update->facts.offsetNs - truth), update->facts.errorNs);
            bound = std::abs(update->facts.residualNs) + update->facts.errorNs;
            ranks.correct({update->correction.fromNs, update->correction.originNs,
                           update->correction.driftPpb},
                          now + host.aheadAt(now));
        }
        EXPECT_EQ(stepped, steps ? 1 : 0) << seed;
        const std::int64_t off =
            std::abs(ranks.at(now + host.aheadAt(now)).ns - (now - recordingNs));
        EXPECT_LT(off, 60'000) << seed;
    }
}

TEST(ClockWatch, AnswersToARoundThatIsGivenUpCountNoMore) {
    ClockWatch watch(1, 0, 0, std::nullopt, 0);
    EXPECT_FALSE(watch.ask(kSecond / 4));
    const auto lost = watch.ask(kSecond / 2);
    ASSERT_TRUE(lost);
    EXPECT_FALSE(watch.ask(10 * kSecond)) << "it may still be answered";
    ASSERT_TRUE(watch.ask(16 * kSecond));
    EXPECT_FALSE(watch.take({lost->sentNs, 5, 5}, 16 * kSecond + 10));
    EXPECT_FALSE(watch.ask(16 * kSecond + 20)) << "the second round is still to be answered";
    watch.askLastTime(17 * kSecond);
    EXPECT_FALSE(watch.over(17 * kSecond));
    EXPECT_TRUE(watch.over(19 * kSecond)) << "nobody waits for long";
}

TEST(ClockWatch, OverASlowLinkTheAnswersThatCameCount) {
    ClockWatch watch(1, 0, 0, std::nullopt, 0);
    const auto asked = watch.ask(kSecond / 2);
    ASSERT_TRUE(asked);
    const auto update = watch.take({asked->sentNs, 2 * kSecond, 2 * kSecond}, 5 * kSecond);
    ASSERT_TRUE(update) << "one of eight, after longer than a round takes";
    EXPECT_GE(update->facts.errorNs, 2 * kSecond);
    EXPECT_FALSE(watch.ask(5 * kSecond + 1)) << "a pause first";
    EXPECT_TRUE(watch.ask(6 * kSecond));
}

TEST(ClockExchange, AsksOneQuestionAfterTheOther) {
    ClockExchange exchange(2);
    EXPECT_FALSE(exchange.done());
    const auto first = exchange.ask(100);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->sentNs, 100);
    EXPECT_FALSE(exchange.ask(105)) << "before the answer";
    exchange.take({100, 1110, 1112}, 122);
    EXPECT_EQ(exchange.aheadNs(), 1000);
    EXPECT_EQ(exchange.errorNs(), 10);
    ASSERT_TRUE(exchange.ask(200));
    EXPECT_FALSE(exchange.done());
    exchange.take({200, 1290, 1290}, 300);  // a longer way
    EXPECT_TRUE(exchange.done());
    EXPECT_FALSE(exchange.ask(400));
    EXPECT_EQ(exchange.aheadNs(), 1000);
    EXPECT_EQ(exchange.errorNs(), 10);
}

TEST(ClockExchange, PassesOverWhatIsNoAnswer) {
    ClockExchange exchange(1);
    exchange.take({0, 5, 5}, 10);
    ASSERT_TRUE(exchange.ask(100));
    exchange.take({99, 500, 500}, 110);
    EXPECT_FALSE(exchange.done());
    exchange.take({100, 500, 400}, 110);  // answered before it was received
    EXPECT_TRUE(exchange.done());
    EXPECT_EQ(exchange.errorNs(), std::numeric_limits<std::int64_t>::max());
}

/// Whatever the way there and back takes, the truth lies within the bound.
TEST(ClockExchange, IsRightWithinItsBound) {
    std::mt19937 random(5);
    const auto draw = [&](std::int64_t most) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1));
    };
    for (int round = 0; round < 500; ++round) {
        const std::int64_t ahead = draw(2'000'000'000) - 1'000'000'000;
        ClockExchange exchange(8);
        std::int64_t now = draw(1'000'000), shortest = 1 << 30;
        while (const auto asked = exchange.ask(now)) {
            const std::int64_t there = draw(80'000), pause = draw(5'000), back = draw(80'000);
            const std::int64_t received = now + there + ahead;
            now += there + pause + back;
            exchange.take({asked->sentNs, received, received + pause}, now);
            shortest = std::min(shortest, there + back);
        }
        EXPECT_TRUE(exchange.done());
        EXPECT_LE(std::abs(exchange.aheadNs() - ahead), exchange.errorNs());
        EXPECT_EQ(exchange.errorNs(), (shortest + 1) / 2);
    }
}

}  // namespace
}  // namespace shardscope::launch
