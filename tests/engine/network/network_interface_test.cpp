#include "engine/network/network_interface.h"

#include <gmock/gmock.h>
#include <unistd.h>

namespace shardscope::network {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

int listener() {
    return listenOn("127.0.0.1").value().fd;
}

TEST(ListenersSince, AreThoseOpenedMeanwhile) {
    const int old = listener();
    const auto before = ownListeners();
    EXPECT_THAT(listenersSince(before), IsEmpty());
    const int young = listener();
    EXPECT_THAT(listenersSince(before), ElementsAre(young));
    ::close(young);
    EXPECT_THAT(listenersSince(before), IsEmpty());
    ::close(old);
}

/// As when the ranks' meeting closes its port while Gloo opens its own.
TEST(ListenersSince, HaveOneThatTookTheNumberOfAClosedOne) {
    const int old = listener();
    const auto before = ownListeners();
    ::close(old);
    const int young = listener();
    ASSERT_EQ(young, old);
    EXPECT_THAT(listenersSince(before), ElementsAre(young));
    ::close(young);
}

}  // namespace
}  // namespace shardscope::network
