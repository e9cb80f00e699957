#include "profiler/planning/bucket_model.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

namespace shardscope::planning {
namespace {

using testing::HasSubstr;

const BucketModel kTruth{400e6, 5e9, 100e-6};

std::vector<BucketPoint> pointsOf(const BucketModel& truth, double noise) {
    std::mt19937_64 random(7);
    std::normal_distribution<double> normal(0, noise);
    std::vector<BucketPoint> points;
    for (const double buckets : {1.0, 2.0, 4.0, 8.0, 16.0, 40.0, 80.0})
        points.push_back({buckets, truth.overheadSeconds(buckets) * (1 + normal(random))});
    return points;
}

TEST(BucketModel, IsTheLastBucketAndACallEach) {
    // 400 MB over 5 GB/s are 80 ms, of which the last of 8 buckets is 10.
    EXPECT_NEAR(kTruth.overheadSeconds(8), 0.0108, 1e-12);
    EXPECT_NEAR(kTruth.overheadSeconds(1), 0.0801, 1e-12);
}

TEST(BucketModel, HasItsOptimumWhereNothingElseIsSmaller) {
    const double best = kTruth.bestBuckets();
    EXPECT_NEAR(best, std::sqrt(400e6 / (100e-6 * 5e9)), 1e-9);
    EXPECT_NEAR(best * kTruth.bestBucketBytes(), 400e6, 1e-3);
    for (const double other : {0.5, 0.9, 1.1, 2.0})
        EXPECT_LT(kTruth.overheadSeconds(best), kTruth.overheadSeconds(other * best));
}

TEST(BucketModel, IsFoundInWhatItDraws) {
    const auto exact = fitBuckets(kTruth.gradientBytes, pointsOf(kTruth, 0));
    ASSERT_TRUE(exact) << exact.error().message;
    EXPECT_NEAR(exact->bytesPerSecond / kTruth.bytesPerSecond, 1, 1e-9);
    EXPECT_NEAR(exact->secondsPerBucket / kTruth.secondsPerBucket, 1, 1e-9);
    const auto noisy = fitBuckets(kTruth.gradientBytes, pointsOf(kTruth, 0.05));
    ASSERT_TRUE(noisy) << noisy.error().message;
    EXPECT_NEAR(noisy->bestBuckets() / kTruth.bestBuckets(), 1, 0.25);
}

TEST(BucketModel, SaysWhyThereIsNoOptimum) {
    const auto one = fitBuckets(1e6, {{4, 0.1}, {4, 0.2}});
    ASSERT_FALSE(one);
    EXPECT_THAT(one.error().message, HasSubstr("two different"));
    const auto free = fitBuckets(1e6, {{1, 0.1}, {2, 0.05}, {8, 0.0125 - 1e-6}});
    ASSERT_FALSE(free);
    EXPECT_THAT(free.error().message, HasSubstr("does not grow"));
    const auto growing = fitBuckets(1e6, {{1, 0.1}, {2, 0.2}, {8, 0.81}});
    ASSERT_FALSE(growing);
    EXPECT_THAT(growing.error().message, HasSubstr("does not fall"));
}

}  // namespace
}  // namespace shardscope::planning
