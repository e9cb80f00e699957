#include "engine/launch/agent.h"

#include "engine/control/observer.h"
#include "engine/launch/host_facts.h"
#include "engine/launch/program/far_program.h"
#include "engine/launch/tasks/agent_terms.h"
#include "storage/model/host_clock.h"
#include "storage/model/plain_text.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

namespace shardscope::launch {
namespace {

constexpr std::chrono::milliseconds kTurn{100};
/// A rank whose socket has closed is about to be reaped.
constexpr std::chrono::milliseconds kTurnWhileEnding{5};
constexpr std::chrono::seconds kOwnPause{1};
constexpr int kLastTurns = 128;
/// Heard of more often, the file need not say so.
constexpr std::chrono::milliseconds kTouchInterval{500};
constexpr std::size_t kLongestSum = 1 << 16;

Result<FileDescriptor> makeSegment(std::int64_t size) {
    FileDescriptor segment(::memfd_create("shardscope-segment", MFD_CLOEXEC));
    if (!segment.valid() || ::ftruncate(segment.get(), size) != 0) {
        const int error = errno;
        return failure(
            ErrorCode::kLaunch,
            fmt::format("no shared memory of {} bytes for the ranks: {}{}", size,
                        std::strerror(error),
                        error == EFBIG ? "; raise the limit of file sizes (ulimit -f)" : ""));
    }
    return segment;
}

/// Where that reaches no reader, nothing is to be done.
void complain(const std::string& sentence) {
    std::fputs((printableLine("shardscope agent: " + sentence) + '\n').c_str(), stderr);
}

std::string besideThisProgram(const char* name) {
    return (std::filesystem::path(ownProgram()).parent_path() / name).string();
}

}  // namespace

Agent::Agent(FrameChannel recorder, std::string product, const AgentTimes& times,
             std::vector<std::string> sumWords, std::optional<run::TaskTerms> terms)
    : m_recorder(std::move(recorder)),
      m_events(m_recorder, times.leased),
      m_product(std::move(product)),
      m_times(times),
      m_sumWords(std::move(sumWords)),
      m_terms(std::move(terms)),
      m_reachedAt(reachedAddress()),
      m_lastHeard(Clock::now()),
      m_nextHeartbeat(Clock::now() + times.heartbeat) {}

/// From agents of this user's that hang; and leaves word of itself.
void Agent::takeOver() {
    if (m_times.stateFolder.empty()) return;
    for (const pid_t pid : endStaleAgents(m_times.stateFolder))
        complain(fmt::format("ended an agent that hung: process {}, whose recorder was gone", pid));
    auto file = AgentFile::make(
        m_times.stateFolder,
        std::chrono::duration_cast<std::chrono::seconds>(m_times.leaseBeforeTheStart));
    if (file) {
        m_file.emplace(std::move(*file));
    } else {
        complain(file.error().message);
    }
}

int Agent::run() {
    takeOver();
    m_recorder.send(run::kNoRank, run::AgentHello{run::kProtocolVersion, m_product, ::getpid(),
                                                  hostFacts(), hostNow(), m_reachedAt});
    while (!m_closing && (!m_launched || anyRunning())) {
        poll();
        takeFromRecorder();
        takeFromRanks();
        turnPreparation();
        turnSum();
        m_events.turn();
        keepTime();
        m_recorder.flush();
        if (m_program) return recordProgram();
    }
    killRanks();
    if (m_closing) return static_cast<int>(ErrorCode::kLaunch);
    // Until all is sent, or no reader is left. A recorder elsewhere asks for the time once
    // more and closes.
    bool done = false;
    const auto over = [&] {
        return done && m_recorder.pendingBytes() == 0 && (!m_times.leased || m_refused);
    };
    while (m_recorder.isOpen() && !m_closing && !over()) {
        m_events.turn();
        if (m_events.empty() && !std::exchange(done, true))
            m_recorder.send(run::kNoRank, run::AgentDone{});
        m_recorder.flush();
        poll();
        takeFromRecorder();
        keepTime();
    }
    return m_refused ? static_cast<int>(ErrorCode::kLaunch) : 0;
}

int Agent::recordProgram() {
    auto folder = makeUserFolder();
    FarPart part;
    part.product = m_product;
    part.folder = folder ? *folder : m_times.spillFolder;
    part.launch = std::move(m_program);
    part.peak = m_peak;
    part.near = !m_times.leased;
    part.detached = part.endsWithRecorder = true;
    const auto ended = FarProgram(std::move(m_recorder), std::move(part)).run();
    return ended ? 0 : static_cast<int>(ended.error().code);
}

void Agent::poll() {
    std::vector<pollfd> polls;
    m_recorder.addPolls(polls, true);
    if (m_preparation) m_preparation->addPolls(polls);
    if (m_sum && m_sum->output.valid()) polls.push_back({m_sum->output.get(), POLLIN, 0});
    const bool roomAbove = !m_events.full();
    bool ending = false;
    for (const RankProcess& rank : m_ranks) {
        if (!rank.isRunning()) continue;
        rank.addPolls(polls, roomAbove);
        ending = ending || rank.isEnding();
    }
    const auto wait = ending ? kTurnWhileEnding : kTurn;
    ::poll(polls.data(), polls.size(), static_cast<int>(wait.count()));
}

void Agent::takeFromRecorder() {
    std::vector<run::Frame> frames;
    if (auto received = m_recorder.receive(frames); !received) {
        complain(received.error().message);
    }
    if (!frames.empty()) {
        if (m_file && Clock::now() - m_lastHeard > kTouchInterval) m_file->touch();
        m_lastHeard = Clock::now();
        m_heard = true;
    }
    for (const run::Frame& frame : frames) handle(frame);
    if (!m_recorder.isOpen()) m_closing = true;
}

void Agent::handle(const run::Frame& frame) {
    const std::int64_t receivedNs = hostNow();
    const auto message = run::decode(frame.text());
    if (!message) {
        complain(message.error().message);
        m_closing = true;
    } else if (const auto* request = std::get_if<run::LaunchRequest>(&*message)) {
        if (!m_launched) launch(*request);
    } else if (const auto* program = std::get_if<run::ProgramLaunch>(&*message)) {
        // Of a recorder that is this user's own: a task starts its program by itself.
        if (!m_launched && !m_terms) m_program = *program;
    } else if (const auto* prepared = std::get_if<run::PrepareRequest>(&*message)) {
        if (!m_launched) prepare(*prepared);
    } else if (const auto* peers = std::get_if<run::PeersRequest>(&*message)) {
        findPeers(*peers);
    } else if (const auto* data = std::get_if<run::DataRequest>(&*message)) {
        sumUp(*data);
    } else if (const auto* asked = std::get_if<run::ClockAsked>(&*message)) {
        m_recorder.send(run::kNoRank, run::ClockAnswer{asked->sentNs, receivedNs, hostNow()});
    } else if (const auto* command = std::get_if<run::Command>(&*message)) {
        if (command->verb == "stop" || command->verb == "capture") tellRanks(*command);
        if (command->verb == "kill") killRanks();
        if (command->verb == "discard") m_events.discard();
    } else if (const auto* taken = std::get_if<run::Taken>(&*message)) {
        m_events.noteTaken(taken->bytes);
    } else if (std::holds_alternative<run::ClockCorrection>(*message)) {
        tellRanks(*message);
    }
}

void Agent::prepare(const run::PrepareRequest& request) {
    auto begun = HostPreparation::begin(request, m_reachedAt);
    run::HostPrepared answer;
    if (begun) {
        m_preparation.emplace(std::move(*begun));
        answer = m_preparation->answer();
    } else {
        answer.failure = begun.error().message;
    }
    m_recorder.send(run::kNoRank, answer);
}

void Agent::findPeers(const run::PeersRequest& request) {
    if (!m_preparation) return;
    // A recorder that is not what it seems looks at no network through this host.
    if (m_terms && (std::exchange(m_sawPeers, true) || !checkTerms(*m_terms, request))) {
        m_closing = true;
        return;
    }
    m_preparation->check(request);
}

void Agent::turnPreparation() {
    if (!m_preparation) return;
    m_preparation->turn();
    if (const auto checked = m_preparation->takeChecked()) m_recorder.send(run::kNoRank, *checked);
}

/// In a process of its own: it may take long.
void Agent::sumUp(const run::DataRequest& request) {
    if (m_sum) return;
    if (m_terms)
        if (auto allowed = checkTerms(*m_terms, request); !allowed)
            return m_recorder.send(run::kNoRank, run::DataChecked{{}, 0, allowed.error().message});
    std::vector<std::string> words = m_sumWords;
    words.push_back(request.path);
    auto child = ChildProcess::start(words);
    if (!child) {
        m_recorder.send(run::kNoRank, run::DataChecked{{}, 0, child.error().message});
        return;
    }
    child->input.reset();
    m_sum.emplace(std::move(*child));
}

void Agent::turnSum() {
    if (!m_sum) return;
    readAvailable(m_sum->output, m_summed, kLongestSum);
    if (m_sum->output.valid() && m_summed.size() < kLongestSum) return;
    const auto said = run::decode(m_summed);
    const auto* checked = said ? std::get_if<run::DataChecked>(&*said) : nullptr;
    m_recorder.send(run::kNoRank,
                    checked != nullptr
                        ? *checked
                        : run::DataChecked{{}, 0, "the program that sums up the data has failed"});
    m_sum.reset();
    m_summed.clear();
}

void Agent::launch(const run::LaunchRequest& request) {
    m_launched = true;
    auto started = keepToTerms(request);
    if (started) {
        setUp(request.config);
        started = startRanks(request);
    }
    m_preparation.reset();
    if (!started) {
        m_recorder.send(run::kNoRank,
                        run::RankFailed{.message = started.error().message, .code = "launch"});
        killRanks();
    }
}

Result<void> Agent::keepToTerms(const run::LaunchRequest& request) {
    if (!m_terms) return {};
    auto allowed = checkTerms(*m_terms, request);
    if (allowed) return allowed;
    m_refused = true;
    // The recorder may be a stranger's: the user hears of it here.
    complain(allowed.error().message);
    return allowed;
}

/// Slow steps are recognised by their events' neighbours as they arrive: there steps must not
/// overtake events.
void Agent::setUp(const run::RunConfig& config) {
    if (config.hostLease > 0) m_times.lease = std::chrono::seconds(config.hostLease);
    if (m_file) m_file->setLease(std::chrono::duration_cast<std::chrono::seconds>(m_times.lease));
    BacklogLimits limits;
    limits.folder = m_times.spillFolder;
    limits.memory = m_times.heldInMemory;
    const auto disk = parseSize(config.spill);
    if (!limits.folder.empty() && disk) limits.disk = disk->count;
    m_events.prepare(limits, config.captureSlow > 0);
}

std::string Agent::rankProgram(const run::LaunchRequest& request) const {
    const std::string& named = m_terms ? m_terms->rankProgram : request.rankProgram;
    return named.empty() ? besideThisProgram("shardscope-rank") : named;
}

/// With the key as ranks take it.
Result<run::MeetingPoint> Agent::meetingOf(const run::LaunchRequest& request) const {
    run::MeetingPoint meeting = request.meeting;
    if (request.places.onOneHost()) return meeting;
    const auto key = network::keyFromHex(meeting.key);
    if (!key)
        return failure(ErrorCode::kLaunch, "the recorder sent no key for the ranks' connections");
    meeting.key = network::toHex(m_recorder.unveil(*key));
    return meeting;
}

Result<void> Agent::startRanks(const run::LaunchRequest& request) {
    if (request.host < 0 || request.host >= request.places.hosts()) {
        return failure(ErrorCode::kLaunch, "the recorder asked for ranks of no host");
    }
    auto segment = makeSegment(request.segmentBytes);
    if (!segment) return failure(segment);
    m_segment = std::move(*segment);
    auto meeting = meetingOf(request);
    if (!meeting) return failure(meeting);
    const std::string program = rankProgram(request);
    run::RunConfig config = request.config;
    if (config.threads == 0) config.threads = threadsPerRank(request.places.ranksOf(request.host));
    const std::int32_t first = request.places.firstOf(request.host);
    const std::int32_t end = request.places.firstOf(request.host + 1);
    for (std::int32_t rank = first; rank < end; ++rank) {
        run::RankStart start;
        start.config = config;
        start.rank = rank;
        start.places = request.places;
        start.meeting = *meeting;
        start.originNs = request.originNs;
        start.segmentBytes = request.segmentBytes;
        if (m_preparation) start.address = m_preparation->address();
        const int meetingFd = rank == 0 && m_preparation ? m_preparation->meetingFd() : -1;
        auto process = RankProcess::launch(request, program, start, {m_segment.get(), meetingFd});
        if (!process) return failure(process, fmt::format("starting rank {}", rank));
        m_recorder.send(process->rank(), run::RankStarted{rank, process->pid()});
        m_ranks.push_back(std::move(*process));
    }
    return {};
}

void Agent::takeFromRanks() {
    for (RankProcess& rank : m_ranks) {
        if (!rank.isRunning()) continue;
        if (m_events.full())
            rank.noteHeard();
        else
            takeFromRank(rank);
        rank.channel().flush();
        if (rank.reapNow()) noteEnd(rank);
        if (rank.isOverdue(m_times.lease)) rank.kill();
    }
}

void Agent::takeFromRank(RankProcess& rank) {
    std::vector<run::Frame> frames;
    const auto received = rank.channel().receive(frames);
    if (!frames.empty()) rank.noteHeard();
    for (const run::Frame& frame : frames) m_events.send(frame);
    for (const std::string& line : rank.takeErrorLines()) {
        m_recorder.send(rank.rank(), run::LogLine{"info", line});
    }
    if (received) return;
    m_recorder.send(rank.rank(),
                    run::RankFailed{.message = "it sent something that is not a frame: " +
                                               received.error().message,
                                    .code = "failure"});
    rank.kill();
}

void Agent::noteEnd(RankProcess& rank) {
    // All it ever wrote is in the socket by now, and the end of the stream behind it. The bound
    // is for a process of its own that it left behind with the socket open.
    for (int turn = 0; turn < kLastTurns && rank.channel().isOpen(); ++turn) takeFromRank(rank);
    takeFromRank(rank);
    m_recorder.send(rank.rank(), rank.exitMessage(m_killCauses));
    rank.channel().close();
    if (!rank.failed() || m_killAt) return;
    // As they are now: soon they are ended.
    tellOfRanks();
    tellRanks(run::Command{"stop"});
    m_killAt = Clock::now() + m_times.graceAfterFailure;
}

void Agent::tellOfRanks() {
    for (const RankProcess& rank : m_ranks)
        if (rank.isRunning()) m_recorder.send(rank.rank(), rank.look());
}

/// Where the agent itself was stopped, no rank was silent.
void Agent::excuseRanks() {
    const auto now = Clock::now();
    const auto pause = now - std::exchange(m_lastTurn, now);
    if (pause > kOwnPause)
        for (RankProcess& rank : m_ranks) rank.excuse(pause);
}

void Agent::keepTime() {
    excuseRanks();
    const auto now = Clock::now();
    if (now >= m_nextHeartbeat) {
        // A recorder that has yet to read our words hears from us as it is.
        if (m_recorder.pendingBytes() == 0) {
            m_recorder.send(run::kNoRank, run::Heartbeat{});
            tellOfRanks();
        }
        m_nextHeartbeat = now + m_times.heartbeat;
    }
    const auto lease = m_heard ? m_times.lease : m_times.leaseBeforeTheStart;
    if (m_times.leased && now - m_lastHeard > lease) m_closing = true;
    if (m_killAt && now >= *m_killAt) killRanks();
}

void Agent::tellRanks(const run::Message& message) {
    for (RankProcess& rank : m_ranks) {
        if (!rank.isRunning()) continue;
        rank.channel().send(rank.rank(), message);
        rank.channel().flush();
    }
}

void Agent::killRanks() {
    for (RankProcess& rank : m_ranks) rank.kill();
}

bool Agent::anyRunning() const {
    return std::any_of(m_ranks.begin(), m_ranks.end(),
                       [](const RankProcess& rank) { return rank.isRunning(); });
}

}  // namespace shardscope::launch
