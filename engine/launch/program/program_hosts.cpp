#include "engine/launch/program/program_hosts.h"

#include "engine/launch/host_facts.h"
#include "storage/model/host_clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace shardscope::launch {
namespace {

constexpr std::chrono::milliseconds kTurn{100};
/// torchrun's own.
constexpr const char* kMeetingPort = "29500";
constexpr std::chrono::seconds kOwnPause{2}, kLookInterval{1};
/// For greetings of parts that are connected, and the first comparison of clocks.
constexpr std::chrono::seconds kStartPatience{60};
/// Clocks of one boot differ by more only in a time namespace of its own.
constexpr std::int64_t kSameClockNs = 60'000'000'000;

bool sameClock(const run::AgentHello& a, const run::AgentHello& b) {
    return !a.host.bootId.empty() && a.host.bootId == b.host.bootId &&
           std::abs(a.nowNs - b.nowNs) < kSameClockNs;
}

bool isWell(const run::ProgramEnded& ended) {
    return ended.notStarted.empty() && ended.code == 0;
}

}  // namespace

ProgramHosts::ProgramHosts(ProgramHostsRequest request, RunSink& sink)
    : m_request(std::move(request)), m_sink(sink) {
    for (HostRun& each : m_request.parts)
        m_parts.push_back({AgentLink(static_cast<std::int32_t>(m_parts.size()), std::move(each))});
}

ProgramHosts::~ProgramHosts() {
    for (Part& each : m_parts) each.link.closeStream();
    for (Part& each : m_parts) each.link.end();
}

void ProgramHosts::watch(int fd, std::function<bool()> readable) {
    m_watches.push_back({fd, std::move(readable)});
}

ProgramOutcome ProgramHosts::run() {
    m_done = !start();
    while (!m_done) {
        poll();
        for (Part& each : m_parts)
            if (!each.link.over && !m_done) takeFrom(each);
        m_sink.tick();
        if (!m_done) keepTime();
        for (Part& each : m_parts) each.link.flush();
    }
    for (Part& each : m_parts) each.link.closeStream();
    conclude();
    return std::move(m_outcome);
}

bool ProgramHosts::start() {
    for (Part& each : m_parts) {
        if (auto started = each.link.start(); !started) {
            fail(started.error());
            return false;
        }
    }
    return true;
}

void ProgramHosts::poll() {
    std::vector<pollfd> polls;
    for (const Watch& each : m_watches) polls.push_back({each.fd, POLLIN, 0});
    for (const Part& each : m_parts)
        if (!each.link.over) each.link.addPolls(polls);
    if (::poll(polls.data(), polls.size(), static_cast<int>(kTurn.count())) <= 0) return;
    const std::size_t count = m_watches.size();
    for (std::size_t i = 0; i < count; ++i)
        if (polls[i].revents != 0 && !m_watches[i].readable()) m_watches[i].fd = -1;
    std::erase_if(m_watches, [](const Watch& each) { return each.fd < 0; });
}

void ProgramHosts::takeFrom(Part& part) {
    std::vector<run::Frame> frames;
    const auto received = part.link.receive(frames);
    part.speaks = false;
    for (auto lines = part.link.takeErrorLines(); !lines.empty();
         lines = part.link.takeErrorLines()) {
        part.speaks = true;
        for (const std::string& line : lines)
            if (m_request.said) m_request.said(nameOf(part), line);
    }
    for (const run::Frame& frame : frames) {
        handle(part, frame);
        if (m_done || part.link.over) return;
    }
    if (part.link.toldTaken != part.link.takenBytes) {
        part.link.toldTaken = part.link.takenBytes;
        part.link.send(run::Taken{part.link.takenBytes});
    }
    if (!received)
        lost(part, received.error().message);
    else if (!part.link.isOpen())
        lost(part, part.link.endText());
}

void ProgramHosts::handle(Part& part, const run::Frame& frame) {
    part.link.takenBytes +=
        static_cast<std::int64_t>(run::kFrameHeaderBytes + frame.payload.size());
    if (frame.type == run::FrameType::kChunk) {
        if (owns(part, frame.rank)) m_sink.chunk(frame.rank, frame.payload);
        return;
    }
    const auto message = run::decode(frame.text());
    if (!message)
        lost(part, message.error().message);
    else if (frame.rank == run::kNoRank)
        handleOwn(part, *message);
    else if (owns(part, frame.rank))
        handleRank(part, frame.rank, *message);
}

