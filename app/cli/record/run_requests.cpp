#include "app/cli/record/run_requests.h"

#include "app/cli/record/control_socket.h"

#include <fmt/format.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>

namespace shardscope::cli {

Result<SignalRequests> SignalRequests::open() {
    sigset_t signals;
    ::sigemptyset(&signals);
    for (const int each : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&signals, each);
    FileDescriptor descriptor(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!descriptor.valid() || ::sigprocmask(SIG_BLOCK, &signals, nullptr) != 0) {
        return failure(ErrorCode::kFailure,
                       fmt::format("signals cannot be received: {}", std::strerror(errno)));
    }
    return SignalRequests(std::move(descriptor));
}

void holdHangups() {
    sigset_t hangup;
    ::sigemptyset(&hangup);
    ::sigaddset(&hangup, SIGHUP);
    ::sigprocmask(SIG_BLOCK, &hangup, nullptr);
}

SignalRequests::SignalRequests(FileDescriptor descriptor) : m_descriptor(std::move(descriptor)) {}

int SignalRequests::timesAsked() {
    signalfd_siginfo signal{};
    while (::read(m_descriptor.get(), &signal, sizeof signal) == sizeof signal) {
        if (signal.ssi_signo == SIGHUP)
            m_hungUp = true;
        else
            ++m_asked;
    }
    return m_asked;
}

void SignalRequests::attach(launch::RunControl& run, std::function<void(const std::string&)> say,
                            std::function<void()> hangup) {
    const int fd = m_descriptor.get();
    if (m_hungUp) hangup();
    run.watch(
        fd, [&run, fd, say = std::move(say), hangup = std::move(hangup), asked = false]() mutable {
            signalfd_siginfo signal{};
            while (::read(fd, &signal, sizeof signal) == sizeof signal) {
                if (signal.ssi_signo == SIGHUP) {
                    hangup();
                    continue;
                }
                if (asked) {
                    say("killing the run");
                    run.requestKill();
                } else {
                    say(fmt::format("{}; once more kills", run.stopWords()));
                    run.requestStop();
                }
                asked = true;
            }
            return true;
        });
}

void attachControlInput(launch::RunControl& run, const CaptureWish& capture,
                        std::function<void(const std::string&)> say) {
    // Who let it go will close our input, and wants it to go on.
    const auto detached = std::make_shared<bool>(false);
    const auto handle = [commands = ControlCommands(run, capture, [detached] { *detached = true; }),
                         say = std::move(say)](const std::string& line) {
        const auto done = commands.apply(line);
        say(done ? *done : done.error().message);
    };
    run.watch(STDIN_FILENO, [&run, handle, detached, pending = std::string()]() mutable {
        std::array<char, 4096> buffer;
        const ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
        if (count < 0 && (errno == EINTR || errno == EAGAIN)) return true;
        if (count <= 0) {
            if (!*detached) run.requestStop();
            return false;
        }
        pending.append(buffer.data(), static_cast<std::size_t>(count));
        for (std::size_t end; (end = pending.find('\n')) != std::string::npos;) {
            handle(pending.substr(0, end));
            pending.erase(0, end + 1);
        }
        return true;
    });
}

void attachControlSocket(launch::RunControl& run, const std::string& recording,
                         const CaptureWish& capture,
                         const std::function<void(const std::string&)>& say) {
    auto opened = ControlSocket::open(recording);
    if (!opened)
        return say(
            fmt::format("`shardscope control` cannot reach this run: {}", opened.error().message));
    const auto socket = std::make_shared<ControlSocket>(std::move(*opened));
    run.watch(socket->fd(), [socket, commands = ControlCommands(run, capture)] {
        socket->turn(commands);
        return true;
    });
}

}  // namespace shardscope::cli
