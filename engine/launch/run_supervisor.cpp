#include "engine/launch/run_supervisor.h"

#include "engine/launch/process.h"
#include "storage/model/host_clock.h"
#include "storage/model/host_facts.h"
#include "storage/model/plain_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace shardscope::launch {
namespace {

constexpr std::chrono::milliseconds kTurn{100};
constexpr std::chrono::seconds kOwnPause{2};
/// Of an agent, worth a word.
constexpr std::chrono::seconds kSilence{10};
/// For a rank that reported a failure and then hangs, and for an agent that does not end.
constexpr std::chrono::seconds kGraceBeforeKill{5};
/// Failures so close together may have one cause; the agent kills no rank before that.
constexpr std::chrono::milliseconds kSameCause{1500};
static_assert(kSameCause < kGraceAfterFailure);

/// What every host has to have the same of.
std::string sharedData(const run::RunConfig& config) {
    const bool none = config.data == run::kSyntheticData || !config.reference.empty();
    return none ? std::string() : config.data;
}

}  // namespace

RunSupervisor::RunSupervisor(RunRequest request, RunSink& sink)
    : m_request(std::move(request)),
      m_sink(sink),
      m_start(m_agents, sharedData(m_request.launch.config)),
      m_ranks(static_cast<std::size_t>(m_request.launch.places.ranks())),
      m_limits(standstillLimits(m_request.launch.config.collectiveTimeout)),
      m_rankWatch(m_ranks.size(), m_limits),
      m_lastTurn(Clock::now()),
      m_nextHeartbeat(Clock::now() + kHeartbeatInterval) {
    for (HostRun& host : m_request.hosts)
        m_agents.emplace_back(static_cast<std::int32_t>(m_agents.size()), std::move(host));
}

RunSupervisor::~RunSupervisor() {
    endAgents();
}

void RunSupervisor::watch(int fd, std::function<bool()> readable) {
    m_watches.push_back({fd, std::move(readable)});
}

RunOutcome RunSupervisor::run() {
    startAgents();
    while (!m_done) {
        poll();
        for (AgentLink& link : m_agents)
            if (!link.over && !m_done) takeFrom(link);
        m_sink.tick();
        keepTime();
        for (AgentLink& link : m_agents) link.flush();
    }
    endAgents();
    concludeRanks();
    return m_outcome;
}

void RunSupervisor::startAgents() {
    for (AgentLink& link : m_agents) {
        if (auto started = link.start(); !started) {
            m_outcome.failure = started.error();
            m_done = true;
            return;
        }
    }
}

void RunSupervisor::poll() {
    std::vector<pollfd> polls;
    for (const Watch& each : m_watches) polls.push_back({each.fd, POLLIN, 0});
    for (const AgentLink& link : m_agents)
        if (!link.over) link.addPolls(polls);
    if (::poll(polls.data(), polls.size(), static_cast<int>(kTurn.count())) <= 0) return;
    const std::size_t count = m_watches.size();
    for (std::size_t i = 0; i < count; ++i) {
        if (polls[i].revents != 0 && !m_watches[i].readable()) m_watches[i].fd = -1;
    }
    std::erase_if(m_watches, [](const Watch& each) { return each.fd < 0; });
}

void RunSupervisor::takeFrom(AgentLink& link) {
    std::vector<run::Frame> frames;
    const auto received = link.receive(frames);
    for (const std::string& line : link.takeErrorLines())
        m_sink.message(run::kNoRank,
                       run::LogLine{"info", printableLine(link.name() + ": " + line)});
    for (const run::Frame& frame : frames) {
        handle(link, frame);
        if (m_done || link.over) return;
    }
    tellTaken(link);
    if (!received) {
        agentLost(link, received.error().message);
    } else if (!link.isOpen()) {
        agentLost(link, link.endText());
    }
}

/// An agent speaks for the ranks of its host only.
bool RunSupervisor::isOf(const AgentLink& link, RankId rank) const {
    return rank.value < m_ranks.size() &&
           m_request.launch.places.hostOf(static_cast<std::int32_t>(rank.value)) == link.host();
}

