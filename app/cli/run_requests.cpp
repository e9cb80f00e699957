#include "app/cli/run_requests.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
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
    launch::FileDescriptor descriptor(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
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

SignalRequests::SignalRequests(launch::FileDescriptor descriptor)
    : m_descriptor(std::move(descriptor)) {}

void SignalRequests::attach(launch::RunSupervisor& run, std::function<void(const std::string&)> say,
                            std::function<void()> hangup) {
    const int fd = m_descriptor.get();
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
                    say("stopping after this step; once more kills");
                    run.requestStop();
                }
                asked = true;
            }
            return true;
        });
}

namespace {

/// Of {"command":"capture","level":...,"steps":...,"every":...}; nothing else may be in it.
Result<run::CaptureChange> captureChangeIn(const nlohmann::json& json) {
    run::CaptureChange change;
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

void changeCapture(launch::RunSupervisor& run, const run::RunConfig& config,
                   const nlohmann::json& json, const std::function<void(const std::string&)>& say) {
    const auto change = captureChangeIn(json);
    if (!change) return say(change.error().message);
    // The ranks would refuse it without a word.
    if (auto schedule = run::CaptureSchedule::of(config, *change); !schedule)
        return say(schedule.error().message);
    run.requestCapture(*change);
    say("what is captured changes with the next step or the one after");
}

}  // namespace

void attachControlInput(launch::RunSupervisor& run, const run::RunConfig& config,
                        std::function<void(const std::string&)> say) {
    const auto handle = [&run, config, say = std::move(say)](const std::string& line) {
        const auto json = nlohmann::json::parse(line, nullptr, false);
        const std::string command =
            json.is_object() && json.contains("command") && json["command"].is_string()
                ? json["command"].get<std::string>()
                : std::string();
        if (command == "stop") {
            run.requestStop();
        } else if (command == "kill") {
            run.requestKill();
        } else if (command == "capture") {
            changeCapture(run, config, json, say);
        } else {
            say("not understood on standard input: " + line);
        }
    };
    run.watch(STDIN_FILENO, [&run, handle, pending = std::string()]() mutable {
        std::array<char, 4096> buffer;
        const ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
        if (count < 0 && (errno == EINTR || errno == EAGAIN)) return true;
        if (count <= 0) {
            run.requestStop();
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

}  // namespace shardscope::cli
