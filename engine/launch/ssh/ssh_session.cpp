#include "engine/launch/ssh/ssh_session.h"

#include "engine/launch/ssh/ssh_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <sstream>
#include <utility>

namespace shardscope::launch {
namespace {

constexpr std::size_t kMostNoise = 1u << 20;
constexpr std::size_t kMostWords = 64 * 1024;
/// Of one turn of the loop.
constexpr std::size_t kTurnBytes = 256 * 1024;

/// The last line that says something of the cause; tar's own last one does not.
std::string causeIn(const std::string& words) {
    std::istringstream lines(words);
    std::string cause;
    for (std::string line; std::getline(lines, line);) {
        const bool isMere = line.find("Exiting with failure") != std::string::npos ||
                            line.find("Error is not recoverable") != std::string::npos;
        if (!isMere && !line.empty()) cause = line;
    }
    return lastLineOf(cause);
}

std::string statusText(const std::string& host, const std::string& folder, RemoteStatus status) {
    switch (status) {
        case RemoteStatus::kNoFolder:
            return fmt::format(
                "nothing can be put into {} on {}; name another folder for this "
                "host, or make that one writable",
                folder, host);
        case RemoteStatus::kNotUnpacked:
            return fmt::format(
                "what was sent to {} could not be stored in {}, and nothing of it "
                "was left there; make room, or name another folder for this host",
                host, folder);
        case RemoteStatus::kSumsDiffer:
            return fmt::format(
                "what was stored in {} on {} is not what was sent, and was removed; "
                "see to that disk, or name another folder for this host",
                folder, host);
        case RemoteStatus::kDoesNotRun:
            return fmt::format("the program does not run on {}", host);
        case RemoteStatus::kNotExecutable:
            return fmt::format(
                "programs in {} on {} may not be executed: it may be mounted "
                "noexec; name another folder for this host",
                folder, host);
        case RemoteStatus::kRankDoesNotLoad:
            return fmt::format(
                "ranks cannot be loaded with the LibTorch found on {}; have "
                "another one sent there (--deploy-libtorch)",
                host);
        case RemoteStatus::kCannotFetch:
        case RemoteStatus::kNotFetched:
            break;  // said where there is LibTorch to speak of
    }
    return {};
}

}  // namespace

Result<SshSession> SshSession::start(const SshOptions& options, const SshHost& host,
                                     const SshMaster& master, Token token,
                                     const std::string& line) {
    auto child =
        ChildProcess::start(sessionWords(options, host, master.socket(), throughLoginShell(line)));
    if (!child) return failure(child);
    return SshSession(std::move(*child), std::move(token));
}

SshSession::SshSession(ChildProcess child, Token token)
    : m_child(std::move(child)),
      m_token(std::move(token)),
      m_heard(std::chrono::steady_clock::now()) {}

void SshSession::proceed(Token token, const std::string& line) {
    m_token = std::move(token);
    m_output.clear();
    noteProgress();
    // A new pipe takes it whole. A process that does not read it any more shows it by ending.
    const std::string text = line + "\n";
    [[maybe_unused]] const auto written = ::write(m_child.input.get(), text.data(), text.size());
}

void SshSession::addPolls(std::vector<pollfd>& polls) const {
    for (const FileDescriptor* each : {&m_child.output, &m_child.errors})
        if (each->valid()) polls.push_back({each->get(), POLLIN, 0});
}

void SshSession::turn(bool afterToken) {
    const std::size_t before = m_output.size() + m_words.size() + m_token.noiseBytes();
    std::string read;
    for (std::size_t taken = 0; !hasBegun() && taken < kTurnBytes; taken += read.size()) {
        read.clear();
        readAvailable(m_child.output, read, m_token.wanted());
        if (read.empty()) break;
        m_token.take(read);
    }
    if (hasBegun() && afterToken) readAvailable(m_child.output, m_output, kTurnBytes);
    readAvailable(m_child.errors, m_words, kTurnBytes);
    if (m_words.size() > kMostWords) m_words.erase(0, m_words.size() - kMostWords);
    if (m_output.size() + m_words.size() + m_token.noiseBytes() != before) noteProgress();
}

bool SshSession::hasEnded() {
    return !m_child.output.valid() && !m_child.errors.valid() && m_child.end();
}

bool SshSession::endedWith(int status) {
    return m_child.end() && m_child.end()->code == status;
}

bool SshSession::isFlooding() const {
    return noiseBytes() > kMostNoise || m_output.size() > kMostNoise;
}

std::chrono::steady_clock::duration SshSession::silence() const {
    return std::chrono::steady_clock::now() - m_heard;
}

std::string SshSession::endText() {
    const auto& end = m_child.end();
    const std::string how = !end ? "was given up"
                            : end->signal
                                ? "was ended by " + signalText(*end->signal)
                                : fmt::format("ended with status {}", end->code.value_or(-1));
    const std::string last = lastLineOf(m_words);
    return last.empty() ? how : fmt::format("{} ({})", how, last);
}

std::string exitWith(RemoteStatus status) {
    return fmt::format("exit {}", static_cast<int>(status));
}

std::string programCheck() {
    // 126: found, and not executable. A user who may not run it learns that before anything depends
    // on it.
    return "LD_LIBRARY_PATH=\"$f/lib\" \"$f/bin/shardscope\" --version </dev/null >/dev/null; "
           "r=$?; "
           "[ $r -eq 126 ] && " +
           exitWith(RemoteStatus::kNotExecutable) + "; [ $r -eq 0 ] || " +
           exitWith(RemoteStatus::kDoesNotRun) + "; ";
}

Error remoteError(const SshHost& host, const std::string& folder, SshSession& session,
                  const std::string& doing) {
    const std::string cause = causeIn(session.words());
    const int code = session.child().end() ? session.child().end()->code.value_or(-1) : -1;
    std::string text = statusText(host.target, folder, static_cast<RemoteStatus>(code));
    if (text.empty())
        return {ErrorCode::kLaunch, fmt::format("{} {} {}", doing, host.target, session.endText())};
    return {ErrorCode::kLaunch, cause.empty() ? text : fmt::format("{} ({})", text, cause)};
}

}  // namespace shardscope::launch