/// The first that speaks for a rank has it; a second one is said once.
bool ProgramHosts::owns(Part& part, RankId rank) {
    if (rank.value >= static_cast<std::uint32_t>(kMostRanks) || part.host < 0) return false;
    const auto [place, isNew] = m_owners.emplace(rank, &part);
    if (isNew) m_sink.rankIsOn(rank, part.host);
    if (place->second == &part) return true;
    if (!std::exchange(part.saidTaken, true))
        say(Severity::kWarning, "rank-taken",
            fmt::format("what {} says of rank {} is left out: that rank is of {}", nameOf(part),
                        rank.value, nameOf(*place->second)),
            "Give the processes of all parts ranks of one job (RANK and WORLD_SIZE; with torchrun "
            "--nnodes and --node-rank or --rdzv-endpoint).",
            rank);
    return false;
}

void ProgramHosts::handleOwn(Part& part, const run::Message& message) {
    if (const auto* hello = std::get_if<run::AgentHello>(&message)) {
        greet(part, *hello);
    } else if (const auto* answer = std::get_if<run::ClockAnswer>(&message)) {
        takeTime(part, *answer);
    } else if (const auto* seen = std::get_if<run::ProcessesSeen>(&message)) {
        for (ProcessFacts each : seen->processes) {
            each.host = part.host;
            part.processes.push_back(std::move(each));
        }
    } else if (const auto* ended = std::get_if<run::ProgramEnded>(&message)) {
        part.ended = *ended;
        if (!ended->notStarted.empty())
            say(Severity::kProblem, "program-not-started",
                fmt::format("{}: {}", nameOf(part), ended->notStarted), "");
    } else if (std::holds_alternative<run::AgentDone>(message)) {
        part.link.done = true;
        if (part.keepsTime) part.link.askLastTime();
        compareClocks();
    } else if (const auto* held = std::get_if<run::Backlog>(&message)) {
        m_sink.backlog(part.host, *held);
    } else if (const auto* command = std::get_if<run::Command>(&message)) {
        if (command->verb == "keep") m_sink.keep();
    } else if (std::holds_alternative<run::DiagnosticRaised>(message) ||
               std::holds_alternative<run::LogLine>(message)) {
        m_sink.message(run::kNoRank, message);
    }
}

void ProgramHosts::handleRank(Part& part, RankId rank, const run::Message& message) {
    if (const auto* open = std::get_if<run::CollectiveOpen>(&message)) {
        m_stalls.note(rank,
                      {open->group, static_cast<std::uint64_t>(open->issued),
                       static_cast<std::uint64_t>(open->sequence), open->operation, open->openNs});
        return;
    }
    if (const auto* reported = std::get_if<run::FactsReported>(&message)) {
        constexpr std::string_view kGroup = "group:";
        for (const FactRow& each : reported->facts)
            if (each.name.starts_with(kGroup))
                m_stalls.nameGroup(each.name.substr(kGroup.size()), each.value);
    } else if (std::holds_alternative<run::RankStarted>(message)) {
        m_exits.erase(rank);
    } else if (std::holds_alternative<run::RankExited>(message)) {
        m_exits[rank] = fmt::format("; rank {} on {} has ended", rank.value, nameOf(part));
    } else if (std::holds_alternative<run::MetricReported>(message)) {
        // One word for the run: that of its lowest rank.
        if (m_owners.begin()->first != rank) return;
    } else if (std::holds_alternative<run::RankFailed>(message)) {
        return;
    }
    m_sink.message(rank, message);
}

void ProgramHosts::greet(Part& part, const run::AgentHello& hello) {
    if (part.link.hello) return;
    if (hello.protocol != run::kProtocolVersion)
        return lost(part, fmt::format("it is {}, which speaks protocol {}; this build speaks {}",
                                      hello.product, hello.protocol, run::kProtocolVersion));
    part.link.hello = hello;
    const auto same = std::find_if(m_parts.begin(), m_parts.end(), [&](const Part& each) {
        return m_request.tasks && each.host >= 0 && sameClock(*each.link.hello, hello) &&
               each.link.hello->host.name == hello.host.name;
    });
    if (same != m_parts.end()) {
        part.host = same->host;
        return;
    }
    part.host = m_hosts++;
    run::AgentHello own;
    own.host = hostFacts();
    own.nowNs = hostNow();
    part.keepsTime = !sameClock(own, hello);
    if (part.keepsTime) part.link.askTime();
}

