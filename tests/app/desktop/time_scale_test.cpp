#include "app/desktop/models/time_scale.h"

#include <gmock/gmock.h>

namespace shardscope::desktop {
namespace {

using ::testing::ElementsAre;

constexpr TimeRange kBounds{{0}, {1'000'000}};

TEST(TimeScale, PixelAndTimeAreInverse) {
    const TimeScale scale{{{1000}, {3000}}, 200};
    EXPECT_DOUBLE_EQ(scale.x({2000}), 100);
    EXPECT_EQ(scale.time(100), Timestamp{2000});
    EXPECT_EQ(scale.resolution(), Duration{10});
}

TEST(TimeScale, ZoomKeepsTheAnchorInItsPlace) {
    const TimeRange before{{200'000}, {600'000}};
    const TimeRange after = zoomed(before, 0.5, {300'000}, kBounds);
    EXPECT_EQ(after.duration(), Duration{200'000});
    EXPECT_EQ(Timestamp{300'000} - after.begin, Duration{50'000});
}

TEST(TimeScale, ZoomNeverLeavesTheRecording) {
    EXPECT_EQ(zoomed({{200'000}, {600'000}}, 100, {300'000}, kBounds), kBounds);
    EXPECT_GT(zoomed({{200'000}, {200'300}}, 1e-6, {200'100}, kBounds).duration().ns, 0);
}

TEST(TimeScale, PanStopsAtTheEdges) {
    EXPECT_EQ(panned({{0}, {1000}}, -5, kBounds).begin, Timestamp{0});
    EXPECT_EQ(panned({{999'000}, {1'000'000}}, 5, kBounds).end, Timestamp{1'000'000});
    EXPECT_EQ(panned({{1000}, {2000}}, 0.5, kBounds).begin, Timestamp{1500});
}

TEST(Ticks, StandAtOneTwoFive) {
    EXPECT_THAT(niceTicks(0, 10, 5), ElementsAre(0, 2, 4, 6, 8, 10));
    EXPECT_DOUBLE_EQ(niceStep(0.9, 3), 0.5);
    EXPECT_DOUBLE_EQ(niceStep(100, 4), 50);
}

TEST(Ticks, BytesGetBinaryTicks) {
    const auto ticks = binaryTicks(250.0 * 1048576, 4);
    ASSERT_GE(ticks.size(), 3U);
    EXPECT_DOUBLE_EQ(ticks[1] - ticks[0], 100.0 * 1048576);
}

}  // namespace
}  // namespace shardscope::desktop
