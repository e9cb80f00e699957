#include "engine/worker/command_reader.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

namespace shardscope::worker {

CommandReader::~CommandReader() {
    if (!m_thread.joinable()) return;
    m_expectEnd.store(true);
    ::shutdown(m_fd, SHUT_RD);  // wakes the reading thread
    m_thread.join();
}

Result<run::Message> CommandReader::nextMessage() {
    std::array<std::byte, 4096> bytes;
    for (;;) {
        auto frame = m_parser.next();
        if (!frame) return failure(frame);
        if (*frame) return run::decode((*frame)->text());
        const ssize_t count = ::read(m_fd, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return failure(ErrorCode::kLaunch, "the agent closed the connection");
        m_parser.append(std::span(bytes).first(static_cast<std::size_t>(count)));
    }
}

Result<run::RankStart> CommandReader::readStart() {
    for (;;) {
        auto message = nextMessage();
        if (!message) return failure(message);
        if (auto* start = std::get_if<run::RankStart>(&*message)) return std::move(*start);
    }
}

bool CommandReader::captureChangeWaits() const {
    const std::lock_guard lock(m_mutex);
    return !m_changes.empty();
}

CaptureChange CommandReader::takeCaptureChange() {
    const std::lock_guard lock(m_mutex);
    CaptureChange change = std::move(m_changes.front());
    m_changes.pop_front();
    return change;
}

void CommandReader::watch() {
    m_thread = std::thread([this] { run(); });
}

void CommandReader::run() {
    for (;;) {
        const auto message = nextMessage();
        if (!message) {
            if (m_expectEnd.load()) return;
            std::_Exit(exitStatus(message.error()));
        }
        if (const auto* command = std::get_if<run::Command>(&*message)) take(*command);
        if (const auto* clock = std::get_if<run::ClockCorrection>(&*message)) take(*clock);
    }
}

void CommandReader::take(const run::Command& command) {
    if (command.verb == "kill") std::_Exit(exitStatus({ErrorCode::kInterrupted, ""}));
    if (command.verb == "stop") m_stopWanted.store(true);
    if (command.verb != "capture") return;
    const std::lock_guard lock(m_mutex);
    m_changes.push_back(command.capture);
}

void CommandReader::take(const run::ClockCorrection& correction) {
    const std::lock_guard lock(m_clockMutex);
    if (m_onClock)
        m_onClock(correction);
    else
        m_earlyCorrections.push_back(correction);
}

void CommandReader::onClock(std::function<void(const run::ClockCorrection&)> taker) {
    const std::lock_guard lock(m_clockMutex);
    m_onClock = std::move(taker);
    if (!m_onClock) return;
    for (const run::ClockCorrection& each : std::exchange(m_earlyCorrections, {})) m_onClock(each);
}

}  // namespace shardscope::worker
