// Messages of PyTorch's profiler, and bytes that are none.
#include "engine/launch/kineto/protocol.h"

#include "tests/engine/launch/kineto/kineto_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardscope::launch::kineto {
namespace {

using testing::ElementsAre;

TEST(KinetoProtocol, ReadsRequestsAndRegistrations) {
    const auto idle = decode(test::request({12, 7, 1}));
    ASSERT_TRUE(idle && idle->request);
    EXPECT_TRUE(idle->request->idle);
    EXPECT_THAT(idle->request->pids, ElementsAre(12, 7, 1));
    const auto busy = decode(test::request({12}, 1));
    ASSERT_TRUE(busy && busy->request);
    EXPECT_FALSE(busy->request->idle);
    const auto registered = decode(test::registration(3, 12));
    ASSERT_TRUE(registered && registered->registration);
    EXPECT_EQ(registered->registration->gpu, 3);
    EXPECT_EQ(registered->registration->pid, 12);
}

TEST(KinetoProtocol, RefusesWhatIsNoMessage) {
    const std::string sound = test::request({12, 7});
    std::string huge = test::request({12});
    const std::int32_t count = 0x40000001;  // times four is four
    std::memcpy(huge.data() + 44, &count, sizeof count);
    std::string size = sound;
    size[0] = '\x7f';
    for (const std::string& bytes :
         {std::string(), std::string("\0", 1), std::string(40, '\0'), sound.substr(0, 39),
          sound.substr(0, sound.size() - 1), sound + "x", huge, size, test::datagram("req", ""),
          test::datagram("ctxt", "1234"), test::datagram("other", "1234"),
          test::datagram(std::string(32, 'r'), ""), test::request({}), test::request({0}),
          test::request({-5, 1}), test::registration(0, -1),
          test::request(std::vector<std::int32_t>(kMostPids + 1, 5))}) {
        const auto decoded = decode(bytes);
        ASSERT_FALSE(decoded) << bytes.size();
        EXPECT_EQ(decoded.error().code, ErrorCode::kUnreadable);
    }
    EXPECT_TRUE(decode(test::request(std::vector<std::int32_t>(kMostPids, 5))));
}

TEST(KinetoProtocol, AnswersAsItIsAsked) {
    EXPECT_EQ(requestAnswer("A=1\n"), test::datagram("req", "A=1\n"));
    EXPECT_EQ(requestAnswer(""), test::datagram("req", ""));
    EXPECT_EQ(registrationAnswer(2), test::datagram("ctxt", std::string("\2\0\0\0", 4)));
}

}  // namespace
}  // namespace shardscope::launch::kineto
