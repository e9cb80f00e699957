#include "engine/launch/tasks/task_member.h"

#include "engine/launch/process.h"
#include "engine/launch/tasks/processor_set.h"
#include "engine/launch/tasks/task_meeting.h"
#include "engine/launch/tasks/task_socket.h"
#include "engine/launch/tasks/task_words.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <optional>
#include <utility>

namespace shardscope::launch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTurn{100};
constexpr std::chrono::milliseconds kBetweenTries{200};
constexpr std::chrono::seconds kTryPatience{3};
constexpr std::chrono::seconds kAnswerPatience{10};
/// For an agent that does not end.
constexpr std::chrono::seconds kAgentGrace{5};

/// The agent of this node, for as long as this lives.
class NodeAgent {
public:
    Result<void> start(FileDescriptor frames) {
        SpawnRequest request;
        request.program = ownProgram();
        request.arguments = {"agent", "--launched"};
        request.descriptors = {{frames.get(), 0}, {frames.get(), 1}};
        request.ownGroup = true;
        request.dieWithParent = true;
        const auto pid = spawn(request);
        if (!pid) return failure(pid, "starting the agent");
        m_pid = *pid;
        return {};
    }
    NodeAgent() = default;
    NodeAgent(const NodeAgent&) = delete;
    NodeAgent& operator=(const NodeAgent&) = delete;
    /// Its frames end with the run, and it with them; the group is for one that hangs.
    ~NodeAgent() {
        const auto until = Clock::now() + kAgentGrace;
        while (m_pid > 0 && !reap(m_pid)) {
            if (Clock::now() < until) {
                ::poll(nullptr, 0, 5);
                continue;
            }
            ::kill(-m_pid, SIGKILL);
            ::waitpid(m_pid, nullptr, 0);
            break;
        }
    }

private:
    pid_t m_pid = -1;
};

/// What rank 0's task answers to a hello, or nothing in time.
std::optional<std::string> answerOn(TaskLine& line) {
    const auto until = Clock::now() + kAnswerPatience;
    while (line.isOpen() && Clock::now() < until) {
        if (auto said = line.take()) return said;
        pollfd poll{line.fd(), POLLIN, 0};
        if (line.isOpen()) ::poll(&poll, 1, static_cast<int>(kTurn.count()));
    }
    return std::nullopt;
}

class Service {
public:
    explicit Service(const TaskService& service) : m_service(service) {}

    Result<int> run() {
        auto secret = TaskSecret::of(m_service.place.identity, m_service.place.token);
        if (!secret) return failure(secret);
        m_secret = std::move(*secret);
        m_hello = helloOf(m_service.place, m_service.product);
        if (auto met = meet(); !met) return failure(met);
        while (m_line.isOpen()) {
            pollfd poll{m_line.fd(), POLLIN, 0};
            ::poll(&poll, 1, static_cast<int>(kTurn.count()));
            passOn();
            if (m_service.timesAsked() > 2)
                return failure(ErrorCode::kInterrupted, "interrupted three times");
            while (const auto said = m_line.take()) {
                if (const auto status = after(*said, "end")) return statusOf(*status);
                if (const auto all = after(*said, "lead"))
                    if (auto led = lead(*all); !led) return failure(led);
            }
        }
        return failure(ErrorCode::kLaunch, "rank 0's task was lost, and its recorder with it");
    }

private:
    /// Rank 0's may be started minutes later, or its name be known only then.
    Result<void> meet() {
        const auto begun = Clock::now();
        const auto until = begun + m_service.patience;
        bool said = !m_service.say;
        while (true) {
            if (m_service.timesAsked() > 0)
                return failure(ErrorCode::kInterrupted, "interrupted before rank 0's task was met");
            auto met = tryToMeet(m_hello);
            if (met) {
                m_line = std::move(*met);
                return {};
            }
            if (met.error().code != ErrorCode::kLaunch) return refusalOf(met.error());
            if (Clock::now() > std::min(until, m_goneAt)) return notMet(met.error().message);
            if (Clock::now() - begun >= m_service.sayAfter && !std::exchange(said, true))
                m_service.say(
                    fmt::format("waiting for rank 0's task {}: {}", where(), met.error().message));
            ::poll(nullptr, 0, static_cast<int>(kBetweenTries.count()));
        }
    }

