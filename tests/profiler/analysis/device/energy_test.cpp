#include "profiler/analysis/device/efficiency.h"

#include <gmock/gmock.h>

namespace shardscope::analysis {
namespace {

using testing::HasSubstr;

DeviceUse use(std::uint32_t rank, const char* uuid, std::optional<double> joules,
              double tokens = 100) {
    DeviceUse made;
    made.device.rank = {rank};
    made.device.uuid = uuid;
    made.joulesPerStep = joules;
    if (joules) made.joulesPerToken = *joules / tokens;
    return made;
}

TEST(RunEnergy, IsOfAllDevices) {
    const RunEnergy told = runEnergy({use(0, "a", 300), use(1, "b", 100)}, 2);
    EXPECT_DOUBLE_EQ(*told.joulesPerStep, 400);
    EXPECT_DOUBLE_EQ(*told.joulesPerToken, 2);
}

/// Its counter is of the whole of it.
TEST(RunEnergy, OfASharedDeviceCountsOnce) {
    const RunEnergy told = runEnergy({use(0, "a", 300), use(1, "a", 300), use(2, "b", 100)}, 3);
    EXPECT_DOUBLE_EQ(*told.joulesPerStep, 400);
    EXPECT_DOUBLE_EQ(*told.joulesPerToken, 400.0 / 300);
}

TEST(RunEnergy, OfDevicesWithoutANameIsThatOfEach) {
    EXPECT_DOUBLE_EQ(*runEnergy({use(0, "", 300), use(1, "", 300)}, 2).joulesPerStep, 600);
}

TEST(RunEnergy, SaysWhatItLacks) {
    EXPECT_THAT(runEnergy({}, 2).missing, HasSubstr("no rank has a device"));
    EXPECT_THAT(runEnergy({use(0, "a", 3), use(1, "b", std::nullopt)}, 2).missing,
                HasSubstr("rank 1's device was not sampled"));
    EXPECT_THAT(runEnergy({use(0, "a", 3)}, 2).missing, HasSubstr("some ranks have no device"));
    EXPECT_FALSE(runEnergy({use(0, "a", 3)}, 2).joulesPerStep);
}

}  // namespace
}  // namespace shardscope::analysis
