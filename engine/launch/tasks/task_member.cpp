#include "engine/launch/tasks/task_member.h"

#include "engine/launch/process.h"
#include "engine/launch/tasks/processor_set.h"
#include "engine/launch/tasks/task_handshake.h"
#include "engine/launch/tasks/task_meeting.h"
#include "engine/launch/tasks/task_secret.h"
#include "engine/launch/tasks/task_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
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
/// For its connection, a little less than rank 0's task has: strangers may be in the way of one
/// try.
constexpr std::chrono::seconds kLeadPatience{50};
/// Where an agent finds its terms: not in its arguments or environment, which others can read.
constexpr int kTermsFd = 3;
/// A pipe takes so much at once; a run's options are shorter.
constexpr std::size_t kLongestTerms = 60'000;

/// A descriptor from which `text` can be read to its end.
Result<FileDescriptor> readableOnce(const std::string& text) {
    std::array<int, 2> ends{};
    if (text.size() > kLongestTerms || ::pipe2(ends.data(), O_CLOEXEC) != 0)
        return failure(ErrorCode::kLaunch,
                       fmt::format("the agent's terms: {}", text.size() > kLongestTerms
                                                                ? "the run's options are too long"
                                                                : std::strerror(errno)));
    FileDescriptor output(ends[0]);
    const FileDescriptor input(ends[1]);
    if (::write(input.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        return failure(ErrorCode::kLaunch,
                       fmt::format("the agent's terms: {}", std::strerror(errno)));
    return output;
}

/// The agent of this node, for as long as this lives.
class NodeAgent {
public:
    Result<void> start(FileDescriptor frames, const run::TaskTerms& terms) {
        const auto text = readableOnce(run::encode(terms));
        if (!text) return failure(text);
        SpawnRequest request;
        request.program = ownProgram();
        request.arguments = {"agent", "--launched"};
        request.descriptors = {{frames.get(), 0}, {frames.get(), 1}, {text->get(), kTermsFd}};
        request.ownGroup = true;
        request.dieWithParent = true;
        const auto pid = spawn(request);
        if (!pid) return failure(pid, "starting the agent");
        m_pid = *pid;
        return {};
    }
    /// Its frames end with the run, and it with them; the group is for one that hangs. Whether it
    /// ended well, or there is none.
    bool end() {
        const auto until = Clock::now() + kAgentGrace;
        while (m_pid > 0) {
            if (const auto ended = reap(m_pid)) {
                m_pid = -1;
                return ended->code == 0;
            }
            if (Clock::now() > until) {
                ::kill(-m_pid, SIGKILL);
                ::waitpid(std::exchange(m_pid, -1), nullptr, 0);
                return false;
            }
            ::poll(nullptr, 0, 5);
        }
        return true;
    }
    [[nodiscard]] bool isThere() const { return m_pid > 0; }
    NodeAgent() = default;
    NodeAgent(const NodeAgent&) = delete;
    NodeAgent& operator=(const NodeAgent&) = delete;
    ~NodeAgent() { end(); }

private:
    pid_t m_pid = -1;
};

class Service {
public:
    explicit Service(const TaskService& service) : m_service(service) {}

    Result<int> run() {
        m_secret = TaskSecret::of(m_service.place);
        m_hello = helloOf(m_service.place, m_service.product,
                          m_service.program ? TaskWork::kProgram : TaskWork::kRanks);
        if (auto met = meet(); !met) return failure(met);
        while (m_line.isOpen()) {
            pollfd poll{m_line.fd(), POLLIN, 0};
            ::poll(&poll, 1, static_cast<int>(kTurn.count()));
            passOn();
            if (m_service.timesAsked() > 2)
                return failure(ErrorCode::kInterrupted, "interrupted three times");
            while (const auto said = m_line.take()) {
                if (const auto status = after(*said, "end")) return finish(*status);
                const auto all = after(*said, "lead");
                if (all && m_service.program) return runProgram();
                if (all)
                    if (auto led = lead(*all); !led) return failure(led);
            }
        }
        return failure(ErrorCode::kLaunch,
                       "rank 0's task was lost, and its recorder with it, or what it said was "
                       "changed on its way");
    }

private:
    struct Met {
        TaskLine line;
        JoiningHandshake handshake;
    };

    /// Rank 0's may be started minutes later, or its name be known only then; and who is there
    /// before it may be a stranger.
    Result<void> meet() {
        const auto begun = Clock::now();
        while (true) {
            if (m_service.timesAsked() > 0)
                return failure(ErrorCode::kInterrupted, "interrupted before rank 0's task was met");
            auto met = tryToMeet(m_hello);
            if (met) {
                m_line = std::move(met->line);
                m_line.seal(met->handshake.seals());
                return {};
            }
            if (met.error().code != ErrorCode::kLaunch) return refusalOf(met.error());
            const auto waited = Clock::now() - begun;
            if (waited > m_service.patience) return notMet(met.error().message);
            if (waited >= m_service.sayAfter) sayOnce(m_saidWaiting, met.error().message);
            ::poll(nullptr, 0, static_cast<int>(kBetweenTries.count()));
        }
    }

    /// The next line of what listens there; nothing: none came in time.
    [[nodiscard]] std::string answerOn(TaskLine& line) const {
        const auto until = Clock::now() + kAnswerPatience;
        while (line.isOpen() && Clock::now() < until && m_service.timesAsked() == m_passedOn) {
            if (auto said = line.take()) return *said;
            pollfd poll{line.fd(), POLLIN, 0};
            if (line.isOpen()) ::poll(&poll, 1, static_cast<int>(kTurn.count()));
        }
        return {};
    }

    /// kLaunch: not yet; kFailure: no.
    Result<Met> tryToMeet(const TaskHello& hello) {
        auto socket = connectToFirst(m_service.place, m_secret, kTryPatience);
        if (!socket) return failure(socket);
        Met met{TaskLine(std::move(*socket)), JoiningHandshake(m_secret, hello)};
        met.line.send(met.handshake.hello());
        if (const auto proof = met.handshake.prove(answerOn(met.line)))
            met.line.send(*proof);
        else
            return failure(ErrorCode::kLaunch, "what listens there is not this run's");
        const auto answer = met.handshake.hear(answerOn(met.line));
        using Verdict = JoiningHandshake::Verdict;
        if (answer.verdict == Verdict::kWelcome) return met;
        if (answer.verdict == Verdict::kRefused)
            return failure(ErrorCode::kFailure, answer.sentence);
        if (answer.verdict == Verdict::kStranger)
            return failure(ErrorCode::kLaunch, "what listens there did not prove the run's secret");
        const std::string other = fmt::format(
            "the task there has another secret, or only one of both has one; give all tasks of "
            "the run the same {}",
            kTaskToken);
        sayOnce(m_saidUnproved, other);
        return failure(ErrorCode::kLaunch, other);
    }

    void sayOnce(bool& said, const std::string& why) {
        if (m_service.say && !std::exchange(said, true))
            m_service.say(fmt::format("waiting for rank 0's task {}: {}", where(), why));
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
            fmt::format("rank 0's task was not met {} within {} s: {}; see that MASTER_ADDR and "
                        "MASTER_PORT are those of its host and the same for all tasks",
                        where(), m_service.patience.count() / 1000, why));
    }

    Result<Met> meetAsAgent() {
        TaskHello hello = m_hello;
        hello.agent = true;
        auto met = tryToMeet(hello);
        const auto until = Clock::now() + kLeadPatience;
        while (!met && met.error().code == ErrorCode::kLaunch && Clock::now() < until &&
               m_service.timesAsked() < 2) {
            passOn();
            ::poll(nullptr, 0, static_cast<int>(kBetweenTries.count()));
            met = tryToMeet(hello);
        }
        if (!met) return failure(met, "the agent's connection to rank 0's task");
        return met;
    }

    Result<int> runProgram() {
        auto met = meetAsAgent();
        if (!met) return failure(met);
        FrameChannel recorder(met->line.release());
        recorder.seal(met->handshake.seals());
        return m_service.program(std::move(recorder));
    }

    Result<void> lead(std::string_view processors) {
        if (m_agent.isThere()) return {};
        auto met = meetAsAgent();
        if (!met) return failure(met);
        useProcessors(processorsOf(processors));
        run::TaskTerms terms = m_service.terms();
        const auto [toFirst, toTask] = met->handshake.keys();
        terms.sendKey = network::toHex(toFirst);
        terms.receiveKey = network::toHex(toTask);
        return m_agent.start(met->line.release(), terms);
    }

    /// Signals of a launcher reach all tasks, of an operator perhaps this one only.
    void passOn() {
        const int asked = m_service.timesAsked();
        if (m_passedOn < 1 && asked >= 1) m_line.send("stop");
        if (m_passedOn < 2 && asked >= 2) m_line.send("kill");
        m_passedOn = asked;
    }

    /// A run whose agent here failed did not end well, whatever rank 0's task says.
    Result<int> finish(std::string_view ending) {
        auto status = statusOf(ending);
        m_line.close();
        if (!m_agent.end() && status && *status == 0)
            return failure(ErrorCode::kLaunch,
                           "the agent of this host failed, and rank 0's task says that the run "
                           "went well: it may be a stranger's");
        return status;
    }

    static Result<int> statusOf(std::string_view text) {
        int status = 0;
        const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), status);
        if (error != std::errc() || status < 0 || status > 255)
            return failure(ErrorCode::kLaunch, "rank 0's task sent no exit status");
        return status;
    }

    const TaskService& m_service;
    TaskSecret m_secret;
    TaskHello m_hello;
    NodeAgent m_agent;
    TaskLine m_line;  ///< goes before the agent is waited for
    int m_passedOn = 0;
    bool m_saidWaiting = false, m_saidUnproved = false;
};

}  // namespace

Result<int> serveAsTask(const TaskService& service) {
    return Service(service).run();
}

Result<run::TaskTerms> takeTaskTerms(FrameChannel& recorder) {
    const FileDescriptor from(kTermsFd);
    std::string text(kLongestTerms, '\0');
    std::size_t size = 0;
    for (ssize_t count = 1; count > 0 && size < text.size();
         size += static_cast<std::size_t>(count)) {
        count = ::read(from.get(), text.data() + size, text.size() - size);
        if (count < 0) break;
    }
    text.resize(size);
    auto message = run::decode(text);
    auto* terms = message ? std::get_if<run::TaskTerms>(&*message) : nullptr;
    const auto send = terms == nullptr ? std::nullopt : network::keyFromHex(terms->sendKey);
    const auto receive = terms == nullptr ? std::nullopt : network::keyFromHex(terms->receiveKey);
    if (!send || !receive)
        return failure(ErrorCode::kLaunch,
                       "agent --launched is started by a task, which tells it its terms; it is not "
                       "for people");
    recorder.seal({network::Seal(*send), network::Seal(*receive)});
    return std::move(*terms);
}

}  // namespace shardscope::launch
