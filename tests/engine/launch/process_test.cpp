#include "engine/launch/process.h"

#include "engine/launch/kill_cause.h"
#include "engine/launch/process_look.h"
#include "engine/launch/run_supervisor.h"
#include "storage/model/host_facts.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <utility>

namespace shardscope::launch {
namespace {

ProcessEnd waitFor(pid_t pid) {
    std::optional<ProcessEnd> end;
    for (int turn = 0; turn < 4000 && !(end = reap(pid)); ++turn) ::poll(nullptr, 0, 5);
    EXPECT_TRUE(end.has_value());
    return end.value_or(ProcessEnd{});
}

pid_t shell(const std::string& script, SpawnRequest request = {}) {
    request.program = "/bin/sh";
    request.arguments = {"-c", script};
    const auto pid = spawn(request);
    EXPECT_TRUE(pid.has_value());
    return pid.value_or(-1);
}

TEST(Process, TellsHowAChildEnded) {
    EXPECT_EQ(waitFor(shell("exit 3")).code, 3);
    const ProcessEnd killed = waitFor(shell("kill -9 $$"));
    EXPECT_EQ(killed.signal, SIGKILL);
    EXPECT_FALSE(killed.code.has_value());
}

TEST(Process, SaysWhyAProgramCannotBeStarted) {
    SpawnRequest request;
    request.program = "/etc/passwd";
    const auto pid = spawn(request);
    ASSERT_FALSE(pid.has_value());
    EXPECT_EQ(pid.error().code, ErrorCode::kLaunch);
    EXPECT_THAT(pid.error().message, testing::HasSubstr("/etc/passwd cannot be started"));
}

TEST(Process, GivesTheChildItsDescriptorsEvenWhenNumbersCross) {
    std::array<int, 2> first{};
    std::array<int, 2> second{};
    ASSERT_EQ(::pipe2(first.data(), O_CLOEXEC), 0);
    ASSERT_EQ(::pipe2(second.data(), O_CLOEXEC), 0);
    const FileDescriptor firstRead(first[0]);
    const FileDescriptor secondRead(second[0]);
    SpawnRequest request;
    // Each is given the other's number.
    request.descriptors = {{first[1], second[1]}, {second[1], first[1]}};
    const std::string script =
        "echo one >&" + std::to_string(second[1]) + "; echo two >&" + std::to_string(first[1]);
    const pid_t pid = shell(script, request);
    const FileDescriptor firstWrite(first[1]);
    const FileDescriptor secondWrite(second[1]);
    EXPECT_EQ(waitFor(pid).code, 0);
    std::array<char, 4> text{};
    ASSERT_EQ(::read(firstRead.get(), text.data(), 4), 4);
    EXPECT_EQ(std::string(text.data(), 3), "one");
    ASSERT_EQ(::read(secondRead.get(), text.data(), 4), 4);
    EXPECT_EQ(std::string(text.data(), 3), "two");
}

TEST(Process, StartsWhereFewFilesMayBeOpen) {
    rlimit kept{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &kept), 0);
    rlimit few = kept;
    few.rlim_cur = 40;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    const FileDescriptor input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    SpawnRequest request;
    request.descriptors = {{input.get(), 0}};
    EXPECT_EQ(waitFor(shell("exit 4", request)).code, 4);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &kept), 0);
}

TEST(Process, SaysWhichLimitOfFilesIsTooLow) {
    rlimit kept{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &kept), 0);
    rlimit none = kept;
    none.rlim_cur = 3;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    SpawnRequest request;
    request.program = "/bin/true";
    const auto pid = spawn(request);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &kept), 0);
    ASSERT_FALSE(pid.has_value());
    EXPECT_THAT(pid.error().message, testing::HasSubstr("ulimit -n"));
}

TEST(Process, TellsWhetherAProcessIsStopped) {
    const pid_t pid = shell("exec sleep 60");
    EXPECT_FALSE(isStopped(pid));
    ::kill(pid, SIGSTOP);
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, WUNTRACED), pid);
    EXPECT_TRUE(isStopped(pid));
    ::kill(pid, SIGKILL);
    EXPECT_EQ(waitFor(pid).signal, SIGKILL);
    EXPECT_FALSE(isStopped(-1));
}

TEST(Process, IsSeenToBeStoppedFrozenOrAtItsEnd) {
    const pid_t pid = shell("exec sleep 60");
    ::kill(pid, SIGSTOP);
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, WUNTRACED), pid);
    EXPECT_EQ(lookAt(pid).hold, run::ProcessHold::kStopped);
    EXPECT_TRUE(isHeld(lookAt(pid).hold));
    ::kill(pid, SIGKILL);
    siginfo_t ended{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT), 0);
    EXPECT_EQ(lookAt(pid).hold, run::ProcessHold::kEnded) << "it is not reaped";
    waitFor(pid);
    EXPECT_EQ(lookAt(pid).hold, run::ProcessHold::kEnded);
    EXPECT_EQ(lookAt(::getpid()).hold, run::ProcessHold::kNone) << "it is running right now";
}

TEST(Process, ThatUsedItsProcessorTimeIsSaidToHave) {
    const KillCauses causes;
    ProcessEnd end;
    end.signal = SIGXCPU;
    EXPECT_THAT(causes.of(end), testing::HasSubstr("ulimit -t"));
    end.signal = SIGXFSZ;
    EXPECT_THAT(causes.of(end), testing::HasSubstr("ulimit -f"));
    end.signal = SIGSEGV;
    EXPECT_EQ(causes.of(end), "");
}

TEST(Process, AddsToTheEnvironment) {
    SpawnRequest request;
    request.environment = {{"SHARDSCOPE_TEST_WORD", "7"}};
    EXPECT_EQ(waitFor(shell("exit $SHARDSCOPE_TEST_WORD", request)).code, 7);
}

TEST(Process, LeadsAGroupOfItsOwnWhenAsked) {
    SpawnRequest request;
    request.ownGroup = true;
    const pid_t pid = shell("sleep 60", request);
    EXPECT_EQ(::getpgid(pid), pid);
    ::kill(-pid, SIGKILL);
    EXPECT_EQ(waitFor(pid).signal, SIGKILL);
}

// What the recorder's side says about agents that are none. Whole runs: tests/app/cli.

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
