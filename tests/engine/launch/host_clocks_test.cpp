// Whole runs over hosts whose clocks are not the recorder's: a library put before the others, or a
// time namespace, shifts the clock of an agent and its ranks. The ranks put the kernel's own time
// beside each time they stamp, so the truth is in the recording.
#include "engine/launch/process.h"
#include "engine/launch/run_supervisor.h"
#include "storage/columns/chunk.h"
#include "storage/model/host_clock.h"
#include "storage/model/host_facts.h"
#include "tests/engine/launch/forked_agent.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::launch {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr LaneId kTruthLane{3};

/// A program of ours as an agent, after `prepare` in its process.
int runProgram(const FileDescriptor& socket, const std::function<bool()>& prepare) {
    ::fcntl(socket.get(), F_SETFD, 0);
    if (!prepare()) return 77;
    const std::string fd = std::to_string(socket.get());
    ::execl(SHARDSCOPE_TEST_AGENT, SHARDSCOPE_TEST_AGENT, fd.c_str(), nullptr);
    return 78;
}

class KeptTimes : public RunSink {
public:
    void hostReady(const HostFacts& host) override { hosts.push_back(host); }
    void clockCompared(const ClockFacts& facts) override { clocks[facts.host].push_back(facts); }
    void message(RankId, const run::Message&) override {}
    void chunk(RankId rank, std::span<const std::byte> bytes) override {
        if (const auto counters = columns::decodeCounters(bytes))
            for (const CounterEvent& each : *counters)
                if (each.lane == kTruthLane) truths[rank.value].push_back(each);
    }
    void tick() override {}

    std::vector<HostFacts> hosts;
    std::map<std::int32_t, std::vector<ClockFacts>> clocks;
    std::map<std::uint32_t, std::vector<CounterEvent>> truths;
};

/// As the library takes them (skewed_clock.cpp), for the agent's process.
std::function<bool()> skewed(const std::map<std::string, std::int64_t>& settings) {
    return [settings] {
        ::setenv("LD_PRELOAD", SHARDSCOPE_SKEWED_CLOCK, 1);
        for (const auto& [name, value] : settings)
            ::setenv(name.c_str(), std::to_string(value).c_str(), 1);
        return true;
    };
}

