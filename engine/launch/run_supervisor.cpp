#include "engine/launch/run_supervisor.h"

#include "engine/launch/agent.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>

namespace shardscope::launch {
namespace {

constexpr std::chrono::milliseconds kTurn{100};
constexpr std::chrono::seconds kOwnPause{2};
/// For a rank that reported a failure and then hangs, and for an agent that does not end.
constexpr std::chrono::seconds kGraceBeforeKill{5};
/// Failures so close together may have one cause; the agent kills no rank before that.
constexpr std::chrono::milliseconds kSameCause{1500};
static_assert(kSameCause < kGraceAfterFailure);

std::string lastLine(const std::string& text) {
    const auto end = text.find_last_not_of(" \n\r\t");
    if (end == std::string::npos) return {};
    const auto begin = text.find_last_of('\n', end);
    return text.substr(begin == std::string::npos ? 0 : begin + 1,
                       end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

std::string exitText(const run::RankExited& exit, const std::string& when) {
    std::string text = exit.signal ? "was ended by " + signalText(*exit.signal)
                       : exit.code == 0
                           ? "ended without finishing"
                           : fmt::format("ended with status {}", exit.code.value_or(-1));
    text += ' ' + when;
    if (exit.signal == SIGKILL) text += ", perhaps by the system for want of memory";
    if (const std::string words = lastLine(exit.lastWords); !words.empty()) {
        text += fmt::format("; its last words: {}", words);
    }
    return text;
}

std::string placeText(const run::RankFailed& failed) {
    std::string place;
    if (failed.step >= 0) place += fmt::format(" at step {}", failed.step);
    if (!failed.phase.empty()) place += fmt::format(" in {}", failed.phase);
    if (failed.layer >= 0) place += fmt::format(" of layer {}", failed.layer);
    return place;
}

}  // namespace

RunSupervisor::RunSupervisor(RunRequest request, RunSink& sink)
    : m_request(std::move(request)),
      m_sink(sink),
      m_ranks(static_cast<std::size_t>(m_request.launch.config.ranks)),
      m_lastHeard(Clock::now()),
      m_lastTurn(Clock::now()),
      m_nextHeartbeat(Clock::now() + kHeartbeatInterval) {}

RunSupervisor::~RunSupervisor() {
    endAgent();
}

void RunSupervisor::watch(int fd, std::function<bool()> readable) {
    m_watches.push_back({fd, std::move(readable)});
}

RunOutcome RunSupervisor::run() {
    if (auto started = startAgent(); !started) {
        m_outcome.failure = started.error();
        return m_outcome;
    }
    while (!m_done) {
        poll();
        takeFromAgent();
        m_sink.tick();
        keepTime();
        m_agent.flush();
    }
    endAgent();
    concludeRanks();
    return m_outcome;
}

Result<void> RunSupervisor::startAgent() {
    auto sockets = socketPair();
    if (!sockets) return failure(sockets);
    SpawnRequest spawnRequest;
    spawnRequest.program = m_request.agentProgram;
    spawnRequest.arguments = m_request.agentArguments;
    spawnRequest.descriptors = {{sockets->second.get(), 0}, {sockets->second.get(), 1}};
    // Out of the terminal's group: Ctrl-C is for the recorder alone, which ends the run in order.
    spawnRequest.ownGroup = true;
    const auto pid = spawn(spawnRequest);
    if (!pid) return failure(pid, "starting the agent");
    m_agentPid = *pid;
    m_agent = FrameChannel(std::move(sockets->first));
    return {};
}

void RunSupervisor::poll() {
    std::vector<pollfd> polls;
    for (const Watch& each : m_watches) polls.push_back({each.fd, POLLIN, 0});
    m_agent.addPolls(polls, true);
    if (::poll(polls.data(), polls.size(), static_cast<int>(kTurn.count())) <= 0) return;
    const std::size_t count = m_watches.size();
    for (std::size_t i = 0; i < count; ++i) {
        if (polls[i].revents != 0 && !m_watches[i].readable()) m_watches[i].fd = -1;
    }
    std::erase_if(m_watches, [](const Watch& each) { return each.fd < 0; });
}

void RunSupervisor::takeFromAgent() {
    std::vector<run::Frame> frames;
    const auto received = m_agent.receive(frames);
    if (!frames.empty()) m_lastHeard = Clock::now();
    for (const run::Frame& frame : frames) {
        handle(frame);
        if (m_done) return;
    }
    if (!received) {
        agentLost(received.error().message);
    } else if (!m_agent.isOpen()) {
        agentLost(agentEndText());
    }
}

void RunSupervisor::handle(const run::Frame& frame) {
    if (frame.type == run::FrameType::kChunk) {
        m_sink.chunk(frame.rank, frame.payload);
        return;
    }
    const auto message = run::decode(frame.text());
    if (message) {
        handleMessage(frame.rank, *message);
    } else if (frame.rank.value < m_ranks.size()) {
        // One rank that talks nonsense must not take the others' words along.
        run::RankFailed failed;
        failed.message = message.error().message;
        failed.code = "failure";
        handleMessage(frame.rank, failed);
    } else {
        agentLost(message.error().message);
    }
}

void RunSupervisor::handleMessage(RankId rank, const run::Message& message) {
    if (const auto* hello = std::get_if<run::AgentHello>(&message)) {
        greet(*hello);
    } else if (std::holds_alternative<run::AgentDone>(message)) {
        m_done = true;
    } else if (!std::holds_alternative<run::Heartbeat>(message)) {
        noteRank(rank, message);
        m_sink.message(rank, message);
    }
}

void RunSupervisor::greet(const run::AgentHello& hello) {
    if (m_greeted) return;
    if (hello.protocol != run::kProtocolVersion) {
        agentLost(fmt::format("it is {}, which speaks protocol {}; this build speaks {}",
                              hello.product, hello.protocol, run::kProtocolVersion));
        return;
    }
    m_greeted = true;
    m_host = hello.host.name;
    m_sink.agentReady(hello);
    if (m_outcome.failure || m_stopWanted) {
        m_outcome.stopped = m_stopWanted;
        m_done = true;
        return;
    }
    m_agent.send(run::kNoRank, m_request.launch);
    m_launched = true;
}

void RunSupervisor::noteRank(RankId rank, const run::Message& message) {
    if (const auto* failed = std::get_if<run::RankFailed>(&message)) {
        if (rank.value >= m_ranks.size()) {
            abandon({ErrorCode::kLaunch, failed->message + " on " + m_host});
        } else if (RankState& state = m_ranks[rank.value]; !state.failed) {
            state.failed = *failed;
            noteFailure(rank);
        }
    }
    if (rank.value >= m_ranks.size()) return;
    RankState& state = m_ranks[rank.value];
    if (const auto* step = std::get_if<run::StepDone>(&message)) {
        state.lastStep = step->step.step.value;
    } else if (const auto* finished = std::get_if<run::RankFinished>(&message)) {
        state.finished = true;
        m_outcome.stopped = m_outcome.stopped || finished->stopped;
    } else if (const auto* exit = std::get_if<run::RankExited>(&message)) {
        state.exit = *exit;
        if (exit->code != 0 && !state.failed) noteFailure(rank);
    }
}

void RunSupervisor::noteFailure(RankId rank) {
    // Ranks that end because the run was ended have not failed.
    if (m_outcome.killed || m_outcome.failure) return;
    const auto peerLost = [this](RankId each) {
        const auto& failed = m_ranks[each.value].failed;
        return failed && failed->code == "peer-lost";
    };
    const auto now = Clock::now();
    if (!m_firstFailed) {
        m_firstFailed = rank;
        requestStop();
        m_failedAt = now;
        m_killAt = now + kGraceBeforeKill;
    } else if (peerLost(*m_firstFailed) && !peerLost(rank) && now - m_failedAt < kSameCause) {
        // Losing a peer is a consequence; the lost peer is the cause, even if its end is heard
        // of a little later.
        m_firstFailed = rank;
    }
}

void RunSupervisor::agentLost(const std::string& how) {
    m_done = true;
    if (m_outcome.failure || m_firstFailed) return;
    m_outcome.failure =
        Error{ErrorCode::kLaunch,
              fmt::format("the agent on {} was lost: {}; its ranks have been ended", m_host, how)};
}

std::string RunSupervisor::agentEndText() {
    // Its end of the socket closes a moment before its status can be had.
    for (int turn = 0; turn < 20; ++turn) {
        if (const auto end = reap(m_agentPid)) {
            ::kill(-m_agentPid, SIGKILL);
            m_agentPid = -1;
            return end->signal ? "it was ended by " + signalText(*end->signal)
                               : fmt::format("it ended with status {}", end->code.value_or(-1));
        }
        ::poll(nullptr, 0, 5);
    }
    return "it closed the connection";
}

void RunSupervisor::keepTime() {
    if (m_done) return;
    const auto now = Clock::now();
    // Where we stood still (Ctrl-Z, a disk that stalls) that was no silence of the agent's.
    if (now - m_lastTurn > kOwnPause) m_lastHeard += now - m_lastTurn;
    m_lastTurn = now;
    if (now >= m_nextHeartbeat) {
        m_agent.send(run::kNoRank, run::Heartbeat{});
        m_nextHeartbeat = now + kHeartbeatInterval;
    }
    if (now - m_lastHeard > kLease && (m_stopWanted || !isStopped(m_agentPid))) {
        agentLost(fmt::format("nothing was heard from it for {} s", kLease.count()));
    }
    if (m_killAt && now >= *m_killAt) {
        m_agent.send(run::kNoRank, run::Command{"kill"});
        m_killAt = now + kGraceBeforeKill;
    }
}

void RunSupervisor::requestStop() {
    m_stopWanted = true;
    m_agent.send(run::kNoRank, run::Command{"stop"});
}

void RunSupervisor::requestCapture(const run::CaptureChange& change) {
    m_agent.send(run::kNoRank, run::Command{"capture", change});
}

void RunSupervisor::requestKill() {
    m_stopWanted = true;
    m_outcome.killed = true;
    m_agent.send(run::kNoRank, run::Command{"kill"});
    m_killAt = Clock::now() + kGraceBeforeKill;
}

void RunSupervisor::abandon(const Error& error) {
    if (m_outcome.failure) return;
    m_outcome.failure = error;
    requestStop();
    m_killAt = Clock::now() + kGraceBeforeKill;
}

void RunSupervisor::endAgent() {
    if (m_agentPid < 0) return;
    // Closing our end ends the agent and with it its ranks; the group is for one that hangs.
    m_agent.close();
    const auto deadline = Clock::now() + kGraceBeforeKill;
    while (!reap(m_agentPid)) {
        if (Clock::now() < deadline) {
            ::poll(nullptr, 0, 5);
            continue;
        }
        ::kill(-m_agentPid, SIGKILL);
        ::waitpid(m_agentPid, nullptr, 0);
        break;
    }
    // Ranks share the agent's group: none is left when it was killed before it could clean up.
    ::kill(-m_agentPid, SIGKILL);
    m_agentPid = -1;
}

Error RunSupervisor::rankError(RankId rank) const {
    const RankState& state = m_ranks[rank.value];
    if (state.failed) {
        const std::string& word = state.failed->code;
        const ErrorCode code = word == "data"     ? ErrorCode::kUnreadable
                               : word == "launch" ? ErrorCode::kLaunch
                                                  : ErrorCode::kRank;
        return {code, fmt::format("rank {} on {} failed{}: {}", rank.value, m_host,
                                  placeText(*state.failed), state.failed->message)};
    }
    const std::string when = state.lastStep >= 0 ? fmt::format("after step {}", state.lastStep)
                                                 : "before its first step";
    return {ErrorCode::kRank,
            fmt::format("rank {} on {} {}", rank.value, m_host,
                        state.exit ? exitText(*state.exit, when) : "vanished " + when)};
}

void RunSupervisor::concludeRanks() {
    for (std::uint32_t i = 0; i < m_ranks.size() && m_launched && !m_firstFailed; ++i) {
        if (!m_ranks[i].finished && !m_outcome.killed && !m_outcome.failure) {
            m_firstFailed = RankId{i};
        }
    }
    if (m_firstFailed && !m_outcome.failure) {
        m_outcome.failedRank = m_firstFailed;
        m_outcome.failure = rankError(*m_firstFailed);
    }
    if (m_outcome.failure || m_outcome.killed) m_outcome.stopped = false;
}

}  // namespace shardscope::launch
