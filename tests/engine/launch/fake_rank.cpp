// A rank without an engine: speaks the protocol of shardscope-rank, sends plausible events, and
// fails as a test asks for. Built without LibTorch.
//
//   FAKE_RANK_MODE    normal exit kill hang linger garbage version message chunk nonfinite data
//                     wordless impostor terminal
//   FAKE_RANK_WHO     rank that misbehaves (default 1)
//   FAKE_RANK_STEP    at which step (default 2)
//   FAKE_RANK_STEP_MS length of a step (default 2)
//   FAKE_RANK_SPANS   spans of a step (default 4); more are of drawn lengths
//   FAKE_RANK_CHUNKS  how many times a step's spans are sent (default 1)
//   FAKE_RANK_ERROR   what `verify` reports (default 1e-7)
//   FAKE_RANK_TRUTH   not empty: a counter a step on lane 3, whose value is what the kernel's own
//                     clock says at its time
#include "engine/control/observer.h"
#include "engine/run/protocol/frame.h"
#include "engine/run/protocol/messages.h"
#include "storage/columns/chunk.h"
#include "storage/model/host_clock.h"
#include "storage/model/rank_facts.h"
#include "storage/model/recording_clock.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace shardscope {
namespace {

constexpr LaneId kComputeLane{1};
constexpr LaneId kCommunicationLane{2};
constexpr LaneId kTruthLane{3};
constexpr StringId kForwardName{1};
constexpr StringId kDirectName{2};
/// Sets a terminal's title, its colour and its cursor (C1 too), and begins a line of its own.
constexpr const char* kSteering =
    "\x1b]0;EVIL\x07\x1b[31m\x7f\xC2\x9B"
    "2J\r\nshardscope: error: FORGED\rEVIL";

std::string setting(const char* name, const char* standard) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : standard;
}

class FakeRank {
public:
    explicit FakeRank(int fd) : m_fd(fd) {}

    int run() {
        if (!waitForStart()) return 1;
        if (setting("FAKE_RANK_MODE", "normal") == "wordless") return 0;
        introduce();
        if (!m_start.config.reference.empty()) return verify();
        bool stopped = false;
        std::int32_t step = 0;
        for (; step < m_start.config.steps && !stopped; ++step) {
            if (misbehavesAt(step)) misbehave(step);
            train(step);
            stopped = stopAsked();
        }
        send(run::RankFinished{m_emitted, 0, step < m_start.config.steps});
        return 0;
    }

private:
    RankId rank() const { return RankId{static_cast<std::uint32_t>(m_start.rank)}; }
    Timestamp now() const { return m_clock->at(hostNow()); }

    void write(const std::vector<std::byte>& bytes) const {
        for (std::size_t at = 0; at < bytes.size();) {
            const ssize_t count = ::write(m_fd, bytes.data() + at, bytes.size() - at);
            if (count < 0) ::_exit(1);  // nobody listens any more
            at += static_cast<std::size_t>(count);
        }
    }
    void send(const run::Message& message) const {
        write(run::encodeMessage(rank(), run::encode(message)));
    }
    void sendChunk(const columns::ChunkBytes& chunk) const {
        write(run::encodeFrame(run::FrameType::kChunk, rank(), chunk));
    }

    /// What has arrived within `wait`; ends the process when the agent has gone.
    std::vector<run::Message> receive(int waitMs) {
        pollfd poll{m_fd, POLLIN, 0};
        std::vector<run::Message> messages;
        if (::poll(&poll, 1, waitMs) <= 0) return messages;
        std::array<std::byte, 4096> buffer;
        const ssize_t count = ::read(m_fd, buffer.data(), buffer.size());
        if (count <= 0) ::_exit(1);
        m_parser.append(std::span(buffer).first(static_cast<std::size_t>(count)));
        while (true) {
            auto frame = m_parser.next();
            if (!frame || !*frame) return messages;
            if (auto message = run::decode((*frame)->text())) messages.push_back(*message);
        }
    }

    bool waitForStart() {
        while (true) {
            bool started = false;
            for (const auto& message : receive(-1)) {
                noteCommand(message);
                const auto* start = std::get_if<run::RankStart>(&message);
                if (start == nullptr) continue;
                m_start = *start;
                m_clock.emplace(start->originNs);
                started = true;
            }
            if (started) return ::lseek(m_start.segmentFd, 0, SEEK_END) == m_start.segmentBytes;
        }
    }

    void noteCommand(const run::Message& message) {
        const auto* command = std::get_if<run::Command>(&message);
        m_stopAsked = m_stopAsked || (command != nullptr && command->verb == "stop");
        if (const auto* clock = std::get_if<run::ClockCorrection>(&message))
            m_clock->correct({clock->fromNs, clock->originNs, clock->driftPpb}, hostNow());
    }