    /// kLaunch: not yet; kFailure: no.
    Result<TaskLine> tryToMeet(const TaskHello& hello) {
        auto socket = connectToFirst(m_service.place, m_secret, kTryPatience);
        noteWhetherListening(socket.has_value());
        if (!socket) return failure(socket);
        TaskLine line(std::move(*socket));
        line.send(helloLine(m_secret, hello));
        const std::string said = answerOn(line).value_or("");
        if (said == "welcome " + m_secret.first) return line;
        if (const auto refused = after(said, "refused " + m_secret.first))
            return failure(ErrorCode::kFailure, std::string(*refused));
        // Nothing but this can be believed of somebody who proves nothing.
        if (said == "token " + m_secret.run)
            return failure(ErrorCode::kFailure,
                           fmt::format("rank 0's task {} has another {}, or only one of both has "
                                       "one; give all tasks of the run the same",
                                       where(), kTaskToken));
        return failure(ErrorCode::kLaunch, "who listens there is not this run's");
    }

    /// Whoever has listened and does so no more is not expected back for long.
    void noteWhetherListening(bool listening) {
        if (listening)
            m_goneAt = Clock::time_point::max();
        else if (std::exchange(m_listened, false))
            m_goneAt = Clock::now() + kTaskLease;
        m_listened = m_listened || listening;
    }

    static tl::unexpected<Error> refusalOf(const Error& error) {
        return failure(ErrorCode::kLaunch, error.message);
    }

    [[nodiscard]] std::string where() const {
        const TaskPlace& place = m_service.place;
        return place.onOneHost() ? "on this host"
                                 : fmt::format("at {} port {}", place.address, place.port);
    }

    [[nodiscard]] tl::unexpected<Error> notMet(const std::string& why) const {
        return failure(
            ErrorCode::kLaunch,
            fmt::format("rank 0's task was not met {} within {} s{}: {}; see that MASTER_ADDR and "
                        "MASTER_PORT are those of its host and the same for all tasks",
                        where(), m_service.patience.count() / 1000,
                        m_goneAt < Clock::time_point::max()
                            ? fmt::format(", or {} s after it was gone", kTaskLease.count())
                            : "",
                        why));
    }

    Result<void> lead(std::string_view processors) {
        TaskHello hello = m_hello;
        hello.agent = true;
        auto line = tryToMeet(hello);
        if (!line) return failure(line, "the agent's connection to rank 0's task");
        useProcessors(processorsOf(processors));
        return m_agent.start(line->release());
    }

    /// Signals of a launcher reach all tasks, of an operator perhaps this one only.
    void passOn() {
        const int asked = m_service.timesAsked();
        if (m_passedOn < 1 && asked >= 1) m_line.send("stop\n");
        if (m_passedOn < 2 && asked >= 2) m_line.send("kill\n");
        m_passedOn = asked;
    }

    static Result<int> statusOf(std::string_view text) {
        int status = 0;
        const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), status);
        if (error != std::errc() || status < 0 || status > 255)
            return failure(ErrorCode::kLaunch, "rank 0's task told no exit status");
        return status;
    }

    const TaskService& m_service;
    TaskSecret m_secret;
    TaskHello m_hello;
    NodeAgent m_agent;
    TaskLine m_line;  ///< goes before the agent is waited for
    int m_passedOn = 0;
    bool m_listened = false;  ///< somebody did at the last try
    Clock::time_point m_goneAt = Clock::time_point::max();
};

}  // namespace

Result<int> serveAsTask(const TaskService& service) {
    return Service(service).run();
}

}  // namespace shardscope::launch