/// The part whose clock stands for those of its host.
const ProgramHosts::Part& ProgramHosts::clockOf(const Part& part) const {
    const auto keeper = std::find_if(m_parts.begin(), m_parts.end(), [&](const Part& each) {
        return each.host == part.host && each.keepsTime;
    });
    return keeper == m_parts.end() ? part : *keeper;
}

void ProgramHosts::takeTime(Part& part, const run::ClockAnswer& answer) {
    if (!part.keepsTime) return;
    if (const auto update = part.link.take(answer)) {
        ClockFacts facts = update->facts;
        facts.host = part.host;
        m_sink.clockCompared(facts);
        for (Part& each : m_parts)
            if (each.host == part.host && !each.link.done) each.link.send(update->correction);
    }
    if (part.link.done) compareClocks();
}

/// Where it is time to; and lets those parts go that have answered for the last time.
void ProgramHosts::compareClocks() {
    for (Part& each : m_parts) {
        if (each.link.over) continue;
        if (each.keepsTime && each.link.hello) each.link.askTime();
        const bool settled = !each.keepsTime || each.link.clockIsSettled();
        if (!each.link.done || !settled || each.speaks) continue;
        each.link.over = true;
        each.link.closeStream();
    }
    m_done = m_done || std::all_of(m_parts.begin(), m_parts.end(),
                                   [](const Part& each) { return each.link.over; });
}

/// For sentences: "task 1 on node2", or the host's name.
std::string ProgramHosts::nameOf(const Part& part) const {
    if (!m_request.tasks) return part.link.name();
    const std::string host = part.link.hello ? " on " + part.link.hello->host.name : "";
    return fmt::format("task {}{}", part.link.host(), host);
}

HostFacts ProgramHosts::factsOf(const Part& part) const {
    const Part& clock = clockOf(part);
    const std::int64_t aheadNs = clock.keepsTime ? clock.link.aheadNs() : 0;
    HostFacts facts = part.link.hello->host;
    facts.host = part.host;
    if (!m_request.tasks) facts.name = part.link.name();
    facts.clockOffsetNs = -(m_request.launch.originNs + aheadNs);
    facts.clockErrorNs = clock.keepsTime ? clock.link.clockErrorNs() : 0;
    return facts;
}

/// Which of several hosts it is, as scripts and torchrun (PET_*) read it.
void ProgramHosts::addPlace(const Part& part, std::map<std::string, std::string>& variables) const {
    const AgentLink& first = m_parts.front().link;
    const std::string address =
        first.hello->reachedAt.empty() ? first.name() : first.hello->reachedAt;
    const std::string number = std::to_string(part.link.host());
    const std::string count = std::to_string(m_parts.size());
    for (const auto& [name, value] : {std::pair("NNODES", count),
                                      {"NODE_RANK", number},
                                      {"MASTER_ADDR", address},
                                      {"MASTER_PORT", kMeetingPort}}) {
        variables.try_emplace(name, value);
        variables.try_emplace(std::string("PET_") + name, value);
    }
}

void ProgramHosts::launchAll() {
    std::set<std::int32_t> said;
    for (const Part& each : m_parts)
        if (said.insert(each.host).second) m_sink.hostReady(factsOf(each));
    for (Part& each : m_parts) {
        run::ProgramLaunch launch = m_request.launch;
        const Part& clock = clockOf(each);
        launch.originNs += clock.keepsTime ? clock.link.aheadNs() : 0;
        launch.part = each.link.host();
        for (const auto& [name, value] : each.link.run().environment)
            launch.environment.try_emplace(name, value);
        if (!m_request.tasks && m_parts.size() > 1) addPlace(each, launch.environment);
        each.link.send(launch);
        if (each.keepsTime) each.link.watchClock(m_request.launch.originNs);
    }
    m_launched = true;
}

void ProgramHosts::lost(Part& part, const std::string& how) {
    part.link.over = true;
    part.link.closeStream();
    const std::string text = fmt::format("{} was lost: {}", nameOf(part), how);
    if (!m_launched) return fail({ErrorCode::kLaunch, text + "; nothing was started"});
    if (!part.ended && !m_killAsked) {
        if (!m_outcome.run.failure) m_outcome.run.failure = Error{ErrorCode::kLaunch, text};
        say(Severity::kProblem, "host-lost",
            text + "; what its part of the program does after that is not recorded",
            "See what became of it there.");
    }
    compareClocks();
}