    bool stopAsked() {
        for (const auto& message : receive(std::stoi(setting("FAKE_RANK_STEP_MS", "2")))) {
            noteCommand(message);
        }
        return m_stopAsked;
    }

    void introduce() const {
        send(run::RankHello{
            run::kProtocolVersion, "fake rank", ::getpid(), "cpu (fake)", {{"torch", "none"}}});
        send(run::PeakMeasured{1e9, "invented by a test"});
        send(run::LaneDeclared{{rank(), kComputeLane, LaneRole::kCompute, "compute", "", 0}});
        send(run::LaneDeclared{
            {rank(), kCommunicationLane, LaneRole::kCommunication, "communication", "", 1}});
        send(run::StringsDeclared{kForwardName.value, {"forward", "direct"}});
        send(run::TheoryReported{{{rank(), MemoryCategory::kParameterShard, Bytes{1000}}}});
        fmt::print(stderr, "OMP_NUM_THREADS={}\n", setting("OMP_NUM_THREADS", "unset"));
        const bool there = ::access(m_start.config.data.c_str(), R_OK) == 0;
        fmt::print(stderr, "the data is {}\n", there ? "there" : "missing");
    }

    int verify() const {
        const double error = std::stod(setting("FAKE_RANK_ERROR", "1e-7"));
        if (m_start.rank == 0) {
            send(run::VerifyResult{error, error, error, "wte.weight", m_start.config.steps, 1000,
                                   1000});
        }
        send(run::RankFinished{0, 0, false});
        return 0;
    }

    void train(std::int32_t step) {
        const Timestamp start = now();
        std::vector<SpanEvent> spans(std::stoul(setting("FAKE_RANK_SPANS", "4")));
        for (std::size_t i = 0; i < spans.size(); ++i) {
            spans[i].start = start + Duration{static_cast<std::int64_t>(i) * 1000};
            const auto drawn = static_cast<std::int64_t>(1 + m_random() % 900);
            spans[i].duration = Duration{spans.size() == 4 ? 900 : drawn};
            spans[i].lane = kComputeLane;
            spans[i].name = kForwardName;
            spans[i].step = StepIndex{step};
            spans[i].phase = Phase::kForward;
        }
        CollectiveEvent gather;
        gather.operation = CollectiveOp::kAllGather;
        gather.step = StepIndex{step};
        gather.sequence = static_cast<std::uint64_t>(step);
        gather.size = Bytes{4096};
        gather.algorithm = kDirectName;
        gather.issue = gather.start = start;
        gather.end = start + Duration{500};
        gather.arrivals = {static_cast<std::size_t>(m_start.worldSize()),
                           [&](std::size_t) { return start; }};
        const int times = std::stoi(setting("FAKE_RANK_CHUNKS", "1"));
        for (int i = 0; i < times; ++i) sendChunk(columns::encodeSpans(rank(), spans));
        sendChunk(columns::encodeCollectives(rank(), std::span(&gather, 1)));
        m_emitted += spans.size() * static_cast<std::size_t>(times) + 1;
        if (!setting("FAKE_RANK_TRUTH", "").empty()) tellTruth();
        report(step, start, start + Duration{5000});
    }

    void report(std::int32_t step, Timestamp start, Timestamp end) const {
        if (m_start.rank == 0) {
            const auto metric = [&](const char* name, double value) {
                send(run::MetricReported{{name, StepIndex{step}, end, value}});
            };
            metric("loss", 5.0 - 0.01 * step);
            metric("learning_rate", 6e-4);
            metric("gradient_norm", 1.0);
            if (step == 1) {
                metric("validation_loss", 5.5);
                if (m_start.config.sampleTokens > 0)
                    send(run::SampleWritten{StepIndex{step}, end, "to be"});
            }
            metric("tokens_per_s", 1234);
        }
        run::StepDone done;
        done.step.rank = rank();
        done.step.step = StepIndex{step};
        done.step.start = start;
        done.step.end = end;
        done.step.tokens = 8;
        done.step.emitted = m_emitted;
        done.memoryInUse = Bytes{1 << 20};
        done.exposedCommunication = Duration{500};
        send(done);
        send(run::RankActivity{StepIndex{step}, Phase::kWaitReduction, LayerIndex{1},
                               Duration{250'000'000}, false, Bytes{1 << 19}, Bytes{1 << 21}});
    }

