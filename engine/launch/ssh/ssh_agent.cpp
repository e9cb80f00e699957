#include "engine/launch/ssh/ssh_agent.h"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <utility>

namespace shardscope::launch {
namespace {

/// The agent kills its ranks and waits for them.
constexpr std::chrono::seconds kGrace{5};
constexpr std::chrono::seconds kStatusDelay{1};
/// ssh's own status.
constexpr int kSshFailed = 255;

template <class Condition>
bool awaitFor(std::chrono::milliseconds patience, Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!condition() && std::chrono::steady_clock::now() < deadline) ::poll(nullptr, 0, 5);
    return condition();
}

}  // namespace

SshAgent::SshAgent(SshMaster master, ChildProcess session)
    : m_master(std::move(master)),
      m_session(std::move(session)),
      m_channel(std::move(m_session.output), std::move(m_session.input)) {}

SshAgent::~SshAgent() {
    close();
}

std::string SshAgent::endText() {
    // Its streams close a moment before its status can be had.
    awaitFor(kStatusDelay, [this] { return end().has_value(); });
    m_master.turn();
    if (!end()) return "it closed its streams";
    if (end()->signal) return "ssh was ended by " + signalText(*end()->signal);
    if (end()->code != kSshFailed)
        return fmt::format("it ended with status {}", end()->code.value_or(-1));
    // ssh ends alike when what it started was killed; then its connection does not end with it.
    if (!awaitFor(kStatusDelay, [this] { return m_master.hasEnded(); }))
        return "it was killed: its connection lives";
    m_master.turn();
    const std::string words = lastLineOf(m_master.words());
    return words.empty() ? "the connection was lost"
                         : fmt::format("the connection was lost ({})", words);
}

void SshAgent::hangUp() {
    m_channel.close();
}

void SshAgent::close() {
    if (m_session.pid() < 0) return;  // moved from
    hangUp();
    const auto deadline = std::chrono::steady_clock::now() + kGrace;
    std::string words;
    while (!end() && std::chrono::steady_clock::now() < deadline) {
        // A full pipe would keep the agent from ending.
        readAvailable(m_session.errors, words, 64 * 1024);
        words.clear();
        ::poll(nullptr, 0, 5);
    }
    m_session.stop(SIGTERM, std::chrono::milliseconds(500));
    m_master.close();
}

}  // namespace shardscope::launch
