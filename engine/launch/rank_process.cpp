#include "engine/launch/rank_process.h"

#include "engine/launch/process_look.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace shardscope::launch {
namespace {

constexpr int kFrameFd = 3;
constexpr int kSegmentFd = 4;
constexpr int kMeetingFd = 5;
constexpr std::size_t kLastWordsBytes = 4096;
constexpr std::size_t kLongestLine = 4096;

/// Thread counts of every library that might start a pool of its own.
std::map<std::string, std::string> rankEnvironment(const run::LaunchRequest& request,
                                                   std::int32_t threads) {
    std::map<std::string, std::string> environment = request.environment;
    for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"}) {
        environment[name] = std::to_string(threads);
    }
    // Where ranks meet over TCP LibTorch warns of a lost peer with stacks of its own, and again and
    // again: what there is to say of it the rank says in a sentence.
    constexpr const char* kLogLevel = "TORCH_CPP_LOG_LEVEL";
    if (!request.places.onOneHost() && std::getenv(kLogLevel) == nullptr)
        environment.try_emplace(kLogLevel, "ERROR");
    return environment;
}

}  // namespace

Result<RankProcess> RankProcess::launch(const run::LaunchRequest& request,
                                        const std::string& program, run::RankStart start,
                                        const Inherited& inherited) {
    auto sockets = socketPair();
    if (!sockets) return failure(sockets);
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) {
        return failure(ErrorCode::kLaunch, fmt::format("no pipe: {}", std::strerror(errno)));
    }
    FileDescriptor errors(pipe[0]);
    const FileDescriptor errorsWriteEnd(pipe[1]);
    ::fcntl(errors.get(), F_SETFL, O_NONBLOCK);
    const FileDescriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));

    SpawnRequest spawnRequest;
    spawnRequest.program = program;
    spawnRequest.arguments = {"--fd", std::to_string(kFrameFd)};
    spawnRequest.environment = rankEnvironment(request, start.config.threads);
    spawnRequest.descriptors = {{nothing.get(), 0},
                                {errorsWriteEnd.get(), 1},
                                {errorsWriteEnd.get(), 2},
                                {sockets->second.get(), kFrameFd},
                                {inherited.segment, kSegmentFd}};
    if (inherited.meeting >= 0)
        spawnRequest.descriptors.emplace_back(inherited.meeting, kMeetingFd);
    spawnRequest.dieWithParent = true;
    const auto pid = spawn(spawnRequest);
    if (!pid) return failure(pid);
    const RankId rank{static_cast<std::uint32_t>(start.rank)};
    RankProcess process(rank, *pid, std::move(sockets->first), std::move(errors));
    start.segmentFd = kSegmentFd;
    if (inherited.meeting >= 0) start.meetingFd = kMeetingFd;
    process.m_channel.send(rank, start);
    return process;
}

RankProcess::RankProcess(RankId rank, pid_t pid, FileDescriptor socket, FileDescriptor errors)
    : m_rank(rank), m_pid(pid), m_channel(std::move(socket)), m_errors(std::move(errors)) {}

RankProcess::RankProcess(RankProcess&& other) noexcept
    : m_rank(other.m_rank),
      m_pid(std::exchange(other.m_pid, -1)),
      m_channel(std::move(other.m_channel)),
      m_errors(std::move(other.m_errors)),
      m_partialLine(std::move(other.m_partialLine)),
      m_lastWords(std::move(other.m_lastWords)),
      m_endingSince(other.m_endingSince),
      m_killedAt(other.m_killedAt),
      m_heardAt(other.m_heardAt),
      m_end(other.m_end),
      m_left(other.m_left) {}

RankProcess::~RankProcess() {
    if (m_pid < 0 || !isRunning()) return;
    kill();
    while (!reapNow()) ::poll(nullptr, 0, 5);
}

void RankProcess::kill() {
    if (!isRunning()) return;
    ::kill(m_pid, SIGKILL);
    if (!m_killedAt) m_killedAt = std::chrono::steady_clock::now();
}

run::RankLooked RankProcess::look() const {
    const ProcessLook seen = lookAt(m_pid);
    const std::chrono::nanoseconds silent = std::chrono::steady_clock::now() - m_heardAt;
    return {m_pid, seen.hold, seen.processor, Duration{silent.count()}};
}

void RankProcess::addPolls(std::vector<pollfd>& polls, bool wantInput) const {
    m_channel.addPolls(polls, wantInput);
    if (m_errors.valid()) polls.push_back({m_errors.get(), POLLIN, 0});
}

std::vector<std::string> RankProcess::takeErrorLines() {
    std::vector<std::string> lines;
    std::array<char, 4096> buffer;
    while (m_errors.valid()) {
        const ssize_t count = ::read(m_errors.get(), buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) break;
        if (count == 0) {
            m_errors.reset();
            break;
        }
        const std::string_view text(buffer.data(), static_cast<std::size_t>(count));
        m_lastWords += text;
        m_partialLine += text;
        if (lines.size() > 1000) break;
        for (std::size_t end; (end = m_partialLine.find('\n')) != std::string::npos;) {
            lines.push_back(m_partialLine.substr(0, end));
            m_partialLine.erase(0, end + 1);
        }
        if (m_partialLine.size() > kLongestLine) {
            lines.push_back(std::move(m_partialLine));
            m_partialLine.clear();
        }
    }
    if (m_lastWords.size() > kLastWordsBytes) {
        m_lastWords.erase(0, m_lastWords.size() - kLastWordsBytes);
    }
    return lines;
}

bool RankProcess::reapNow() {
    if (!isRunning()) return false;
    m_end = reap(m_pid);
    if (isEnding() && !m_endingSince) m_endingSince = std::chrono::steady_clock::now();
    if (!m_end && hasOutlivedKill()) m_left = lookAt(m_pid).hold;
    return !isRunning();
}

/// In the kernel or a debugger's hands, that is: one that runs is on its way to its end, which of
/// a large process takes long.
bool RankProcess::hasOutlivedKill() const {
    return m_killedAt && std::chrono::steady_clock::now() - *m_killedAt > kGraceAfterKill &&
           lookAt(m_pid).hold != run::ProcessHold::kNone;
}

bool RankProcess::isOverdue(std::chrono::milliseconds limit) const {
    return isRunning() && m_endingSince &&
           std::chrono::steady_clock::now() - *m_endingSince > limit;
}

/// One that we sent the signal ourselves needs no cause.
run::RankExited RankProcess::exitMessage(const KillCauses& causes) const {
    run::RankExited message;
    message.rank = static_cast<std::int32_t>(m_rank.value);
    if (m_end) {
        message.code = m_end->code;
        message.signal = m_end->signal;
        if (!m_killedAt) message.cause = causes.of(*m_end);
    }
    message.lastWords = m_lastWords;
    message.left = m_left;
    return message;
}

}  // namespace shardscope::launch
