#include "engine/launch/program/program_supervisor.h"

#include "engine/launch/process_look.h"
#include "storage/columns/chunk.h"
#include "storage/model/host_clock.h"
#include "storage/model/lanes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

namespace shardscope::launch {
namespace {

constexpr std::chrono::milliseconds kTurn{200};
/// The first ones follow closely: many programs start all of their processes at once.
constexpr std::chrono::milliseconds kLookInterval{1000}, kFirstLooks{2000}, kCloseLook{200};
constexpr std::chrono::milliseconds kSampleInterval{1000};
/// Then a program without Python is taken for one that will have no rank.
constexpr std::chrono::seconds kNoRankAfter{5};
/// Device of rank 0 where there is no rank.
constexpr const char* kNoRank = "no rank: the program as a whole";
/// For what processes that are no ranks have yet to say once the program has ended.
constexpr std::chrono::milliseconds kGraceAtEnd{300};
constexpr std::size_t kMostPeers = 4096;

}  // namespace

ProgramSupervisor::ProgramSupervisor(ProgramRequest request, RunSink& sink)
    : m_request(std::move(request)),
      m_sink(sink),
      m_ranks({m_request.folder, m_request.originNs, m_request.part}, sink),
      m_samples(sink) {}

ProgramSupervisor::~ProgramSupervisor() {
    std::error_code ignored;
    if (!m_socketPath.empty()) std::filesystem::remove(m_socketPath, ignored);
}

Result<std::string> ProgramSupervisor::listen() {
    const std::string path = fmt::format("{}/program-{}", m_request.folder, ::getpid());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        return failure(ErrorCode::kFailure, fmt::format("{} is too long for a socket", path));
    std::memcpy(address.sun_path, path.c_str(), path.size());
    ::unlink(path.c_str());  // of an ended process with our number
    m_listener = FileDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!m_listener.valid() ||
        ::bind(m_listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
            0 ||
        ::listen(m_listener.get(), SOMAXCONN) != 0)
        return failure(ErrorCode::kFailure, fmt::format("{}: {}", path, std::strerror(errno)));
    m_socketPath = path;
    return path;
}

Result<void> ProgramSupervisor::prepare(ProgramVariables variables) {
    auto socket = listen();
    if (!socket) return failure(socket);
    variables.socket = std::move(*socket);
    ProgramEnvironment environment = programEnvironment(variables);
    setEnvironment(std::move(environment.added));
    for (const std::string& note : environment.notes)
        m_ranks.say(Severity::kWarning, "program-environment", note, "", std::nullopt);
    return {};
}

void ProgramSupervisor::watch(int fd, std::function<bool()> readable) {
    m_watches.push_back({fd, std::move(readable)});
}

ProgramOutcome ProgramSupervisor::run() {
    SpawnRequest spawned;
    spawned.program = m_request.command.front();
    spawned.arguments.assign(m_request.command.begin() + 1, m_request.command.end());
    spawned.environment = m_environment;
    spawned.searchPath = true;
    spawned.resetSignals = {SIGPIPE, SIGXFSZ};
    FileDescriptor nothing;
    if (m_request.detached) {
        nothing = FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        spawned.descriptors = {{nothing.get(), STDIN_FILENO}, {STDERR_FILENO, STDOUT_FILENO}};
    }
    const auto child = spawn(spawned);
    if (!child) {
        m_outcome.notStarted = child.error();
        return std::move(m_outcome);
    }
    m_child = *child;
    m_childFd = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, m_child, 0)));
    m_startedAt = Clock::now();
    m_log.emplace(m_child, givenVariables(), m_request.originNs);
    while (!isOver()) {
        poll();
        m_sink.tick();
    }
    conclude();
    return std::move(m_outcome);
}

void ProgramSupervisor::poll() {
    std::vector<pollfd> polls;
    const auto add = [&polls](int fd) { polls.push_back({fd, POLLIN, 0}); };
    add(m_ranks.peers().size() < kMostPeers ? m_listener.get() : -1);
    add(m_end ? -1 : m_childFd.get());
    for (const Watch& each : m_watches) add(each.fd);
    for (const ProgramRanks::Peer& each : m_ranks.peers()) {
        add(each.link.fd());
        add(each.link.gone ? -1 : each.link.processFd());
    }
    const auto wait = m_nextLook - Clock::now();
    const auto ms = std::clamp(std::chrono::duration_cast<std::chrono::milliseconds>(wait),
                               std::chrono::milliseconds{0}, kTurn);
    ::poll(polls.data(), polls.size(), static_cast<int>(ms.count()));
    std::size_t place = 2;
    for (Watch& each : m_watches)
        if (polls[place++].revents != 0 && !each.readable()) each.fd = -1;
    std::vector<std::pair<ProgramRanks::Peer*, bool>> heard;
    for (ProgramRanks::Peer& each : m_ranks.peers()) {
        const bool speaks = polls[place++].revents != 0;
        const bool ended = polls[place++].revents != 0;
        if (speaks || ended) heard.emplace_back(&each, ended);
    }
    for (const auto& [peer, ended] : heard) {
        m_ranks.receive(*peer);
        if (ended && !peer->link.gone) m_ranks.noteEnd(*peer);
    }
    if (polls[0].revents != 0) accept();
    if (!m_end) m_end = reap(m_child);
    if (m_end && !m_endedAt) {
        m_endedAt = Clock::now();
        m_endedTime = now();
    }
    if (Clock::now() >= m_nextLook) lookAtProcesses();
}