void ProgramHosts::fail(const Error& error) {
    m_outcome.notStarted = error;
    m_done = true;
}

void ProgramHosts::keepTime() {
    compareClocks();
    if (m_done) return;
    const auto time = Clock::now();
    const auto pause = time - std::exchange(m_lastTurn, time);
    if (!m_launched) {
        if (m_stopAsked) return fail({ErrorCode::kInterrupted, "interrupted; nothing was started"});
        const bool ready = std::all_of(m_parts.begin(), m_parts.end(), [](const Part& each) {
            return each.host >= 0 && (!each.keepsTime || each.link.knowsTime());
        });
        if (ready) return launchAll();
        for (Part& each : m_parts)
            if (time - m_startedAt > kStartPatience && each.host < 0)
                return lost(each, fmt::format("it is connected, and said nothing in {} s",
                                              kStartPatience.count()));
    }
    for (Part& each : m_parts) {
        if (each.link.over) continue;
        if (pause > kOwnPause) each.link.excuse(pause);
        if (!each.link.isLocal() && each.host >= 0 && each.link.silence() > kLease)
            lost(each, fmt::format("nothing was heard from it for {} s", kLease.count()));
    }
    if (time >= m_nextHeartbeat) {
        tellParts(run::Heartbeat{});
        m_nextHeartbeat = time + kHeartbeatInterval;
    }
    if (time >= m_nextLook) lookForStalls();
}

void ProgramHosts::lookForStalls() {
    m_nextLook = Clock::now() + kLookInterval;
    for (const Stall& stall : m_stalls.look({m_request.stall.count()})) {
        std::string states;
        for (const RankId each : stall.missing) {
            const auto exit = m_exits.find(each);
            const auto owner = m_owners.find(each);
            if (exit != m_exits.end())
                states += exit->second;
            else if (owner != m_owners.end())
                states += fmt::format("; rank {} is on {}", each.value, nameOf(*owner->second));
        }
        m_sink.message(stall.about(), run::DiagnosticRaised{stallDiagnostic(stall, states, now())});
        m_sink.keep();
    }
}

void ProgramHosts::tellParts(const run::Message& message) {
    for (Part& each : m_parts)
        if (!each.link.over) each.link.send(message);
}

void ProgramHosts::requestStop() {
    m_stopAsked = true;
    tellParts(run::Command{"stop"});
}

void ProgramHosts::requestKill() {
    m_stopAsked = m_killAsked = true;
    tellParts(run::Command{"kill"});
}

void ProgramHosts::requestCapture(const CaptureChange& change) {
    tellParts(run::Command{"capture", change});
}

/// The parts go on; nothing more is recorded.
void ProgramHosts::abandon(const Error&) {
    m_done = true;
}

void ProgramHosts::say(Severity severity, const std::string& code, const std::string& text,
                       const std::string& remedy, std::optional<RankId> rank) {
    m_sink.message(rank.value_or(run::kNoRank),
                   run::DiagnosticRaised{{severity, code, text, remedy, rank, now(), 1}});
}

Timestamp ProgramHosts::now() const {
    return Timestamp{hostNow() - m_request.launch.originNs};
}

void ProgramHosts::conclude() {
    m_outcome.run.stopped = m_stopAsked && !m_killAsked;
    m_outcome.run.killed = m_killAsked;
    if (m_outcome.notStarted) return;
    m_outcome.parts = static_cast<std::int32_t>(m_parts.size());
    const Part* worst = nullptr;
    for (Part& each : m_parts) {
        std::move(each.processes.begin(), each.processes.end(),
                  std::back_inserter(m_outcome.processes));
        if (!each.ended) continue;
        m_outcome.cpuNs += each.ended->cpuNs;
        m_outcome.ranks = std::max(m_outcome.ranks, each.ended->ranks);
        if (worst == nullptr || (isWell(*worst->ended) && !isWell(*each.ended))) worst = &each;
        if (!m_owners.empty() && m_owners.begin()->second == &each)
            m_outcome.facts = each.ended->facts;
    }
    if (worst != nullptr) {
        m_outcome.end.code = worst->ended->code;
        m_outcome.end.signal = worst->ended->signal;
    }
    constexpr std::int32_t kUnknownEnd = 1;
    if (!m_outcome.end.code && !m_outcome.end.signal) m_outcome.end.code = kUnknownEnd;
}

}  // namespace shardscope::launch
