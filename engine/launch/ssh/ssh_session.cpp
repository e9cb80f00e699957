#include "engine/launch/ssh/ssh_session.h"

#include "engine/launch/ssh/shell_quoting.h"
#include "engine/launch/ssh/ssh_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

namespace shardscope::launch {
namespace {

constexpr std::size_t kMostNoise = 1u << 20;
constexpr std::size_t kMostWords = 64 * 1024;
/// Of one turn of the loop.
constexpr std::size_t kTurnBytes = 256 * 1024;

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
    // A new pipe takes it whole. Whoever does not read it any more tells by ending.
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

}  // namespace shardscope::launch