void ProgramSupervisor::accept() {
    while (m_ranks.peers().size() < kMostPeers) {
        FileDescriptor socket(
            ::accept4(m_listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket.valid()) return;
        m_log->connected(m_ranks.connect(std::move(socket)).link.pid());
    }
}

Timestamp ProgramSupervisor::now() const {
    return Timestamp{hostNow() - m_request.originNs};
}

GivenVariables ProgramSupervisor::givenVariables() const {
    GivenVariables given;
    given.user = ::geteuid();
    const auto socket = m_environment.find(capture::kSocketVariable);
    if (socket == m_environment.end()) return given;
    given.socket = socket->first + "=" + socket->second;
    const auto path = m_environment.find("PYTHONPATH");
    if (path != m_environment.end()) given.hook = path->second.substr(0, path->second.find(':'));
    return given;
}

void ProgramSupervisor::lookAtProcesses() {
    const auto time = Clock::now();
    m_nextLook = time + (time - m_startedAt < kFirstLooks ? kCloseLook : kLookInterval);
    m_log->look(now());
    if (time >= m_nextSample) sampleProgram();
    if (time >= m_nextFigures) reportFigures();
    for (const Stall& stall : m_ranks.stalls({m_request.stall})) sayStall(stall);
}

/// Who is missing, and what its process does.
void ProgramSupervisor::sayStall(const Stall& stall) {
    std::string states;
    for (const ProgramRanks::Peer& each : m_ranks.peers()) {
        const bool missing = each.link.rank && std::find(stall.missing.begin(), stall.missing.end(),
                                                         *each.link.rank) != stall.missing.end();
        if (missing && each.link.gone)
            states += fmt::format("; rank {} has ended", each.link.rank->value);
        else if (missing)
            states += fmt::format("; rank {}: {}", each.link.rank->value,
                                  holdText(lookAt(each.link.pid()).hold, each.link.pid()));
    }
    m_sink.message(stall.about(), run::DiagnosticRaised{stallDiagnostic(stall, states, now())});
    m_sink.keep();
}

/// For front ends.
void ProgramSupervisor::reportFigures() {
    m_nextFigures = Clock::now() + kSampleInterval;
    m_loads.look(m_log->tree().alive(), hostNow());
    for (const ProgramRanks::Peer& each : m_ranks.peers()) {
        const auto process = m_log->tree().alive().find(each.link.pid());
        if (!each.link.rank || each.link.gone || process == m_log->tree().alive().end()) continue;
        run::RankActivity activity;
        const auto steps = static_cast<std::int32_t>(each.link.steps);
        if (steps > 0) activity.step = StepIndex{each.offsets.steps + steps - 1};
        activity.residentSet = process->second.resident;
        activity.cores = m_loads.cores(each.link.pid());
        m_sink.message(*each.link.rank, activity);
    }
    if (!m_request.figures || m_log->tree().alive().empty()) return;
    run::ProgramFigures all{
        static_cast<std::int32_t>(m_log->tree().alive().size()), {}, m_loads.all()};
    // A process that has not become the program yet has none.
    if (m_log->tree().resident().count > 0) all.residentSet = m_log->tree().resident();
    m_request.figures(all);
}

/// Of all processes together, on the lowest rank's lanes; without a rank on those of a rank that
/// stands for the program.
void ProgramSupervisor::sampleProgram() {
    const auto time = Clock::now();
    // A process that has not become the program yet has no memory of its own.
    if (m_samples.isEmpty() && !m_endedAt && m_log->tree().resident().count == 0) return;
    m_nextSample = time + kSampleInterval;
    m_samples.add(now(), m_log->tree().resident(), m_log->cpuNs());
    if (m_samples.rank()) return;
    if (const auto lowest = m_ranks.lowest())
        m_samples.giveTo(*lowest);
    else if (m_samples.isFull() || (time - m_startedAt >= kNoRankAfter && !m_log->hadPython()))
        sampleAsItsOnlyRank();
}

/// It stands for the program until a process says that it is this rank.
void ProgramSupervisor::sampleAsItsOnlyRank() {
    const RankId only = m_ranks.free();
    m_sink.message(only, run::RankStarted{static_cast<std::int32_t>(only.value), m_child});
    run::RankHello hello;
    hello.pid = m_child;
    hello.device = kNoRank;
    m_sink.message(only, hello);
    m_samples.giveTo(only);
}

void ProgramSupervisor::requestStop() {
    m_stopAsked = true;
    if (!m_end && m_child > 0) ::kill(m_child, SIGTERM);
    if (m_end) m_leave = true;
}

void ProgramSupervisor::requestKill() {
    m_killAsked = true;
    if (!m_log) return;
    m_log->look(now());  // what it has started since
    for (const auto& [pid, process] : m_log->tree().alive()) ::kill(pid, SIGKILL);
}

void ProgramSupervisor::requestCapture(const CaptureChange& change) {
    m_ranks.tell(change);
}

void ProgramSupervisor::correctClock(const ClockLine& line) {
    m_ranks.correctClock(line);
}

void ProgramSupervisor::abandon(const Error&) {
    m_ranks.close();
}

void ProgramSupervisor::passOn(int number, bool fromTerminal) {
    if (number == SIGUSR1 && m_sink.keep()) return;  // it was meant for the flight recorder
    if (m_end) {
        if (number == SIGINT || number == SIGTERM) m_leave = true;
    } else if (!fromTerminal && m_child > 0) {
        ::kill(m_child, number);
    }
}

/// Ranks may outlive the first process, as those of a script that starts them in the background.
bool ProgramSupervisor::isOver() {
    if (!m_end) return false;
    if (m_leave) return true;
    return !m_ranks.anyLives() && Clock::now() - *m_endedAt >= kGraceAtEnd;
}

/// Of each rank that said what it computes with; of a later attempt the last word counts.
void ProgramSupervisor::concludePeaks() {
    if (!m_request.peak) return;
    for (const ProgramRanks::Peer& each : m_ranks.peers())
        if (each.link.rank)
            m_sink.message(*each.link.rank, m_request.peak(each.link.facts, m_ranks.count()));
}

/// The last ones, and the account of the rank that has them: it did not count them itself.
void ProgramSupervisor::concludeSamples() {
    sampleProgram();
    if (m_ranks.isEmpty() && !m_samples.rank()) sampleAsItsOnlyRank();
    m_samples.flush();
    const RankId rank = *m_samples.rank();
    if (!m_ranks.has(rank)) {
        m_sink.message(rank, run::RankFinished{m_samples.count(), 0, false});
        run::RankExited exited;
        exited.code = m_end->code;
        exited.signal = m_end->signal;
        m_sink.message(rank, exited);
        return;
    }
    const ProgramRanks::Peer* newest = m_ranks.newestOf(rank);
    if (newest != nullptr && newest->link.ending) m_ranks.finish(*newest, m_samples.count());
}

void ProgramSupervisor::concludeProcesses() {
    rusage used{};
    const bool known = ::getrusage(RUSAGE_CHILDREN, &used) == 0;
    m_log->rootEnded({m_end->code, m_end->signal}, m_endedTime,
                     static_cast<std::int64_t>(m_end->processorSeconds * 1e9),
                     Bytes{known ? std::int64_t{used.ru_maxrss} * 1024 : 0});
    for (const ProgramRanks::Peer& each : m_ranks.peers()) {
        ReportedProcess said;
        const auto role = each.link.facts.find("role");
        if (role != each.link.facts.end()) said.role = role->second;
        if (each.link.rank) said.rank = static_cast<std::int32_t>(each.link.rank->value);
        if (each.link.rank) said.attempt = static_cast<std::int32_t>(each.offsets.attempt);
        said.end = each.link.end();
        m_log->reported(each.link.pid(), said);
    }
    m_outcome.cpuNs = m_log->cpuNs();
    m_outcome.processes = m_log->rows();
    // One that ended before it could be looked at: what it is we know.
    for (ProcessFacts& each : m_outcome.processes)
        if (each.pid == m_child && each.command.empty())
            each.command = fmt::format("{}", fmt::join(m_request.command, " "));
    for (const Diagnostic& each : m_log->diagnostics(now()))
        m_sink.message(run::kNoRank, run::DiagnosticRaised{each});
}

void ProgramSupervisor::conclude() {
    accept();
    for (ProgramRanks::Peer& each : m_ranks.peers()) m_ranks.receive(each);
    lookAtProcesses();
    m_ranks.claimTheRest();
    m_ranks.sayCutOff();
    concludePeaks();
    concludeProcesses();
    concludeSamples();
    m_outcome.end = *m_end;
    m_outcome.run.stopped = m_stopAsked && !m_killAsked;
    m_outcome.run.killed = m_killAsked;
    for (const ProgramRanks::Peer& each : m_ranks.peers())
        if (each.link.rank && (m_outcome.facts.empty() || each.link.rank == m_ranks.lowest()))
            m_outcome.facts = each.link.facts;
    m_outcome.ranks = m_ranks.highestCount();
}

}  // namespace shardscope::launch
