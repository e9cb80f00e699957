// How long hosts take until their agents are ready, and how fast frames come from them: one real
// ssh server on 127.0.0.1 stands for all hosts, the programs beside this one are what is sent.
//
//   ssh_bench [HOSTS]     8 unless given
#include "engine/launch/process.h"
#include "engine/launch/ssh/connect_hosts.h"
#include "engine/launch/ssh/content_sums.h"
#include "engine/launch/ssh/payload.h"
#include "tests/engine/launch/ssh/ssh_server.h"
#include "tests/support/temporary_folder.h"

#include <fmt/format.h>
#include <poll.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::launch {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

[[noreturn]] void fail(const Error& error) {
    fmt::print(stderr, "ssh_bench: {}\n", error.message);
    std::exit(1);
}

/// Notes how long the first host was in each state.
class Stopwatch final : public ConnectObserver {
public:
    void progress(std::size_t host, const ConnectProgress& progress) override {
        if (host != 0 || progress.state == m_state) return;
        m_text += fmt::format(" {:.2f}", secondsSince(m_since));
        m_state = progress.state;
        m_since = Clock::now();
    }
    bool goOn() override { return true; }
    [[nodiscard]] const std::string& text() const { return m_text; }

private:
    ConnectState m_state = ConnectState::kWaiting;
    Clock::time_point m_since = Clock::now();
    std::string m_text;
};

std::size_t payloadBytes(SshAgent& agent, std::size_t enough) {
    std::size_t bytes = 0;
    while (bytes < enough && agent.channel().isOpen()) {
        std::vector<pollfd> polls;
        agent.channel().addPolls(polls, true);
        ::poll(polls.data(), polls.size(), 100);
        agent.channel().flush();
        std::vector<run::Frame> frames;
        if (!agent.channel().receive(frames)) break;
        for (const run::Frame& frame : frames)
            if (frame.type == run::FrameType::kChunk) bytes += frame.payload.size();
    }
    return bytes;
}

class Bench {
public:
    explicit Bench(std::size_t hosts) : m_hosts(hosts) {
        m_options.command = {"ssh", "-F", m_server.clientConfiguration()};
        m_options.deployLibTorch = true;
    }

    /// Until all agents are ready, and until they have ended.
    void start(const std::string& what, const Payload& payload, std::size_t hosts) {
        std::vector<SshHost> all;
        for (std::size_t i = 1; i <= hosts; ++i)
            all.push_back({fmt::format("node{}", i), m_there.file("there")});
        Stopwatch observer;
        const auto begin = Clock::now();
        auto found = connectHosts(all, m_options, payload, observer);
        const double ready = secondsSince(begin);
        for (HostConnection& each : found)
            if (each.failure) fail(*each.failure);
        const auto end = Clock::now();
        for (HostConnection& each : found) each.agent->hangUp();
        for (HostConnection& each : found) each.agent->close();
        fmt::print("{:36} ready {:6.3f} s   ended {:5.3f} s   steps of the first{}\n", what, ready,
                   secondsSince(end), observer.text());
    }

    void frames(const Payload& payload, int megabytes) {
        Stopwatch observer;
        auto found =
            connectHosts({{"node1", m_there.file("frames")}}, m_options, payload, observer);
        if (found.front().failure) fail(*found.front().failure);
        SshAgent& agent = *found.front().agent;
        const auto begin = Clock::now();
        agent.channel().send(run::kNoRank, run::LogLine{"info", fmt::format("send {}", megabytes)});
        agent.channel().flush();
        const auto bytes = payloadBytes(agent, static_cast<std::size_t>(megabytes) << 20);
        fmt::print("{:44} {:.0f} MB/s\n", "frames from one host",
                   static_cast<double>(bytes) / 1e6 / secondsSince(begin));
    }

    [[nodiscard]] std::size_t hosts() const { return m_hosts; }

private:
    SshServer m_server;
    test::TemporaryFolder m_there;
    SshOptions m_options;
    std::size_t m_hosts;
};

/// Needs no LibTorch.
Payload withoutRank(const Payload& payload) {
    PackageNames names;
    for (const PackageFile& file : payload.program.files)
        if (file.name != "bin/shardscope-rank") names.emplace_back(file.path, file.name);
    auto program = packageOf(names, contentSumsMemory());
    if (!program) fail(program.error());
    Payload without;
    without.program = std::move(*program);
    without.glibc = payload.glibc;
    return without;
}

int run(std::size_t hosts) {
    std::signal(SIGPIPE, SIG_IGN);
    if (const std::string lack = SshServer::missing(); !lack.empty())
        fail({ErrorCode::kLaunch, lack});
    const std::string folder = std::filesystem::path(ownProgram()).parent_path().string();
    for (int i = 0; i < 2; ++i) {
        const auto begin = Clock::now();
        if (auto found = findPayload(folder, LibTorchPart::kCpu); !found) fail(found.error());
        fmt::print("{:44} {:.3f} s\n",
                   i == 0 ? "what is to be sent, found" : "again, sums remembered",
                   secondsSince(begin));
    }
    const auto payload = findPayload(folder, LibTorchPart::kCpu);
    const auto megabytes = [](Bytes bytes) { return static_cast<double>(bytes.count) / 1e6; };
    fmt::print("the program is {:.1f} MB, LibTorch {:.1f} MB\n", megabytes(payload->program.size()),
               payload->libTorch ? megabytes(payload->libTorch->size()) : 0);
    Bench bench(hosts);
    const Payload programOnly = withoutRank(*payload);
    bench.start("nothing there, without LibTorch", programOnly, 1);
    for (int i = 0; i < 3; ++i) bench.start("all there, without LibTorch", programOnly, 1);
    bench.start(fmt::format("all there, {} hosts", hosts), programOnly, hosts);
    bench.start("nothing there, with LibTorch", *payload, 1);
    for (int i = 0; i < 3; ++i) bench.start("all there, with LibTorch", *payload, 1);
    for (int i = 0; i < 3; ++i)
        bench.start(fmt::format("all there, {} hosts", hosts), *payload, hosts);
    auto fake = packageOf({{folder + "/fake_ssh_agent", "bin/shardscope"}}, "");
    if (!fake) fail(fake.error());
    Payload fakeOnly;
    fakeOnly.program = std::move(*fake);
    for (int i = 0; i < 3; ++i) bench.frames(fakeOnly, 1024);
    return 0;
}

}  // namespace
}  // namespace shardscope::launch

int main(int argc, char** argv) {
    return shardscope::launch::run(argc > 1 ? std::stoul(argv[1]) : 8);
}