    /// No library can put itself before a system call. The quickest of a few readings.
    void tellTruth() {
        CounterEvent truth;
        truth.lane = kTruthLane;
        std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
        for (int reading = 0; reading < 5; ++reading) {
            const std::int64_t before = kernelNow();
            const Timestamp time = now();
            const std::int64_t after = kernelNow();
            if (after - before >= shortest) continue;
            shortest = after - before;
            truth.time = time;
            truth.value = static_cast<double>(before + (after - before) / 2);
        }
        sendChunk(columns::encodeCounters(rank(), std::span(&truth, 1)));
        ++m_emitted;
    }
    static std::int64_t kernelNow() {
        timespec time{};
        ::syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
        return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
    }

    bool misbehavesAt(std::int32_t step) const {
        return m_start.rank == std::stoi(setting("FAKE_RANK_WHO", "1")) &&
               step == std::stoi(setting("FAKE_RANK_STEP", "2"));
    }

    void misbehave(std::int32_t step) const {
        const std::string mode = setting("FAKE_RANK_MODE", "normal");
        if (mode == "exit") {
            fmt::print(stderr, "the fake rank gives up\n");
            ::_exit(7);
        }
        if (mode == "kill") ::kill(::getpid(), SIGKILL);
        if (mode == "hang") {
            write(run::encodeMessage(rank(), run::encode(run::LogLine{"info", "hangs"})));
            ::poll(nullptr, 0, -1);
        }
        if (mode == "linger") {
            ::close(m_fd);
            ::poll(nullptr, 0, -1);
        }
        if (mode == "garbage") write(std::vector<std::byte>(64, std::byte{0xAB}));
        if (mode == "message") write(run::encodeMessage(rank(), "{\"type\":\"dance\"}"));
        if (mode == "chunk") sendChunk(columns::ChunkBytes(64, std::byte{0xAB}));
        if (mode == "version") {
            auto frame = run::encodeMessage(rank(), "{}");
            frame[6] = std::byte{99};
            write(frame);
        }
        if (mode == "impostor") {
            // In the name of rank 0, in frames of its own.
            const std::vector<SpanEvent> spans(3);
            sendChunk(columns::encodeSpans(RankId{0}, spans));
            run::StepDone done;
            done.step.rank = RankId{0};
            done.step.step = StepIndex{77};
            send(done);
        }
        if (mode == "terminal") steer(step);
        if (mode == "nonfinite") fail("the loss is nan", "non-finite-loss", step);
        if (mode == "data") fail("the data file cannot be read", "data", step);
    }

    /// In every text that gets near a terminal.
    void steer(std::int32_t step) const {
        const std::string text = kSteering;
        fmt::print(stderr, "{}\xFF\xC0\x9B\n", text);
        send(run::LogLine{"info", text});
        send(run::LogLine{"warning\x1b[31m", text});
        send(run::RankHello{run::kProtocolVersion, text, ::getpid(), text, {{text, text}}});
        send(run::PeakMeasured{1e9, text});
        DeviceFacts device;
        device.rank = rank();
        device.name = device.measuredPeakSource = text;
        send(run::DeviceReported{device});
        send(run::LaneDeclared{{rank(), LaneId{77}, LaneRole::kCounter, text, text, 9}});
        send(run::StringsDeclared{kDirectName.value + 1, {text}});
        send(run::SampleWritten{StepIndex{step}, now(), text});
        send(run::DiagnosticRaised{{Severity::kWarning, "steering", text, text, rank(), now(), 1}});
        send(run::MetricReported{{text, StepIndex{step}, now(), 1}});
        std::vector<SpanEvent> spans(1);
        spans[0].start = now();
        spans[0].duration = Duration{900};
        spans[0].lane = kComputeLane;
        spans[0].name = StringId{kDirectName.value + 1};
        spans[0].step = StepIndex{step};
        spans[0].phase = Phase::kForward;
        sendChunk(columns::encodeSpans(rank(), spans));
        fail(kSteering, "failure", step);
    }

    void fail(const char* sentence, const char* code, std::int32_t step) const {
        send(run::RankFailed{sentence, code, step, "head", 3});
        ::_exit(5);
    }

    int m_fd;
    run::FrameParser m_parser;
    run::RankStart m_start;
    std::optional<RecordingClock> m_clock;
    bool m_stopAsked = false;  ///< perhaps together with the start
    mutable std::minstd_rand m_random;
    std::uint64_t m_emitted = 0;
};

}  // namespace
}  // namespace shardscope

int main(int argc, char** argv) {
    if (argc != 3 || std::strcmp(argv[1], "--fd") != 0) return 2;
    return shardscope::FakeRank(std::stoi(argv[2])).run();
}
