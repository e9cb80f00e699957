#include "app/cli/record/control_socket.h"

#include "engine/launch/agent_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

namespace shardscope::cli {
namespace {

constexpr std::size_t kLongestLine = 4096;
constexpr std::size_t kMostGuests = 16;
/// A recorder answers between two turns of its loop.
constexpr int kPatienceSeconds = 10;

/// FNV-1a of the recording's path, since that may be longer than a socket's name.
std::string socketPath(const std::string& recording) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char c : recording) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return fmt::format("{}/{:016x}.control", launch::userFolder(), hash);
}

Result<sockaddr_un> addressOf(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        return failure(ErrorCode::kFailure, fmt::format("{} is too long for a socket", path));
    std::memcpy(address.sun_path, path.c_str(), path.size());
    return address;
}

bool isOurs(int fd) {
    ucred peer{};
    socklen_t size = sizeof peer;
    return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == ::geteuid() || peer.uid == 0);
}

void watch(const FileDescriptor& events, int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    ::epoll_ctl(events.get(), EPOLL_CTL_ADD, fd, &event);
}

std::string answerOf(const Result<std::string>& done) {
    const nlohmann::ordered_json json = {{"ok", done.has_value()},
                                         {"message", done ? *done : done.error().message}};
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

/// False: it is gone, or has said more than any command.
bool hear(int fd, std::string& heard) {
    std::array<char, 512> buffer;
    while (heard.size() <= kLongestLine) {
        const ssize_t count = ::recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
        if (count == 0) return false;
        heard.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return false;
}

/// Waits for whole lines; an empty one when nothing came.
std::string readLine(int fd) {
    std::string line;
    for (char c = 0; line.size() < 4 * kLongestLine && ::recv(fd, &c, 1, 0) == 1 && c != '\n';)
        line += c;
    return line;
}

/// Of {"command":"capture","level":...,"steps":...,"every":...}; nothing else may be in it.
Result<CaptureChange> captureChangeIn(const nlohmann::json& json) {
    CaptureChange change;
    for (const auto& [key, value] : json.items()) {
        if (key == "level" && value.is_string())
            change.level = value.get<std::string>();
        else if (key == "steps" && value.is_string())
            change.steps = value.get<std::string>();
        else if (key == "every" && value.is_number_integer() && value >= 0 &&
                 value <= 2'000'000'000)
            change.every = value.get<std::int32_t>();
        else if (key != "command")
            return failure(ErrorCode::kUsage,
                           "a capture command knows \"level\" (a word), \"steps\" (a text) and "
                           "\"every\" (a whole number), not this \"" +
                               key + "\"");
    }
    return change;
}

Result<std::string> changeCapture(launch::RunControl& run, const CaptureWish& wish,
                                  const nlohmann::json& json) {
    const auto change = captureChangeIn(json);
    if (!change) return failure(change);
    // The ranks would refuse it without a word.
    if (auto schedule = CaptureSchedule::of(wish, *change); !schedule) return failure(schedule);
    run.requestCapture(*change);
    return std::string("what is captured changes with the next step or the one after");
}

}  // namespace

Result<ControlSocket> ControlSocket::open(const std::string& recording) {
    if (auto made = launch::makeUserFolder(); !made) return failure(made);
    const std::string path = socketPath(recording);
    const auto address = addressOf(path);
    if (!address) return failure(address);
    FileDescriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    // Only one run writes a recording: whose file there is, has ended.
    ::unlink(path.c_str());
    const auto* any = reinterpret_cast<const sockaddr*>(&*address);
    FileDescriptor events(::epoll_create1(EPOLL_CLOEXEC));
    if (!listener.valid() || !events.valid() || ::bind(listener.get(), any, sizeof *address) != 0 ||
        ::listen(listener.get(), kMostGuests) != 0)
        return failure(ErrorCode::kFailure, fmt::format("{}: {}", path, std::strerror(errno)));
    watch(events, listener.get());
    return ControlSocket(path, std::move(listener), std::move(events));
}

ControlSocket::~ControlSocket() {
    if (m_listener.valid()) ::unlink(m_path.c_str());
}

void ControlSocket::accept() {
    for (;;) {
        FileDescriptor fd(
            ::accept4(m_listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!fd.valid()) return;
        if (!isOurs(fd.get())) continue;
        if (m_guests.size() == kMostGuests) m_guests.pop_front();
        watch(m_events, fd.get());
        m_guests.push_back({std::move(fd), {}});
    }
}

void ControlSocket::turn(const ControlCommands& commands) {
    accept();
    m_guests.remove_if([&](Guest& guest) {
        const bool there = hear(guest.fd.get(), guest.heard);
        for (std::size_t end; (end = guest.heard.find('\n')) != std::string::npos;) {
            const std::string answer = answerOf(commands.apply(guest.heard.substr(0, end)));
            guest.heard.erase(0, end + 1);
            // Who does not read its answers does not get them.
            static_cast<void>(
                ::send(guest.fd.get(), answer.data(), answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
        }
        return !there;
    });
}

Result<std::string> askRun(const std::string& recording, const std::string& line) {
    const auto address = addressOf(socketPath(recording));
    if (!address) return failure(address);
    const FileDescriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval patience{kPatienceSeconds, 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    const std::string words = line + '\n';
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0)
        return failure(
            ErrorCode::kLaunch,
            fmt::format("no run of this user on this machine writes {}; `shardscope info "
                        "{}` says how it ended",
                        recording, recording));
    if (!isOurs(fd.get()) || ::send(fd.get(), words.data(), words.size(), MSG_NOSIGNAL) < 0)
        return failure(ErrorCode::kLaunch,
                       fmt::format("the run that writes {} cannot be reached", recording));
    const auto answer = nlohmann::json::parse(readLine(fd.get()), nullptr, false);
    if (!answer.is_object() || !answer.contains("ok") || !answer.contains("message"))
        return failure(ErrorCode::kLaunch,
                       fmt::format("the run that writes {} does not answer: it may be stopped "
                                   "(Ctrl-Z), or just ending",
                                   recording));
    const auto message = answer["message"].get<std::string>();
    if (!answer["ok"].get<bool>()) return failure(ErrorCode::kUsage, message);
    return message;
}

Result<std::string> ControlCommands::apply(std::string_view line) const {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    const std::string command =
        json.is_object() && json.contains("command") && json["command"].is_string()
            ? json["command"].get<std::string>()
            : std::string();
    if (command == "stop") {
        m_run.requestStop();
        return std::string(m_run.stopWords());
    }
    if (command == "kill") {
        m_run.requestKill();
        return std::string("killing the run");
    }
    if (command == "keep") {
        if (m_run.requestKeep()) return std::string("what is held of the last steps is kept");
        return failure(
            ErrorCode::kUsage,
            "this run is recorded as a whole; --keep-last makes a flight recorder of it");
    }
    if (command == "capture") return changeCapture(m_run, m_capture, json);
    if (command == "detach" && m_detach) {
        m_detach();
        return std::string("the run goes on when this input ends");
    }
    return failure(ErrorCode::kUsage, fmt::format("not understood: {}", line));
}

}  // namespace shardscope::cli