void RunSupervisor::handle(AgentLink& link, const run::Frame& frame) {
    if (frame.rank != run::kNoRank && !isOf(link, frame.rank)) {
        agentLost(link, fmt::format("it spoke for rank {}, which is not there", frame.rank.value));
        return;
    }
    if (frame.type == run::FrameType::kChunk) {
        m_sink.chunk(frame.rank, frame.payload);
        link.takenBytes += static_cast<std::int64_t>(run::kFrameHeaderBytes + frame.payload.size());
        return;
    }
    const auto message = run::decode(frame.text());
    if (message) {
        handleMessage(link, frame.rank, *message);
    } else if (frame.rank != run::kNoRank) {
        // One rank that talks nonsense must not take the others' words along.
        handleMessage(link, frame.rank,
                      run::RankFailed{.message = message.error().message, .code = "failure"});
    } else {
        agentLost(link, message.error().message);
    }
}

void RunSupervisor::handleMessage(AgentLink& link, RankId rank, const run::Message& message) {
    if (handleOwn(link, message)) return;
    noteRank(link, rank, message);
    m_sink.message(rank, message);
}

/// What an agent says of itself and its host.
bool RunSupervisor::handleOwn(AgentLink& link, const run::Message& message) {
    if (const auto* hello = std::get_if<run::AgentHello>(&message)) {
        greet(link, *hello);
    } else if (const auto* prepared = std::get_if<run::HostPrepared>(&message)) {
        if (link.askedToPrepare) link.prepared = *prepared;
    } else if (const auto* checked = std::get_if<run::PeersChecked>(&message)) {
        if (link.askedForPeers) link.checked = *checked;
    } else if (const auto* data = std::get_if<run::DataChecked>(&message)) {
        if (link.askedForData) link.data = *data;
    } else if (const auto* answer = std::get_if<run::ClockAnswer>(&message)) {
        takeTime(link, *answer);
    } else if (const auto* held = std::get_if<run::Backlog>(&message)) {
        m_sink.backlog(link.host(), *held);
    } else if (std::holds_alternative<run::AgentDone>(message)) {
        link.done = true;
        link.askLastTime();
        compareClocks();
    } else {
        return std::holds_alternative<run::Heartbeat>(message);
    }
    if (!m_launched && !m_done) advanceStart();
    return true;
}

void RunSupervisor::greet(AgentLink& link, const run::AgentHello& hello) {
    if (link.hello) return;
    if (hello.protocol == run::kProtocolVersion) {
        link.hello = hello;
        return;
    }
    agentLost(link, fmt::format("it is {}, which speaks protocol {}; this build speaks {}",
                                hello.product, hello.protocol, run::kProtocolVersion));
}

void RunSupervisor::advanceStart() {
    if (auto advanced = m_start.advance(); !advanced) {
        m_outcome.failure = advanced.error();
        m_done = true;
    } else if (m_start.ready()) {
        launchRanks();
    }
}

void RunSupervisor::launchRanks() {
    for (const AgentLink& link : m_agents) m_sink.hostReady(factsOf(link));
    // A stop that came in the same turn as the last host's answer, or from the sink, found no rank
    // to tell: it would be lost after the launch.
    if (m_outcome.failure || m_stopWanted) {
        m_outcome.stopped = m_stopWanted;
        m_done = true;
        return;
    }
    for (AgentLink& link : m_agents) {
        link.send(launchOf(link));
        link.watchClock(m_request.launch.originNs);
    }
    m_launched = true;
    m_launchedAt = Clock::now();
}

run::LaunchRequest RunSupervisor::launchOf(const AgentLink& link) const {
    run::LaunchRequest launch = m_request.launch;
    const HostRun& host = link.run();
    launch.host = link.host();
    launch.meeting = m_start.meeting(link);
    launch.originNs += link.aheadNs();
    launch.rankProgram = host.rankProgram;
    launch.segmentBytes = host.segmentBytes;
    for (const auto& [name, value] : host.environment) launch.environment[name] = value;
    if (!host.data.empty()) launch.config.data = host.data;
    return launch;
}

HostFacts RunSupervisor::factsOf(const AgentLink& link) const {
    HostFacts facts = link.hello->host;
    facts.host = link.host();
    facts.name = link.name();
    facts.clockOffsetNs = -(m_request.launch.originNs + link.aheadNs());
    facts.clockErrorNs = link.clockErrorNs();
    return facts;
}

