// agents_bench [AGENTS] [RANKS] [MILLIONS]
//
// What one recorder takes in: AGENTS agents of RANKS ranks each (128 of 8 by default), replayed by
// one process over socket pairs, send MILLIONS of events (100) in chunks of 8,192 as ranks do, with
// a step every four chunks. The recorder is the real one, with all that it does before, while and
// after: checks, pyramids, one file. Events a second from the launch to the finalised file and up
// to the last event, the recorder's memory at its peak, its processor time, the file's size.
#include "app/cli/record/run_recorder.h"
#include "engine/launch/process.h"
#include "engine/launch/run_supervisor.h"
#include "storage/columns/chunk.h"
#include "storage/model/host_clock.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kChunkEvents = 8192;
constexpr int kChunksAStep = 4;
constexpr std::size_t kMostPending = 512 * 1024;

struct Size {
    int agents = 128;
    int ranks = 8;            ///< of each agent
    std::int64_t chunks = 0;  ///< of each rank
};

/// A rank that is none: what it has sent so far.
struct Replay {
    RankId rank;
    std::int64_t sent = 0;
    std::int64_t nowNs = 0;
};

/// One of the agents. All of them live in one process and one loop.
class FakeAgent {
public:
    FakeAgent(FileDescriptor socket, const Size& size)
        : m_recorder(std::move(socket)), m_size(size) {
        run::AgentHello hello;
        hello.protocol = run::kProtocolVersion;
        hello.product = "fake agent";
        hello.reachedAt = "127.0.0.1";
        m_recorder.send(run::kNoRank, hello);
    }

    [[nodiscard]] bool isOpen() const { return m_recorder.isOpen(); }
    void turn() {
        std::vector<run::Frame> frames;
        static_cast<void>(m_recorder.receive(frames));
        for (const run::Frame& frame : frames)
            if (const auto message = run::decode(frame.text())) answer(*message);
        for (Replay& replay : m_replays)
            if (m_recorder.pendingBytes() < kMostPending) goOn(replay);
        m_recorder.flush();
    }

private:
    void answer(const run::Message& message) {
        if (std::holds_alternative<run::PrepareRequest>(message))
            m_recorder.send(run::kNoRank, run::HostPrepared{"127.0.0.1", 1, 1, "", 1});
        if (std::holds_alternative<run::PeersRequest>(message))
            m_recorder.send(run::kNoRank, run::PeersChecked{});
        if (const auto* asked = std::get_if<run::ClockAsked>(&message))
            m_recorder.send(run::kNoRank, run::ClockAnswer{asked->sentNs, hostNow(), hostNow()});
        if (const auto* launch = std::get_if<run::LaunchRequest>(&message)) start(*launch);
    }
    void start(const run::LaunchRequest& launch) {
        const std::int32_t first = launch.places.firstOf(launch.host);
        for (std::int32_t rank = first; rank < first + m_size.ranks; ++rank) {
            const RankId id{static_cast<std::uint32_t>(rank)};
            m_recorder.send(id, run::RankStarted{rank, 1});
            m_recorder.send(id, run::RankHello{run::kProtocolVersion, "fake rank", 1, "cpu", {}});
            m_recorder.send(
                id, run::LaneDeclared{{id, LaneId{1}, LaneRole::kCompute, "compute", "", 0}});
            m_recorder.send(id, run::StringsDeclared{1, {"forward", "backward", "gemm", "norm"}});
            m_replays.push_back({id, 0, hostNow() - launch.originNs});
        }
        m_left = m_size.ranks;
    }
    void goOn(Replay& replay) {
        if (replay.sent == m_size.chunks) return;
        std::vector<SpanEvent> spans(kChunkEvents);
        const auto step = static_cast<std::int32_t>(replay.sent / kChunksAStep);
        const std::int64_t begin = replay.nowNs;
        for (std::size_t i = 0; i < spans.size(); ++i) {
            // As little alike as those of kernels.
            const std::int64_t length = 1500 + static_cast<std::int64_t>(m_random() % 4096);
            spans[i].start = Timestamp{replay.nowNs};
            spans[i].duration = Duration{length};
            spans[i].lane = LaneId{1};
            spans[i].name = StringId{static_cast<std::uint32_t>(1 + m_random() % 4)};
            spans[i].step = StepIndex{step};
            spans[i].phase = i % 4 < 2 ? Phase::kForward : Phase::kBackward;
            replay.nowNs += length + 100;
        }
        const auto chunk = columns::encodeSpans(replay.rank, spans);
        m_recorder.send(
            run::Frame{run::FrameType::kChunk, replay.rank, {chunk.begin(), chunk.end()}});
        if (++replay.sent % kChunksAStep == 0) stepDone(replay, step, begin);
        if (replay.sent == m_size.chunks) end(replay);
    }
    void stepDone(const Replay& replay, std::int32_t step, std::int64_t begin) {
        run::StepDone done;
        done.step.rank = replay.rank;
        done.step.step = StepIndex{step};
        done.step.start = Timestamp{begin};
        done.step.end = Timestamp{replay.nowNs};
        done.step.tokens = 8;
        done.step.emitted = static_cast<std::uint64_t>(replay.sent) * kChunkEvents;
        m_recorder.send(replay.rank, done);
    }
    void end(const Replay& replay) {
        const auto emitted = static_cast<std::uint64_t>(replay.sent) * kChunkEvents;
        m_recorder.send(replay.rank, run::RankFinished{emitted, 0, false});
        m_recorder.send(replay.rank, run::RankExited{static_cast<std::int32_t>(replay.rank.value),
                                                     0, std::nullopt, ""});
        if (--m_left == 0) m_recorder.send(run::kNoRank, run::AgentDone{});
    }

