#include "profiler/collectors/cupti/record_clock.h"

#include <gtest/gtest.h>

namespace shardscope::collectors::cupti {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kEpoch = 1'700'000'000 * kSecond;

ClockSample sample(std::int64_t monotonic, std::int64_t offset = kEpoch, std::int64_t width = 60) {
    return {monotonic + offset, monotonic, monotonic, width};
}

TEST(RecordClock, MovesByAConstant) {
    RecordClock clock(sample(10 * kSecond));
    EXPECT_EQ(clock.toMonotonic(kEpoch + 11 * kSecond), 11 * kSecond);
    EXPECT_EQ(clock.toMonotonic(kEpoch + 3 * kSecond), 3 * kSecond);
}

TEST(RecordClock, ScatterOfSamplesIsNoStep) {
    RecordClock clock(sample(10 * kSecond));
    for (int i = 1; i <= 50; ++i) {
        EXPECT_FALSE(
            clock.add(sample((10 + i) * kSecond, kEpoch + (i % 2 == 0 ? 900 : -900), 1500)));
    }
    EXPECT_EQ(clock.steps(), 0u);
    EXPECT_EQ(clock.lastStep(), 0);
    EXPECT_EQ(clock.toMonotonic(kEpoch + 20 * kSecond), 20 * kSecond)
        << "as the first sample has it";
}

TEST(RecordClock, ForwardStepSplitsTheRecords) {
    RecordClock clock(sample(10 * kSecond));
    EXPECT_FALSE(clock.add(sample(11 * kSecond)));
    EXPECT_TRUE(clock.add(sample(12 * kSecond, kEpoch + 5 * kSecond)));
    EXPECT_EQ(clock.steps(), 1u);
    EXPECT_EQ(clock.lastStep(), 5 * kSecond);
    EXPECT_EQ(clock.toMonotonic(kEpoch + 10 * kSecond + 1), 10 * kSecond + 1);
    // Between the two samples, either side of the step.
    EXPECT_EQ(clock.toMonotonic(kEpoch + 11 * kSecond + kSecond / 2), 11 * kSecond + kSecond / 2);
    EXPECT_EQ(clock.toMonotonic(kEpoch + 16 * kSecond + kSecond / 2), 11 * kSecond + kSecond / 2);
    EXPECT_FALSE(clock.add(sample(13 * kSecond, kEpoch + 5 * kSecond)));
    EXPECT_EQ(clock.toMonotonic(kEpoch + 17 * kSecond + kSecond / 2), 12 * kSecond + kSecond / 2);
}

TEST(RecordClock, BackwardStepSplitsTheRecords) {
    RecordClock clock(sample(10 * kSecond));
    EXPECT_TRUE(clock.add(sample(11 * kSecond, kEpoch - 100 * kSecond)));
    EXPECT_EQ(clock.lastStep(), -100 * kSecond);
    EXPECT_EQ(clock.toMonotonic(kEpoch + 10 * kSecond + kSecond / 2), 10 * kSecond + kSecond / 2);
    EXPECT_EQ(clock.toMonotonic(kEpoch - 89 * kSecond - kSecond / 2), 10 * kSecond + kSecond / 2);
}

TEST(RecordClock, SeveralStepsKeepTheirOwnTimes) {
    RecordClock clock(sample(kSecond));
    for (int i = 1; i <= 5; ++i) {
        EXPECT_TRUE(clock.add(sample((1 + i) * kSecond, kEpoch + i * 60 * kSecond)));
    }
    EXPECT_EQ(clock.steps(), 5u);
    for (int i = 1; i <= 5; ++i) {
        EXPECT_EQ(clock.toMonotonic((1 + i) * kSecond + kEpoch + i * 60 * kSecond),
                  (1 + i) * kSecond);
    }
}

TEST(RecordClock, TellsTheDriftFromTheRawClock) {
    RecordClock clock({kEpoch, 0, 0, 60});
    EXPECT_EQ(clock.driftPpm(), 0);
    clock.add({kEpoch + 1'000'020'000, 1'000'020'000, 1'000'000'000, 60});
    EXPECT_NEAR(clock.driftPpm(), 20.0, 1e-6);
}

TEST(RecordClock, ReadsTheHostsClocks) {
    const ClockSample first = readClocks();
    const ClockSample second = readClocks();
    EXPECT_GT(first.realtime, kEpoch);
    EXPECT_GE(second.monotonic, first.monotonic);
    EXPECT_GE(second.raw, first.raw);
    EXPECT_GT(first.width, 0);
}

}  // namespace
}  // namespace shardscope::collectors::cupti
