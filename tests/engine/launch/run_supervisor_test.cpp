// What the recorder's side says about agents that are none. Whole runs: tests/app/cli.
#include "engine/launch/run_supervisor.h"

#include <gmock/gmock.h>

#include <utility>

namespace shardscope::launch {
namespace {

using testing::HasSubstr;

class NoSink : public RunSink {
public:
    void hostReady(const HostFacts&) override {}
    void message(RankId, const run::Message&) override {}
    void chunk(RankId, std::span<const std::byte>) override {}
    void tick() override {}
};

Error failureOf(const std::string& agent, const std::vector<std::string>& arguments) {
    RunRequest request;
    request.launch.places = run::RankPlaces::onOneHost(2);
    HostRun host;
    host.start = [&] { return startLocalAgent(agent, arguments); };
    request.hosts.push_back(std::move(host));
    NoSink sink;
    RunSupervisor run(std::move(request), sink);
    const RunOutcome outcome = run.run();
    EXPECT_TRUE(outcome.failure.has_value());
    return outcome.failure.value_or(Error{});
}

TEST(RunSupervisor, SaysThatTheAgentCannotBeStarted) {
    const Error error = failureOf("/no/such/agent", {});
    EXPECT_EQ(error.code, ErrorCode::kLaunch);
    EXPECT_THAT(error.message, HasSubstr("/no/such/agent cannot be started: No such file"));
}

TEST(RunSupervisor, SaysThatTheAgentEndedAtOnce) {
    const Error error = failureOf("/bin/true", {});
    EXPECT_EQ(error.code, ErrorCode::kLaunch);
    EXPECT_THAT(error.message, HasSubstr("it ended with status 0"));
}

TEST(RunSupervisor, SaysThatTheAgentIsOfAnotherVersion) {
    const Error error = failureOf("/bin/echo", {"a program that does not speak in frames"});
    EXPECT_EQ(error.code, ErrorCode::kLaunch);
    EXPECT_THAT(error.message, HasSubstr("the same build of Shardscope"));
}

}  // namespace
}  // namespace shardscope::launch
