// The real shardscope-rank on two hosts: processes with a segment for each host, which meet over
// loopback.
#include "engine/launch/frame_channel.h"
#include "engine/launch/process.h"
#include "engine/run/protocol/messages.h"
#include "storage/columns/chunk.h"
#include "storage/model/host_clock.h"
#include "storage/model/lanes.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace shardscope {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kSegmentBytes = std::int64_t{512} << 20;
constexpr int kStreamFd = 3, kSegmentFd = 4, kMeetingFd = 5;

/// One rank as its agent sees it.
struct Rank {
    pid_t pid = -1;
    launch::FrameChannel channel;
    bool finished = false;
    std::optional<run::RankFailed> failed;
    std::vector<double> losses;
    std::optional<run::PeakMeasured> peak;
    std::vector<std::string> strings;
    std::vector<SpanEvent> spans;
    std::vector<CollectiveEvent> collectives;

    [[nodiscard]] std::string text(StringId id) const {
        return id.value < strings.size() ? strings[id.value] : "";
    }
};

/// A listening socket on a free port of loopback, as host 0's agent prepares it.
std::pair<FileDescriptor, std::int32_t> listenOnLoopback() {
    FileDescriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    auto* any = reinterpret_cast<sockaddr*>(&at);
    EXPECT_EQ(::bind(fd.get(), any, size), 0);
    EXPECT_EQ(::listen(fd.get(), 64), 0);
    EXPECT_EQ(::getsockname(fd.get(), any, &size), 0);
    return {std::move(fd), ntohs(at.sin_port)};
}

class RankHosts : public testing::Test {
protected:
    ~RankHosts() override {
        for (Rank& rank : m_ranks) {
            if (rank.pid < 0) continue;
            ::kill(rank.pid, SIGKILL);
            ::waitpid(rank.pid, nullptr, 0);
        }
    }

    static run::RunConfig small() {
        run::RunConfig config;
        config.model = *run::findModelPreset("tiny");
        config.batch = 2;
        config.steps = 3;
        config.evaluateEvery = 0;
        config.data = "synthetic";
        config.threads = 1;
        config.ranks = 4;
        config.calibrate = false;
        config.collectiveTimeout = 20;
        return config;
    }

    void start(const run::RunConfig& config, const run::RankPlaces& places) {
        run::RankStart start;
        start.config = config;
        start.places = places;
        start.originNs = hostNow();
        start.segmentBytes = kSegmentBytes;
        start.segmentFd = kSegmentFd;
        FileDescriptor listener(::dup(0));
        if (!places.onOneHost()) {
            std::tie(listener, start.meeting.port) = listenOnLoopback();
            start.meeting.address = start.address = "127.0.0.1";
            start.meeting.key = network::drawNonce();
        }
        std::vector<FileDescriptor> segments;
        for (std::int32_t host = 0; host < places.hosts(); ++host) {
            segments.emplace_back(::memfd_create("segment", MFD_CLOEXEC));
            ASSERT_EQ(::ftruncate(segments.back().get(), kSegmentBytes), 0);
        }
        m_ranks = std::vector<Rank>(static_cast<std::size_t>(places.ranks()));
        for (start.rank = 0; start.rank < places.ranks(); ++start.rank) {
            const bool listens = start.rank == 0 && !places.onOneHost();
            start.meetingFd = listens ? kMeetingFd : -1;
            startRank(start, segments[static_cast<std::size_t>(start.host())].get(),
                      listener.get());
        }
    }

    void startRank(const run::RankStart& start, int segment, int listener) {
        auto sockets = launch::socketPair();
        ASSERT_TRUE(sockets);
        launch::SpawnRequest request;
        request.program = SHARDSCOPE_RANK;
        request.arguments = {"--fd", std::to_string(kStreamFd)};
        request.environment = {{"OMP_NUM_THREADS", "1"}, {"MKL_NUM_THREADS", "1"}};
        request.descriptors = {{sockets->second.get(), kStreamFd}, {segment, kSegmentFd}};
        if (start.meetingFd >= 0) request.descriptors.emplace_back(listener, kMeetingFd);
        request.dieWithParent = true;
        const auto pid = launch::spawn(request);
        ASSERT_TRUE(pid) << pid.error().message;
        Rank& rank = m_ranks[static_cast<std::size_t>(start.rank)];
        rank.pid = *pid;
        rank.channel = launch::FrameChannel(std::move(sockets->first));
        rank.channel.send(RankId{static_cast<std::uint32_t>(start.rank)}, start);
    }

    /// Until every rank has closed its end.
    void follow(const std::function<void()>& each = {}) {
        for (;;) {
            std::vector<pollfd> polls;
            for (Rank& rank : m_ranks)
                if (rank.channel.isOpen()) rank.channel.addPolls(polls, true);
            if (polls.empty()) return;
            ::poll(polls.data(), polls.size(), 100);
            for (Rank& rank : m_ranks) {
                std::vector<run::Frame> frames;
                rank.channel.flush();
                if (rank.channel.isOpen()) static_cast<void>(rank.channel.receive(frames));
                for (const run::Frame& frame : frames) take(rank, frame);
            }
            if (each) each();
        }
    }

