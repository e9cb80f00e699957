#include "storage/model/digits.h"

#include <gtest/gtest.h>

#include <limits>

namespace shardscope {
namespace {

TEST(Digits, StandInGroupsOfThree) {
    EXPECT_EQ(grouped(0), "0");
    EXPECT_EQ(grouped(999), "999");
    EXPECT_EQ(grouped(1'000), "1,000");
    EXPECT_EQ(grouped(123'456), "123,456");
    EXPECT_EQ(grouped(10'774'272), "10,774,272");
}

TEST(Digits, ASignIsNoDigit) {
    EXPECT_EQ(grouped(-100), "-100");
    EXPECT_EQ(grouped(-1'000), "-1,000");
    EXPECT_EQ(grouped(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

}  // namespace
}  // namespace shardscope
