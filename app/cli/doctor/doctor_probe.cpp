#include "app/cli/doctor/doctor_probe.h"

#include "engine/launch/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <optional>
#include <sstream>
#include <utility>

namespace shardscope::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// How often a process whose output stays open is looked at.
constexpr std::chrono::milliseconds kGlance{50};
/// A process that the driver holds may not even die of SIGKILL.
constexpr std::chrono::seconds kLastWait{1};
constexpr std::size_t kMostOutput = 1 << 20;

/// The probe with its two outputs.
class Probe {
public:
    static Result<Probe> start(const std::string& program);

    /// Reads until it ends or `deadline`; nullopt: it still runs.
    std::optional<launch::ProcessEnd> wait(Clock::time_point deadline);
    /// False: not even that helped.
    bool kill();

    [[nodiscard]] pid_t pid() const { return m_pid; }
    [[nodiscard]] const std::string& out() const { return m_texts[0]; }
    [[nodiscard]] const std::string& err() const { return m_texts[1]; }

private:
    void read(std::chrono::milliseconds wait);
    void drain(std::size_t index);

    std::array<FileDescriptor, 2> m_ends;
    std::array<std::string, 2> m_texts;
    pid_t m_pid = -1;
};

Result<Probe> Probe::start(const std::string& program) {
    Probe probe;
    launch::SpawnRequest request;
    request.program = program;
    request.arguments = {"--probe"};
    request.ownGroup = true;
    request.dieWithParent = true;
    const FileDescriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    request.descriptors = {{nothing.get(), 0}};
    std::array<FileDescriptor, 2> theirs;
    for (std::size_t i = 0; i < 2; ++i) {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0)
            return failure(ErrorCode::kLaunch,
                           "no pipe; close other programs or raise 'ulimit -n'");
        probe.m_ends[i] = FileDescriptor(ends[0]);
        theirs[i] = FileDescriptor(ends[1]);
        ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
        request.descriptors.emplace_back(ends[1], static_cast<int>(i) + 1);
    }
    const auto pid = launch::spawn(request);
    if (!pid) return failure(pid);
    probe.m_pid = *pid;
    return probe;
}

void Probe::drain(std::size_t index) {
    std::array<char, 4096> bytes{};
    for (;;) {
        const ssize_t got = ::read(m_ends[index].get(), bytes.data(), bytes.size());
        if (got == 0) m_ends[index].reset();
        if (got <= 0) return;
        std::string& text = m_texts[index];
        const auto room = kMostOutput - std::min(kMostOutput, text.size());
        text.append(bytes.data(), std::min(static_cast<std::size_t>(got), room));
    }
}

void Probe::read(std::chrono::milliseconds wait) {
    std::array<pollfd, 2> polls{};
    for (std::size_t i = 0; i < 2; ++i)
        polls[i] = {m_ends[i].valid() ? m_ends[i].get() : -1, POLLIN, 0};
    ::poll(polls.data(), polls.size(), static_cast<int>(wait.count()));
    for (std::size_t i = 0; i < 2; ++i)
        if (m_ends[i].valid()) drain(i);
}

std::optional<launch::ProcessEnd> Probe::wait(Clock::time_point deadline) {
    for (;;) {
        const auto end = launch::reap(m_pid);
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
        if (end || left.count() <= 0) {
            read(std::chrono::milliseconds(0));
            return end;
        }
        read(std::min(left, kGlance));
    }
}

bool Probe::kill() {
    ::kill(-m_pid, SIGKILL);  // it leads its own group
    return wait(Clock::now() + kLastWait).has_value();
}

/// What it was doing when its reports ended.
std::string occupation(const ProbeOutcome& outcome) {
    if (outcome.part<run::CudaPart>() != nullptr) return "starting the tracer";
    if (outcome.part<run::DriverPart>() != nullptr) return "loading the GPU part";
    if (outcome.part<run::EnginePart>() != nullptr) return "asking the NVIDIA driver";
    return "loading LibTorch";
}

void parse(const std::string& out, ProbeOutcome& outcome) {
    std::istringstream lines(out);
    for (std::string line; std::getline(lines, line);)
        if (auto part = run::decodePart(line)) outcome.parts.push_back(std::move(*part));
}

std::string endText(const launch::ProcessEnd& end, const std::string& err) {
    std::string text = end.signal ? "was ended by " + launch::signalText(*end.signal)
                                  : fmt::format("ended with status {}", end.code.value_or(-1));
    const std::string said = launch::lastLineOf(err);
    return said.empty() ? text : fmt::format("{} ({})", text, said);
}

}  // namespace

ProbeOutcome runProbe(const std::string& rankProgram, std::chrono::milliseconds patience) {
    ProbeOutcome outcome;
    auto probe = Probe::start(rankProgram);
    if (!probe) {
        outcome.problem = probe.error().message;
        return outcome;
    }
    const auto end = probe->wait(Clock::now() + patience);
    const bool gone = end || probe->kill();
    parse(probe->out(), outcome);
    if (outcome.part<run::EndPart>() != nullptr) return outcome;
    if (end) {
        outcome.problem =
            fmt::format("{} while {}", endText(*end, probe->err()), occupation(outcome));
    } else {
        outcome.problem =
            fmt::format("did not answer within {:.0f} s while {}, and {}",
                        std::chrono::duration<double>(patience).count(), occupation(outcome),
                        gone ? fmt::format("was killed (pid {})", probe->pid())
                             : fmt::format("cannot be killed (pid {})", probe->pid()));
    }
    return outcome;
}

}  // namespace shardscope::cli
