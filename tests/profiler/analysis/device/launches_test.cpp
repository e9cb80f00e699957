#include "profiler/analysis/device/launches.h"

#include "tests/support/random_events.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace shardscope::analysis {
namespace {

constexpr std::int64_t kMicrosecond = 1000;

/// Calls and work in us: a call, and when its work ran.
struct Drawn {
    std::int64_t call, callEnd, start, end;
};
std::vector<LaunchedWork> joined(const std::vector<Drawn>& drawn) {
    std::vector<StreamWork> work;
    std::vector<LaunchCall> calls;
    std::uint64_t correlation = 0;
    for (const Drawn& each : drawn) {
        ++correlation;
        work.push_back({{{each.start * kMicrosecond}, {each.end * kMicrosecond}}, correlation});
        calls.push_back({{{each.call * kMicrosecond}, {each.callEnd * kMicrosecond}}, correlation});
    }
    return joinLaunches(work, calls);
}

TEST(Launches, AreCountedByTheirOutliers) {
    // Work shorter than its call; a slow call; a late start.
    const auto totals =
        launchTotals(joined({{0, 10, 12, 14}, {20, 80, 81, 100}, {90, 95, 300, 310}}));
    EXPECT_EQ(totals.count, 3);
    EXPECT_EQ(totals.calls.ns, 75 * kMicrosecond);
    EXPECT_EQ(totals.work.ns, 31 * kMicrosecond);
    EXPECT_EQ(totals.delay.ns, 208 * kMicrosecond);
    EXPECT_EQ(totals.medianDelay.ns, 2 * kMicrosecond);
    EXPECT_EQ(totals.longestDelay.ns, 205 * kMicrosecond);
    EXPECT_EQ(totals.shortWork, 1);
    EXPECT_EQ(totals.slowCalls, 1);
    EXPECT_EQ(totals.lateStarts, 1);
}

TEST(Launches, WorkThatBeginsWithinItsCallIsNotDelayed) {
    const auto work = joined({{0, 10, 5, 20}});
    EXPECT_EQ(work.at(0).delay().ns, 0);
    EXPECT_EQ(launchTotals(work).longestDelay.ns, 0);
}

TEST(Launches, OfSeveralCallsWithACorrelationTheFirstCounts) {
    const auto work = joinLaunches(
        {{{{50}, {60}}, 7}}, {{{{12}, {14}}, 7, 2}, {{{10}, {20}}, 7, 1}, {{{5}, {6}}, 0, 3}});
    EXPECT_EQ(work.at(0).call->name, 1u);
}

TEST(Launches, OneCallMayLaunchMuch) {
    const auto work = joinLaunches({{{{50}, {60}}, 7}, {{{70}, {80}}, 7}}, {{{{10}, {20}}, 7, 1}});
    const auto totals = launchTotals(work);
    EXPECT_EQ(totals.count, 1) << "a graph of two kernels";
    EXPECT_EQ(totals.work.ns, 20);
    EXPECT_EQ(totals.longestDelay.ns, 30) << "to what begins first";
    EXPECT_EQ(queueLength(work).longest, 1);
    EXPECT_EQ(queueLength(work).launches, 1);
}

TEST(Launches, WithoutCorrelationAreUnknown) {
    const auto work = joinLaunches({{{{0}, {10}}, 0}, {{{50}, {60}}, 3}}, {{{{0}, {1}}, 0, 1}});
    EXPECT_EQ(launchTotals(work).count, 0);
    EXPECT_EQ(queueLength(work).launches, 0);
    EXPECT_FALSE(queueLength(work).mean());
    EXPECT_EQ(idleCauses(work).of(IdleCause::kUnknown).ns, 40);
}

TEST(QueueLength, IsWhatWasLaunchedAndHasNotBegun) {
    const QueueLength queue = queueLength(joined({{0, 1, 4, 6}, {1, 2, 6, 8}, {7, 8, 9, 10}}));
    EXPECT_EQ(queue.launches, 3);
    EXPECT_EQ(queue.longest, 2);
    EXPECT_EQ(queue.span.ns, 9 * kMicrosecond);
    EXPECT_DOUBLE_EQ(*queue.mean(), (1 + 3 * 2 + 2 * 1 + 2 * 1) / 9.0);
    EXPECT_EQ(queue.full.ns, 0);
}

TEST(QueueLength, SamplesAreWhatItSumsUp) {
    const auto work = joined({{0, 1, 4, 6}, {1, 2, 6, 8}, {7, 8, 9, 10}});
    const auto samples = queueSamples(work);
    const QueueLength queue = queueLength(work);
    ASSERT_EQ(samples.size(), 6u);
    EXPECT_EQ(samples.back().length, 0);
    EXPECT_EQ(samples.back().time - samples.front().time, queue.span);
    std::int64_t longest = 0;
    for (const QueueSample& sample : samples) longest = std::max(longest, sample.length);
    EXPECT_EQ(longest, queue.longest);
    EXPECT_TRUE(queueSamples({}).empty());
}

TEST(QueueLength, IsFullFromWhereCallsBlock) {
    std::vector<Drawn> drawn;
    for (std::int64_t i = 0; i < kFullQueue; ++i) drawn.push_back({0, 1, 10 + i, 11 + i});
    EXPECT_EQ(queueLength(joined(drawn)).full.ns, 10 * kMicrosecond);
    drawn.pop_back();
    EXPECT_EQ(queueLength(joined(drawn)).full.ns, 0);
}

TEST(IdleCauses, AreWhatTheNextWorkWaitedFor) {
    // Launched after the one before had ended; early, and soon there; early, and late.
    const auto causes =
        idleCauses(joined({{0, 1, 2, 10}, {15, 16, 20, 30}, {21, 22, 59, 70}, {23, 24, 100, 110}}));
    EXPECT_EQ(causes.span.ns, 108 * kMicrosecond);
    EXPECT_EQ(causes.of(IdleCause::kHost).ns, 10 * kMicrosecond);
    EXPECT_EQ(causes.of(IdleCause::kKernel).ns, 29 * kMicrosecond);
    EXPECT_EQ(causes.of(IdleCause::kOther).ns, 30 * kMicrosecond);
    EXPECT_EQ(causes.idle().ns, 69 * kMicrosecond);
}

TEST(IdleCauses, OfOverlappingWorkBeginAtTheLatestEnd) {
    const auto causes = idleCauses(joined({{0, 1, 2, 50}, {1, 2, 3, 10}, {5, 6, 60, 70}}));
    EXPECT_EQ(causes.idle().ns, 10 * kMicrosecond);
}

TEST(IdleCauses, OfNothingAreNone) {
    EXPECT_EQ(idleCauses({}).span.ns, 0);
    EXPECT_EQ(idleCauses({}).idle().ns, 0);
    EXPECT_EQ(idleCauses(joined({{0, 0, 0, 0}})).span.ns, 0);
    EXPECT_EQ(queueLength({}).longest, 0);
    EXPECT_EQ(launchTotals({}).count, 0);
}

/// A drawing of 48 ticks, some work without a call, some begun before it, much at the same time.
struct Random {
    std::vector<StreamWork> work;
    std::vector<LaunchCall> calls;
};
Random draw(test::RandomEvents& random) {
    Random drawn;
    const std::int64_t count = random.between(0, 8);
    for (std::int64_t i = 1; i <= count; ++i) {
        const std::int64_t start = random.between(0, 47);
        drawn.work.push_back(
            {{{start}, {random.between(start, 48)}}, static_cast<std::uint64_t>(i)});
        if (random.between(0, 4) == 0) continue;
        const std::int64_t call = random.between(0, 40);
        drawn.calls.push_back(
            {{{call}, {random.between(call, 45)}}, static_cast<std::uint64_t>(i)});
    }
    return drawn;
}

const LaunchCall* callOf(const Random& drawn, const StreamWork& work) {
    for (const LaunchCall& call : drawn.calls)
        if (call.correlation == work.correlation) return &call;
    return nullptr;
}

TEST(QueueLength, AgreesWithCountingTickByTick) {
    test::RandomEvents random(11);
    for (int round = 0; round < 10'000; ++round) {
        const Random drawn = draw(random);
        std::int64_t sum = 0, longest = 0;
        for (std::int64_t tick = 0; tick < 48; ++tick) {
            std::int64_t length = 0, peak = 0;
            for (const StreamWork& work : drawn.work) {
                const LaunchCall* call = callOf(drawn, work);
                if (call == nullptr) continue;
                const std::int64_t from = std::min(call->time.begin.ns, work.time.begin.ns);
                length += from <= tick && tick < work.time.begin.ns;
                // What comes and goes at one moment was there at it.
                peak += from <= tick && tick <= work.time.begin.ns;
            }
            sum += length;
            longest = std::max(longest, peak);
        }
        const QueueLength queue = queueLength(joinLaunches(drawn.work, drawn.calls));
        ASSERT_DOUBLE_EQ(queue.lengthTimesNs, static_cast<double>(sum)) << round;
        ASSERT_EQ(queue.longest, longest) << round;
    }
}

TEST(IdleCauses, AgreeWithLookingAtEveryTick) {
    test::RandomEvents random(12);
    for (int round = 0; round < 10'000; ++round) {
        const Random drawn = draw(random);
        const IdleCauses causes = idleCauses(joinLaunches(drawn.work, drawn.calls));
        std::array<std::int64_t, kPlaces<IdleCause>> expected{};
        std::int64_t first = 1000, last = -1;
        for (const StreamWork& work : drawn.work) {
            first = std::min(first, work.time.begin.ns);
            last = std::max(last, work.time.end.ns);
        }
        for (std::int64_t tick = first; tick < last; ++tick) {
            std::int64_t ended = first, next = 1000;
            bool busy = false;
            for (const StreamWork& work : drawn.work) {
                busy = busy || work.time.contains({tick});
                if (work.time.begin.ns > tick) next = std::min(next, work.time.begin.ns);
                if (work.time.end.ns <= tick) ended = std::max(ended, work.time.end.ns);
            }
            if (busy) continue;
            // Of no length is ended as well as begun: it parts a gap in two.
            const LaunchCall* earliest = nullptr;
            for (const StreamWork& work : drawn.work) {
                const LaunchCall* call = callOf(drawn, work);
                if (work.time.begin.ns == next && call != nullptr &&
                    (earliest == nullptr || call->time.begin < earliest->time.begin))
                    earliest = call;
            }
            IdleCause cause = IdleCause::kKernel;  // no gap is 30 us long here
            if (earliest == nullptr) cause = IdleCause::kUnknown;
            if (earliest != nullptr && earliest->time.begin.ns > ended) cause = IdleCause::kHost;
            ++expected[static_cast<std::size_t>(cause)];
        }
        for (const IdleCause cause : kAll<IdleCause>)
            ASSERT_EQ(causes.of(cause).ns, expected[static_cast<std::size_t>(cause)])
                << round << " " << toWord(cause);
        ASSERT_EQ(causes.span.ns, drawn.work.empty() ? 0 : last - first) << round;
    }
}

}  // namespace
}  // namespace shardscope::analysis