    launch::FrameChannel m_recorder;
    Size m_size;
    std::vector<Replay> m_replays;
    int m_left = 0;
    std::minstd_rand m_random;
};

int replayAll(std::vector<FileDescriptor> sockets, const Size& size) {
    std::vector<std::unique_ptr<FakeAgent>> agents;
    for (FileDescriptor& socket : sockets)
        agents.push_back(std::make_unique<FakeAgent>(std::move(socket), size));
    for (bool open = true; open;) {
        open = false;
        for (const auto& agent : agents) {
            if (agent->isOpen()) agent->turn();
            open = open || agent->isOpen();
        }
    }
    return 0;
}

/// The recorder's end of one of them.
class SocketAgent final : public launch::AgentTransport {
public:
    explicit SocketAgent(FileDescriptor socket) : m_channel(std::move(socket)) {}
    launch::FrameChannel takeChannel() override { return std::move(m_channel); }
    std::string endText() override { return "it ended"; }
    void end() override {}

private:
    launch::FrameChannel m_channel;
};

class Silent final : public cli::RunProgress {
public:
    void started(const run::RunConfig&, std::int64_t) override {}
    void step(const cli::StepProgress&) override {}
    void validation(std::int32_t, double) override {}
    void rank(RankId, const char*, std::int64_t) override {}
    void host(const run::HostChanged&) override {}
    void log(const std::string& level, const std::string& text) override {
        if (level != "info") fmt::print(stderr, "{}: {}\n", level, text);
    }
    void finished(const cli::RunEnd&) override {}
};

double secondsSince(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

double processorSeconds(const rusage& usage) {
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

int measure(const Size& size, const std::string& output) {
    std::vector<FileDescriptor> ours, theirs;
    for (int i = 0; i < size.agents; ++i) {
        auto ends = launch::socketPair().value();
        ours.push_back(std::move(ends.first));
        theirs.push_back(std::move(ends.second));
    }
    const pid_t replay = ::fork();
    if (replay == 0) {
        ours.clear();
        ::_exit(replayAll(std::move(theirs), size));
    }
    theirs.clear();

    run::RunConfig config;
    config.ranks = size.agents * size.ranks;
    config.steps = static_cast<std::int32_t>(size.chunks / kChunksAStep);
    config.data = run::kSyntheticData;
    config.output = output;
    launch::RunRequest request;
    request.launch.config = config;
    request.launch.places.perHost.assign(static_cast<std::size_t>(size.agents), size.ranks);
    request.launch.originNs = hostNow();
    for (int i = 0; i < size.agents; ++i) {
        launch::HostRun host;
        host.name = fmt::format("node-{}", i);
        const auto socket =
            std::make_shared<FileDescriptor>(std::move(ours[static_cast<std::size_t>(i)]));
        host.start = [socket]() -> Result<std::unique_ptr<launch::AgentTransport>> {
            return std::unique_ptr<launch::AgentTransport>(
                std::make_unique<SocketAgent>(std::move(*socket)));
        };
        request.hosts.push_back(std::move(host));
    }
    RunFacts facts;
    facts.id = "bench";
    facts.configJson = run::toJson(config);
    facts.worldSize = config.ranks;
    auto writer = storage::RecordingWriter::create(output, facts, true);
    if (!writer) {
        fmt::print(stderr, "{}\n", writer.error().message);
        return 1;
    }
    Silent progress;
    cli::RunRecorder recorder(cli::recordedRunOf(config), request.launch.originNs, std::move(*writer), progress);
    launch::RunSupervisor run(std::move(request), recorder);
    recorder.attach(run);
    const auto start = Clock::now();
    const launch::RunOutcome outcome = run.run();
    const double received = secondsSince(start);
    const cli::RunEnd end = recorder.conclude(outcome);
    const double all = secondsSince(start);
    if (end.exitStatus != 0) fmt::print(stderr, "{}\n", end.message);
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto events = static_cast<double>(end.events);
    fmt::print(
        "{} agents of {} ranks: {:.1f} M events, {:.2f} M/s until the last came, {:.2f} M/s "
        "with finalising, {:.0f} MB of memory at most, {:.1f} s of processor time in {:.1f} "
        "s, {:.0f} MB of file, {} dropped\n",
        size.agents, size.ranks, events * 1e-6, events * 1e-6 / received, events * 1e-6 / all,
        static_cast<double>(usage.ru_maxrss) / 1e3, processorSeconds(usage), all,
        static_cast<double>(std::filesystem::file_size(output)) * 1e-6, end.dropped);
    ::waitpid(replay, nullptr, 0);
    return end.exitStatus;
}

}  // namespace
}  // namespace shardscope::bench

int main(int argc, char** argv) {
    using namespace shardscope::bench;
    std::signal(SIGPIPE, SIG_IGN);
    Size size;
    if (argc > 1) size.agents = std::atoi(argv[1]);
    if (argc > 2) size.ranks = std::atoi(argv[2]);
    const double millions = argc > 3 ? std::atof(argv[3]) : 100;
    if (size.agents < 1 || size.ranks < 1 || !(millions > 0)) {
        fmt::print(stderr, "usage: agents_bench [AGENTS] [RANKS] [MILLIONS of events]\n");
        return 2;
    }
    const double perRank = millions * 1e6 / size.agents / size.ranks;
    size.chunks =
        std::max<std::int64_t>(kChunksAStep, static_cast<std::int64_t>(perRank / kChunkEvents));
    const auto folder = std::filesystem::temp_directory_path() /
                        fmt::format("shardscope_agents_bench_{}", ::getpid());
    std::filesystem::create_directory(folder);
    const int status = measure(size, (folder / "run.sscope").string());
    std::filesystem::remove_all(folder);
    return status;
}
