#include "engine/network/network_interface.h"

#include <gmock/gmock.h>
#include <unistd.h>

namespace shardscope::network {
namespace {

TEST(NetworkInterface, IsFoundByNameAndAddressAndIsLoopbackByDefault) {
    EXPECT_EQ(*addressOf(""), "127.0.0.1");
    EXPECT_EQ(*addressOf("lo"), "127.0.0.1");
    EXPECT_EQ(*addressOf("127.0.0.1"), "127.0.0.1");
    EXPECT_FALSE(addressOf("192.0.2.77"));  // for documentation; nobody's
}

TEST(NetworkInterface, ListensOnAPortOfItsOwn) {
    const auto one = listenOn("127.0.0.1"), two = listenOn("127.0.0.1");
    ASSERT_TRUE(one && two);
    EXPECT_GT(one->port, 0);
    EXPECT_NE(one->port, two->port);
    EXPECT_FALSE(listenOn("192.0.2.77"));
    ::close(one->fd);
    ::close(two->fd);
}

TEST(NetworkInterface, IsFoundByWhereItLeads) {
    EXPECT_EQ(*addressTowards("127.0.0.1"), "127.0.0.1");
    EXPECT_THAT(addressTowards("node-b").error().message,
                testing::HasSubstr("no way to node-b"));  // names are not looked up
}

}  // namespace
}  // namespace shardscope::network