void RunSupervisor::noteRank(const AgentLink& link, RankId rank, const run::Message& message) {
    if (const auto* failed = std::get_if<run::RankFailed>(&message)) {
        if (rank.value >= m_ranks.size()) {
            abandon({ErrorCode::kLaunch, failed->message + " on " + link.name()});
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
    } else if (const auto* started = std::get_if<run::RankStarted>(&message)) {
        m_rankWatch.started(rank, started->pid, Clock::now());
    } else if (const auto* activity = std::get_if<run::RankActivity>(&message)) {
        if (!isEnding()) m_rankWatch.note(rank, *activity);
    } else if (const auto* looked = std::get_if<run::RankLooked>(&message)) {
        if (!isEnding()) m_rankWatch.note(rank, *looked, Clock::now());
    } else if (const auto* exit = std::get_if<run::RankExited>(&message)) {
        m_rankWatch.ended(rank);
        state.exit = *exit;
        if (exit->code != 0 && !state.failed) noteFailure(rank);
    }
}

void RunSupervisor::noteFailure(RankId rank) {
    // Ranks that end because the run was ended have not failed.
    if (m_outcome.killed || m_outcome.failure) return;
    const auto now = Clock::now();
    if (!m_firstFailed) {
        m_firstFailed = rank;
        requestStop();
        m_failedAt = now;
        m_killAt = now + kGraceBeforeKill;
    } else if (waitedInVain(*m_firstFailed) && !waitedInVain(rank) &&
               now - m_failedAt < kSameCause) {
        // Losing a peer is a consequence; the lost peer is the cause, even if its end is heard
        // of a little later.
        m_firstFailed = rank;
    }
}

/// Its ranks are gone; those of other hosts cannot go on without them.
void RunSupervisor::agentLost(AgentLink& link, const std::string& how) {
    link.over = true;
    if (link.done) return finish();  // all it lacked was a last answer
    const Error lost{ErrorCode::kLaunch, fmt::format("the agent on {} was lost: {}{}", link.name(),
                                                     how, ranksOf(link))};
    if (!m_outcome.failure && !m_firstFailed) m_outcome.failure = lost;
    if (m_launched && !link.isLocal() && !m_outcome.lostHost && !m_outcome.killed) {
        m_outcome.lostHost = link.host();
        m_hostLost = lost;
    }
    if (!m_launched) m_done = true;
    finish();
    if (m_done) return;
    requestStop();
    m_killAt = Clock::now() + kGraceBeforeKill;
}

void RunSupervisor::finish() {
    m_done = m_done || std::all_of(m_agents.begin(), m_agents.end(),
                                   [](const AgentLink& link) { return link.over; });
}

void RunSupervisor::takeTime(AgentLink& link, const run::ClockAnswer& answer) {
    if (const auto update = link.take(answer)) {
        m_sink.clockCompared(update->facts);
        if (!link.done) link.send(update->correction);
    }
    if (link.done) compareClocks();
}

/// Where it is time to; and lets those agents go that have answered for the last time.
void RunSupervisor::compareClocks() {
    for (AgentLink& link : m_agents) {
        if (link.over) continue;
        if (m_launched) link.askTime();
        link.over = link.done && link.clockIsSettled();
    }
    finish();
}

void RunSupervisor::keepTime() {
    if (m_done) return;
    compareClocks();
    if (m_done) return;
    if (!m_launched && m_stopWanted) {
        m_outcome.stopped = true;
        m_done = true;
        return;
    }
    const auto now = Clock::now();
    const auto pause = now - std::exchange(m_lastTurn, now);
    for (AgentLink& link : m_agents) {
        if (link.over) continue;
        // Where we stood still (Ctrl-Z, a disk that stalls) that was no silence of the agent's.
        if (pause > kOwnPause) link.excuse(pause);
        hearNothing(link);
    }
    if (now >= m_nextHeartbeat) {
        tellAgents(run::Heartbeat{});
        m_nextHeartbeat = now + kHeartbeatInterval;
    }
    watchRanks();
    if (m_killAt && now >= *m_killAt) {
        tellAgents(run::Command{"kill"});
        m_killAt = now + kGraceBeforeKill;
    }
}

/// One that is stopped may go on, and is waited for longer.
void RunSupervisor::hearNothing(AgentLink& link) {
    using std::chrono::seconds;
    const auto silence = link.silence();
    const bool waits = link.isStopped() && !m_stopWanted;
    const std::chrono::milliseconds longer = m_limits.end;
    const auto limit = waits ? std::max(m_request.lease, longer) : m_request.lease;
    const auto inSeconds = std::chrono::ceil<seconds>(limit).count();
    if (silence > limit)
        return agentLost(link, fmt::format("nothing was heard from it for {} s{}", inSeconds,
                                           waits ? ", it is stopped" : ""));
    if (silence < kSilence) link.saidSilent = false;
    if (silence < kSilence || std::exchange(link.saidSilent, true)) return;
    m_sink.message(run::kNoRank,
                   run::LogLine{"warning", fmt::format("the agent on {} has not said a word for {} "
                                                       "s{}; it counts as lost after {} s",
                                                       link.name(), kSilence.count(),
                                                       waits ? ": it is stopped" : "", inSeconds)});
}

/// What became of the ranks of an agent that was lost.
std::string RunSupervisor::ranksOf(AgentLink& link) const {
    if (!m_launched) return {};
    if (link.isLocal()) return "; its ranks are ended";
    const auto lease = std::chrono::ceil<std::chrono::seconds>(m_request.lease);
    // Where its stream has ended, or does, it ends its ranks; one that hangs cannot.
    if (!link.isOpen())
        return fmt::format("; its ranks end with it, or after {} s without a word of ours",
                           lease.count());
    if (link.kill()) return "; it was killed there, and its ranks with it";
    return fmt::format("; it and its ranks may still be there: kill -9 {} on {} ends them",
                       link.hello ? link.hello->pid : 0, link.name());
}

/// An agent on another host keeps no more on its way than it hears of.
void RunSupervisor::tellTaken(AgentLink& link) {
    if (link.isLocal() || link.toldTaken == link.takenBytes) return;
    link.toldTaken = link.takenBytes;
    link.send(run::Taken{link.takenBytes});
}

void RunSupervisor::tellAgents(const run::Message& message) {
    for (AgentLink& link : m_agents)
        if (!link.over) link.send(message);
}

void RunSupervisor::requestStop() {
    m_stopWanted = true;
    tellAgents(run::Command{"stop"});
}

void RunSupervisor::requestCapture(const CaptureChange& change) {
    tellAgents(run::Command{"capture", change});
}

void RunSupervisor::requestKill() {
    m_stopWanted = true;
    m_outcome.killed = true;
    tellAgents(run::Command{"kill"});
    tellAgents(run::Command{"discard"});
    m_killAt = Clock::now() + kGraceBeforeKill;
}

void RunSupervisor::abandon(const Error& error) {
    if (m_outcome.failure) return;
    m_outcome.failure = error;
    requestStop();
    m_killAt = Clock::now() + kGraceBeforeKill;
}

/// All streams first, so that hosts end side by side.
void RunSupervisor::endAgents() {
    for (AgentLink& link : m_agents) link.closeStream();
    for (AgentLink& link : m_agents) link.end();
}

/// What ranks are seen to do is no longer of their own accord.
bool RunSupervisor::isEnding() const {
    return m_firstFailed && (m_heldUp || Clock::now() - m_failedAt > kSameCause);
}

/// Says which rank stands still, and ends the run for one that cannot go on.
void RunSupervisor::watchRanks() {
    if (!m_launched || m_killAt) return;
    awaitStart();
    for (const RankWatch::Standstill& each : m_rankWatch.due()) {
        if (each.busy) {
            m_sink.message(run::kNoRank, run::LogLine{"info", each.text});
            continue;
        }
        const Timestamp time{hostNow() - m_request.launch.originNs};
        m_sink.message(
            each.rank,
            run::DiagnosticRaised{{Severity::kWarning, "rank-stands-still", each.text,
                                   "Let its process go on, or stop the run.", each.rank, time, 1}});
    }
    if (const auto rank = m_rankWatch.overdue()) endFor(*rank);
}

/// An agent that is there starts its ranks at once.
void RunSupervisor::awaitStart() {
    if (Clock::now() - m_launchedAt < m_limits.endUnheard) return;
    for (std::uint32_t i = 0; i < m_ranks.size(); ++i) {
        if (m_rankWatch.isStarted(RankId{i})) continue;
        const auto host = m_request.launch.places.hostOf(static_cast<std::int32_t>(i));
        return abandon({ErrorCode::kLaunch,
                        fmt::format("the agent on {} is there, and has not started rank {} in {} s",
                                    m_agents[static_cast<std::size_t>(host)].name(), i,
                                    m_limits.endUnheard.count())});
    }
}

void RunSupervisor::endFor(RankId rank) {
    if (m_outcome.failure || m_firstFailed) return;
    m_heldUp = m_firstFailed = rank;
    m_failedAt = Clock::now();
    requestStop();
    tellAgents(run::Command{"kill"});
    m_killAt = m_failedAt + kGraceBeforeKill;
}

}  // namespace shardscope::launch
