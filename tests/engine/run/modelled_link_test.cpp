#include "engine/run/config/run_settings.h"

#include <gtest/gtest.h>

namespace shardscope::run {
namespace {

TEST(ModelledLink, IsSaidOnlyOfALinkThatIsNotThere) {
    RunConfig config;
    EXPECT_EQ(modelledLink(config), "");
    config.linkLatencyMicroseconds = 50;
    EXPECT_EQ(modelledLink(config), "") << "a latency alone slows nothing down";
    config.linkGigabytesPerSecond = 1.25;
    EXPECT_EQ(modelledLink(config), "modelled: 50 us, 1.25 GB/s");
}

}  // namespace
}  // namespace shardscope::run