class HostClocksTest : public testing::Test {
protected:
    HostClocksTest() {
        ::setenv("FAKE_RANK_TRUTH", "yes", 1);
        ::setenv("FAKE_RANK_STEP_MS", "10", 1);
    }
    ~HostClocksTest() override {
        ::unsetenv("FAKE_RANK_TRUTH");
        ::unsetenv("FAKE_RANK_STEP_MS");
    }
    void addHost(const std::string& name, const std::function<bool()>& prepare) {
        m_request.launch.places.perHost.push_back(1);
        HostRun host;
        host.name = name;
        host.interface = "lo";
        host.rankProgram = SHARDSCOPE_FAKE_RANK;
        host.segmentBytes = 1 << 20;
        host.start = [prepare]() -> Result<std::unique_ptr<AgentTransport>> {
            return std::unique_ptr<AgentTransport>(std::make_unique<ForkedAgent>(
                [prepare](const FileDescriptor& socket) { return runProgram(socket, prepare); }));
        };
        m_request.hosts.push_back(std::move(host));
    }
    void run(std::int32_t steps) {
        m_request.launch.config.ranks = m_request.launch.places.ranks();
        m_request.launch.config.steps = steps;
        m_request.launch.config.threads = 1;
        m_originNs = m_request.launch.originNs = hostNow();
        RunSupervisor supervisor(std::move(m_request), m_kept);
        const RunOutcome outcome = supervisor.run();
        ASSERT_FALSE(outcome.failure) << outcome.failure->message;
        ASSERT_FALSE(m_kept.clocks[1].empty());
        ASSERT_GE(m_kept.truths[1].size(), static_cast<std::size_t>(steps));
    }
    /// By which the times of a rank are off. `shiftNs`: of the kernel's clock where it ran.
    std::int64_t off(const CounterEvent& event, std::int64_t shiftNs = 0) const {
        return event.time.ns + m_originNs + shiftNs - static_cast<std::int64_t>(event.value);
    }
    /// Most that the recording says times of `host` may be off by at `time`: at the comparison
    /// before what was left to be slewed, at the one after what has come up since.
    std::int64_t stated(std::int32_t host, Timestamp time) const {
        const auto saidBy = [](const ClockFacts& facts) {
            return std::abs(facts.residualNs) + facts.errorNs;
        };
        std::int64_t most = m_kept.hosts[static_cast<std::size_t>(host)].clockErrorNs;
        for (const ClockFacts& facts : m_kept.clocks.at(host)) {
            if (facts.time >= time) return std::max(most, saidBy(facts));
            most = saidBy(facts);
        }
        return most;
    }
    void expectWithinWhatIsStated(std::int32_t host, std::int64_t shiftNs = 0) {
        std::vector<std::int64_t> errors, bounds;
        Timestamp last{-kSecond};
        const auto& truths = m_kept.truths[static_cast<std::uint32_t>(host)];
        for (const CounterEvent& event : truths) {
            const std::int64_t error = std::abs(off(event, shiftNs));
            // Reading three clocks one after the other takes a moment too.
            EXPECT_LE(error, stated(host, event.time) + 2'000) << event.time.ns;
            EXPECT_GE(event.time, last) << "times of one rank never run backwards";
            last = event.time;
            if (event.time > truths.back().time - Duration{3 * kSecond}) errors.push_back(error);
        }
        for (const ClockFacts& facts : m_kept.clocks[host]) bounds.push_back(facts.errorNs);
        std::sort(errors.begin(), errors.end());
        std::sort(bounds.begin(), bounds.end());
        fmt::print(
            "host {}: times off by {} us (median), {} us (most) in the last 3 s; stated "
            "bound {} us (median of {})\n",
            host, errors[errors.size() / 2] / 1000, errors.back() / 1000,
            bounds[bounds.size() / 2] / 1000, bounds.size());
        EXPECT_LT(bounds[bounds.size() / 2], 5'000'000);
    }

    RunRequest m_request;
    KeptTimes m_kept;
    std::int64_t m_originNs = 0;
};

TEST_F(HostClocksTest, AShiftedAndDriftingClockIsRecovered) {
    const std::int64_t since = hostNow();
    addHost("node-a", skewed({{"SKEW_AHEAD_NS", 0}}));
    addHost("node-b", skewed({{"SKEW_AHEAD_NS", 3'000 * kSecond + 123'456},
                              {"SKEW_SINCE_NS", since},
                              {"SKEW_DRIFT_PPB", 150'000}}));
    run(800);
    ASSERT_GE(m_kept.clocks[1].size(), 3u);
    for (const ClockFacts& facts : m_kept.clocks[1]) {
        const std::int64_t kernelNs = m_originNs + facts.time.ns;
        const double drifted = static_cast<double>(kernelNs - since) * 150e-6;
        const std::int64_t host =
            kernelNs + 3'000 * kSecond + 123'456 + static_cast<std::int64_t>(drifted);
        EXPECT_LE(std::abs(host + facts.offsetNs - facts.time.ns), facts.errorNs);
        EXPECT_FALSE(facts.stepped);
    }
    EXPECT_NEAR(static_cast<double>(m_kept.clocks[1].back().driftPpb), 150'000, 100'000);
    EXPECT_GT(m_kept.clocks[1].back().time, m_kept.truths[1].back().time) << "once more at the end";
    expectWithinWhatIsStated(0);
    expectWithinWhatIsStated(1);
}

TEST_F(HostClocksTest, AClockThatLosesASecondIsSaidAndTimesJumpForwards) {
    addHost("node-a", [] { return true; });
    addHost("node-b",
            skewed({{"SKEW_SET_AT_NS", hostNow() + 4 * kSecond}, {"SKEW_SET_NS", -kSecond}}));
    run(900);
    const auto stepped = std::count_if(m_kept.clocks[1].begin(), m_kept.clocks[1].end(),
                                       [](const ClockFacts& each) { return each.stepped; });
    EXPECT_EQ(stepped, 1);
    const auto& truths = m_kept.truths[1];
    for (std::size_t i = 1; i < truths.size(); ++i) EXPECT_GE(truths[i].time, truths[i - 1].time);
    EXPECT_LT(std::abs(off(truths.back())), kSecond / 10) << "found again";
    const auto worst = std::min_element(truths.begin(), truths.end(),
                                        [&](auto& a, auto& b) { return off(a) < off(b); });
    EXPECT_LT(off(*worst), -kSecond / 2) << "nobody knew until it was asked";
    for (const ClockFacts& each : m_kept.clocks[0]) EXPECT_FALSE(each.stepped);
}

TEST_F(HostClocksTest, AClockThatIsSetForwardsIsSaidAndTimesSlowDown) {
    addHost("node-a", [] { return true; });
    addHost("node-b",
            skewed({{"SKEW_SET_AT_NS", hostNow() + 4 * kSecond}, {"SKEW_SET_NS", kSecond / 5}}));
    run(1100);
    const auto stepped = std::count_if(m_kept.clocks[1].begin(), m_kept.clocks[1].end(),
                                       [](const ClockFacts& each) { return each.stepped; });
    EXPECT_EQ(stepped, 1);
    const auto& truths = m_kept.truths[1];
    for (std::size_t i = 1; i < truths.size(); ++i) EXPECT_GE(truths[i].time, truths[i - 1].time);
    EXPECT_LT(off(truths.back()), kSecond / 10) << "found again";
}

/// As a container whose host has been up for days longer.
TEST_F(HostClocksTest, AHostOfAnotherTimeNamespaceIsRecovered) {
    constexpr std::int64_t kDays = 10 * 86'400;
    if (const int child = ::fork(); child == 0) {
        ::_exit(::unshare(CLONE_NEWTIME) == 0 ? 0 : 1);
    } else {
        int status = 0;
        ::waitpid(child, &status, 0);
        if (status != 0) GTEST_SKIP() << "this system lets us make no time namespace (needs root)";
    }
    addHost("node-a", [] { return true; });
    addHost("node-b", [] {
        if (::unshare(CLONE_NEWTIME) != 0) return false;
        std::ofstream offsets("/proc/self/timens_offsets");
        offsets << "monotonic " << kDays << " 0\n";
        offsets.close();
        if (!offsets) return false;
        // The namespace holds for children; exec would take it on too, of a fork only.
        const pid_t child = ::fork();
        if (child == 0) return true;
        ::close_range(3, ~0U, 0);
        int status = 0;
        ::waitpid(child, &status, 0);
        ::_exit(0);
    });
    run(300);
    EXPECT_NEAR(static_cast<double>(m_kept.hosts[1].clockOffsetNs + m_originNs),
                -static_cast<double>(kDays) * 1e9, 1e9);
    expectWithinWhatIsStated(1, kDays * kSecond);
}

}  // namespace
}  // namespace shardscope::launch