    static void take(Rank& rank, const run::Frame& frame) {
        if (frame.type == run::FrameType::kChunk) return takeChunk(rank, frame.payload);
        auto message = run::decode(frame.text());
        ASSERT_TRUE(message) << message.error().message;
        if (auto* failed = std::get_if<run::RankFailed>(&*message)) rank.failed = *failed;
        if (auto* peak = std::get_if<run::PeakMeasured>(&*message)) rank.peak = *peak;
        if (std::holds_alternative<run::RankFinished>(*message)) rank.finished = true;
        if (auto* strings = std::get_if<run::StringsDeclared>(&*message)) {
            rank.strings.resize(strings->first);
            rank.strings.insert(rank.strings.end(), strings->texts.begin(), strings->texts.end());
        }
        const auto* metric = std::get_if<run::MetricReported>(&*message);
        if (metric != nullptr && metric->point.name == "loss")
            rank.losses.push_back(metric->point.value);
    }

    static void takeChunk(Rank& rank, const columns::ChunkBytes& bytes) {
        const auto header = columns::decodeHeader(bytes);
        ASSERT_TRUE(header);
        if (header->kind == EventKind::kSpan) {
            const auto spans = columns::decodeSpans(bytes);
            rank.spans.insert(rank.spans.end(), spans->begin(), spans->end());
        }
        if (header->kind == EventKind::kCollective) {
            const auto all = columns::decodeCollectives(bytes);
            rank.collectives.insert(rank.collectives.end(), all->begin(), all->end());
        }
    }

    /// Losses of rank 0 of a run that ends well.
    std::vector<double> lossesOf(const run::RunConfig& config, const run::RankPlaces& places) {
        start(config, places);
        follow();
        for (Rank& rank : m_ranks) {
            EXPECT_TRUE(rank.finished) << (rank.failed ? rank.failed->message : "");
            int status = 0;
            ::waitpid(std::exchange(rank.pid, -1), &status, 0);
            EXPECT_EQ(status, 0);
        }
        return m_ranks[0].losses;
    }

    std::vector<Rank> m_ranks;
};

/// Rails, the flat ring because it was asked for, and the flat ring since hosts differ.
TEST_F(RankHosts, TrainAsOnOneHost) {
    run::RunConfig config = small();
    const auto expected = lossesOf(config, run::RankPlaces::onOneHost(4));
    ASSERT_EQ(expected.size(), 3U);
    const auto compare = [&](const run::RankPlaces& places) {
        const auto losses = lossesOf(config, places);
        ASSERT_EQ(losses.size(), expected.size());
        for (std::size_t i = 0; i < losses.size(); ++i)
            EXPECT_NEAR(losses[i], expected[i], 1e-6 * expected[i]);
    };
    compare({{2, 2}});
    compare({{1, 3}});
    config.transport = run::Transport::kGloo;
    compare({{2, 2}});
}

TEST_F(RankHosts, RecordWhenTheyWereBetweenHosts) {
    lossesOf(small(), {{2, 2}});
    for (const Rank& rank : m_ranks) {
        std::map<std::string, int> beneath;
        for (const SpanEvent& span : rank.spans)
            if (span.lane == lanes::kCommunication.id && span.depth == 1)
                ++beneath[rank.text(span.name)];
        EXPECT_GT(beneath["between hosts"], 0);
        EXPECT_GT(beneath["inside the host"], 0);
        EXPECT_EQ(beneath.size(), 2U);
        ASSERT_FALSE(rank.collectives.empty());
        EXPECT_EQ(rank.text(rank.collectives[0].algorithm), "rails");
        EXPECT_TRUE(rank.collectives[0].arrivals.empty());
    }
}

TEST_F(RankHosts, MeasureAPeakForEachHost) {
    run::RunConfig config = small();
    config.calibrate = true;
    config.steps = 1;
    lossesOf(config, {{2, 2}});
    for (const Rank& rank : m_ranks) ASSERT_TRUE(rank.peak && rank.peak->peakFlops);
    EXPECT_THAT(m_ranks[0].peak->source, HasSubstr("matrix product by"));
    EXPECT_EQ(m_ranks[1].peak->source, "its part of what rank 0 measured");
    EXPECT_THAT(m_ranks[2].peak->source, HasSubstr("matrix product by"));
    EXPECT_EQ(m_ranks[3].peak->source, "its part of what rank 2 measured");
    EXPECT_EQ(m_ranks[0].peak->peakFlops, m_ranks[1].peak->peakFlops);
    EXPECT_EQ(m_ranks[2].peak->peakFlops, m_ranks[3].peak->peakFlops);
}

TEST_F(RankHosts, NameTheOneThatDied) {
    run::RunConfig config = small();
    config.steps = 100'000;
    start(config, {{2, 2}});
    follow([&] {
        if (m_ranks[0].losses.size() > 2 && m_ranks[3].pid > 0) {
            ::kill(m_ranks[3].pid, SIGKILL);
            ::waitpid(std::exchange(m_ranks[3].pid, -1), nullptr, 0);
        }
    });
    for (const std::size_t rank : {0U, 1U, 2U}) {
        ASSERT_TRUE(m_ranks[rank].failed) << rank;
        EXPECT_THAT(m_ranks[rank].failed->message, HasSubstr("rank 3 ")) << rank;
    }
}

}  // namespace
}  // namespace shardscope
