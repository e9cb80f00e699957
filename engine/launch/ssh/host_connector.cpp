#include "engine/launch/ssh/host_connector.h"

#include "engine/launch/ssh/host_checks.h"
#include "engine/launch/ssh/host_look.h"
#include "engine/launch/ssh/login_shell.h"
#include "engine/launch/ssh/payload.h"
#include "engine/launch/ssh/ssh_command.h"
#include "engine/launch/ssh/ssh_options.h"
#include "engine/launch/ssh/ssh_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

namespace shardscope::launch {
namespace {

/// A rank without arguments says how it is used and ends with 2; one that lacks a library does not
/// come so far. Loading LibTorch takes its time, so what was found is remembered, a host each: the
/// folder may be seen by several.
std::string rankCheck() {
    return "m=$f/.loads-$(uname -n); "
           "if [ -e \"$f/bin/shardscope-rank\" ] && [ \"$(cat \"$m\" 2>/dev/null)\" != \"$l\" ]; "
           "then w=$(\"$f/bin/shardscope-rank\" 2>&1 </dev/null); "
           "if [ $? -ne 2 ]; then printf '%s\\n' \"$w\" >&2; " +
           exitWith(RemoteStatus::kRankDoesNotLoad) +
           "; fi; { printf '%s\\n' \"$l\" >\"$m\"; } 2>/dev/null; fi; ";
}

/// Prints the token, and becomes the agent: frames follow. `payload` is what lies there, `libTorch`
/// as in HostLook. Where the program or a rank (tried once a host and LibTorch) cannot be run it
/// ends with a RemoteStatus before that.
std::string agentLine(const SshHost& host, const Token& token, const Payload& payload,
                      const std::string& libTorch) {
    return folderWords(host) + "f=$b/shardscope/" + shellWord(payload.program.folder) +
           "; l=" + shellWord(libTorch) + "; touch \"$f/.used\" 2>/dev/null; " + programCheck() +
           "LD_LIBRARY_PATH=$f/lib${l:+:$l}; export LD_LIBRARY_PATH; " + rankCheck() +
           token.printing() + "; exec \"$f/bin/shardscope\" " + payload.verb;
}

constexpr std::chrono::seconds kLongSilence{10};
constexpr int kMostTries = 6;
/// With which ssh itself ends when it failed.
constexpr int kStatusOfSsh = 255;
constexpr std::size_t kMostWords = 64 * 1024;

/// ns since the epoch, as `date` has it.
std::int64_t wallClock() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

/// Longer each time, and never the same for two hosts that were dropped together.
std::chrono::milliseconds pauseBefore(int tries) {
    std::random_device random;
    std::uniform_int_distribution<int> spread(50, 150);
    return std::chrono::milliseconds(spread(random) << tries);
}

}  // namespace

HostConnector::HostConnector(const SshHost& host, const SshOptions& options, const Payload& payload,
                             bool lookOnly)
    : m_host(host), m_options(options), m_payload(payload), m_lookOnly(lookOnly) {}

void HostConnector::enter(ConnectState state, std::string detail) {
    m_progress = {state, std::move(detail), {}, {}};
}

void HostConnector::fail(Error error) {
    enter(ConnectState::kFailed, error.message);
    m_connection.failure = std::move(error);
    m_deployment.reset();
    m_fetch.reset();
    m_session.reset();
    m_keyProbe.reset();
    m_master.reset();
}

void HostConnector::giveUp() {
    fail({ErrorCode::kInterrupted, fmt::format("connecting to {} was given up", m_host.target)});
}

void HostConnector::turn() {
    if (m_master) m_master->turn();
    switch (m_progress.state) {
        case ConnectState::kWaiting:
            if (Clock::now() >= m_until) m_master ? look() : connect();
            return;
        case ConnectState::kConnecting:
            m_keyProbe ? askForKey() : awaitConnection();
            return;
        case ConnectState::kLooking:
            awaitLook();
            return;
        case ConnectState::kSending:
            awaitSending();
            return;
        case ConnectState::kFetching:
            awaitFetching();
            return;
        case ConnectState::kStarting:
            awaitAgent();
            return;
        case ConnectState::kReady:
        case ConnectState::kFailed:
            return;
    }
}

void HostConnector::addPolls(std::vector<pollfd>& polls) {
    if (m_master) m_master->addPolls(polls);
    if (m_session) m_session->addPolls(polls);
    if (m_deployment) m_deployment->addPolls(polls);
    if (m_fetch) m_fetch->addPolls(polls);
    if (m_keyProbe && m_keyProbe->errors.valid())
        polls.push_back({m_keyProbe->errors.get(), POLLIN, 0});
}

void HostConnector::connect() {
    ++m_tries;
    auto master = SshMaster::start(m_options, m_host);
    if (!master) return fail(master.error());
    m_master.emplace(std::move(*master));
    m_until = Clock::now() + m_options.loginLimit;
    enter(ConnectState::kConnecting);
}

void HostConnector::awaitConnection() {
    if (m_master->isConnected()) return look();
    if (m_master->hasEnded()) {
        m_master->turn();
        return noConnection();
    }
    if (Clock::now() < m_until) return;
    fail({ErrorCode::kLaunch,
          fmt::format("logging in to {} took more than {} s; see whether it asks for something: {}",
                      m_host.target, m_options.loginLimit.count(),
                      typedCommand(m_options, m_host))});
}

void HostConnector::noConnection() {
    const std::string words = m_master->words();
    const SshFailure kind = failureOf(words);
    m_master.reset();
    if (kind == SshFailure::kDropped && m_tries < kMostTries) {
        m_until = Clock::now() + pauseBefore(m_tries);
        return enter(ConnectState::kWaiting, "its ssh server hung up; another try follows");
    }
    if (kind != SshFailure::kUnknownKey) return fail(connectError(m_options, m_host, words, ""));
    m_refusal = words;
    auto probe = ChildProcess::start(keyWords(m_options, m_host));
    if (!probe) return fail(connectError(m_options, m_host, words, ""));
    probe->input.reset();
    probe->output.reset();
    m_keyProbe.emplace(std::move(*probe));
}

void HostConnector::askForKey() {
    readAvailable(m_keyProbe->errors, m_keyWords, kMostWords);
    const bool known = !fingerprintIn(m_keyWords).empty() && m_keyWords.ends_with('\n');
    if (!known && m_keyProbe->errors.valid() && Clock::now() < m_until) return;
    const std::string key = fingerprintIn(m_keyWords);
    m_connection.unknownKey = key.substr(std::min(key.size(), key.find(' ') + 1));
    fail(connectError(m_options, m_host, m_refusal, key));
}

bool HostConnector::keepsAnswering(SshSession& session) {
    if (session.isFlooding()) {
        fail({ErrorCode::kLaunch,
              fmt::format("the login shell on {} prints without end; make its start-up files "
                          "quiet for sessions without a terminal: {}",
                          m_host.target, typedCommand(m_options, m_host, "true"))});
        return false;
    }
    if (session.silence() <= m_options.answerLimit) {
        saySilence(session);
        return true;
    }
    fail({ErrorCode::kLaunch,
          fmt::format("nothing came from {} for {} s; see whether its login shell waits for "
                      "something: {}",
                      m_host.target, m_options.answerLimit.count(),
                      typedCommand(m_options, m_host, "true"))});
    return false;
}

/// What is waited for, once that takes long; of what has no other detail.
void HostConnector::saySilence(const SshSession& session) {
    if (m_progress.state != ConnectState::kLooking && m_progress.state != ConnectState::kStarting)
        return;
    const auto worthWords = std::min<std::chrono::milliseconds>(
        kLongSilence, std::chrono::milliseconds(m_options.answerLimit) / 2);
    m_progress.detail =
        session.silence() < worthWords
            ? std::string()
            : fmt::format(
                  "nothing has come for {:g} s: its login shell, or a disk there, is "
                  "waited for, {} s at most",
                  std::chrono::duration<double>(worthWords).count(), m_options.answerLimit.count());
}

/// It looked at its clock after it was asked, and before we read of it.
void HostConnector::setOffset(HostLook& found) const {
    found.clockError = (*m_clockHeard - m_lookAsked) / 2;
    found.clockAhead = *found.clockNs - m_lookAsked - found.clockError;
}

void HostConnector::look() {
    m_lookAsked = wallClock();
    m_clockHeard.reset();
    const Token token;
    auto session = SshSession::start(
        m_options, m_host, *m_master, token,
        lookLine(m_host, token, m_payload.program.folder, data() != nullptr ? data()->folder : ""));
    if (!session) return fail(session.error());
    m_session.emplace(std::move(*session));
    m_connection.look = {};
    enter(ConnectState::kLooking);
}

void HostConnector::awaitLook() {
    m_session->turn(true);
    HostLook& found = m_connection.look;
    if (!found.whole) {
        if (m_session->output().find("clock=") != std::string::npos && !m_clockHeard)
            m_clockHeard = wallClock();
        found = parseLook(m_session->output());
        if (found.clockNs && m_clockHeard) setOffset(found);
        found.noisy = m_session->noiseBytes() > 0;
        // The session goes on as the agent's: the way there is not gone twice.
        if (found.whole && isAllThere()) return startAgent();
        if (found.whole) m_session->child().input.reset();
    }
    if (!m_session->hasEnded()) {
        keepsAnswering(*m_session);
        return;
    }
    if (found.whole) return afterLook();
    if (waitsForASession()) return;
    m_master->turn();
    fail({ErrorCode::kLaunch,
          fmt::format("{} let us in and then did not run /bin/sh to its end: it {}; try: {}",
                      m_host.target, m_session->endText(),
                      typedCommand(m_options, m_host, "true"))});
}

bool HostConnector::isAllThere() const {
    const HostLook& found = m_connection.look;
    return !m_lookOnly && found.programThere && (data() == nullptr || found.dataThere) &&
           libTorchWay(m_options, found, m_payload) == LibTorchWay::kThere &&
           checkHost(m_options, m_host, found, m_payload);
}

void HostConnector::afterLook() {
    m_session.reset();
    HostLook& found = m_connection.look;
    if (m_lookOnly) {
        m_master.reset();
        return enter(ConnectState::kReady);
    }
    const LibTorchWay way = libTorchWay(m_options, found, m_payload);
    if (auto able = checkHost(m_options, m_host, found, m_payload); !able)
        return fail(able.error());
    if (way == LibTorchWay::kNone || (way != LibTorchWay::kThere && m_libTorchTried))
        return fail(noLibTorch(m_options, m_host, found, m_payload));
    m_sending = !found.programThere         ? &m_payload.program
                : way == LibTorchWay::kSent ? &*m_payload.libTorch
                : !found.dataThere          ? data()
                                            : nullptr;
    if (m_sending != nullptr) return send();
    way == LibTorchWay::kFetched ? fetch() : startAgent();
}

const Package* HostConnector::data() const {
    return m_payload.data && m_host.takesData ? &*m_payload.data : nullptr;
}

std::string HostConnector::whatIsSent(PackageKind kind) const {
    if (kind == PackageKind::kLibTorch) return "LibTorch";
    if (kind == PackageKind::kProgram)
        return m_connection.look.programDamaged
                   ? "the program again: what is there is damaged or incomplete"
                   : "the program";
    if (!m_connection.look.dataChanged) return "the data";
    return "the data again: it was changed there, which is kept in " + m_sending->folder +
           kChangedFolder;
}

void HostConnector::send() {
    const PackageKind kind = m_sending == &m_payload.program ? PackageKind::kProgram
                             : m_sending == data()           ? PackageKind::kData
                                                             : PackageKind::kLibTorch;
    auto deployment = Deployment::start(m_options, m_host, *m_master, *m_sending, kind);
    if (!deployment) return fail(deployment.error());
    m_deployment.emplace(std::move(*deployment));
    enter(ConnectState::kSending, whatIsSent(kind));
    m_progress.all = m_deployment->size();
}

void HostConnector::awaitSending() {
    m_deployment->turn();
    m_progress.sent = m_deployment->sent();
    if (!m_deployment->isDone()) {
        keepsAnswering(m_deployment->session());
        return;
    }
    const auto outcome = m_deployment->outcome(m_host, m_connection.look.folder);
    if (!outcome) return fail(outcome.error());
    m_deployment.reset();
    if (m_sending == &m_payload.program) {
        m_connection.look.programThere = true;
        m_connection.look.programDamaged = false;
    } else if (m_sending == data()) {
        m_connection.look.dataThere = true;
    } else {
        m_libTorchTried = true;
        return look();  // where its folders are
    }
    afterLook();
}

void HostConnector::fetch() {
    auto fetch = LibTorchFetch::start(m_options, m_host, *m_master, m_payload,
                                      wantsCuda(m_options, m_connection.look));
    if (!fetch) return fail(fetch.error());
    m_fetch.emplace(std::move(*fetch));
    enter(ConnectState::kFetching, "LibTorch");
}

void HostConnector::awaitFetching() {
    m_fetch->turn();
    if (!m_fetch->doing().empty()) m_progress.detail = "LibTorch: " + m_fetch->doing();
    m_progress.sent = m_fetch->taken();
    if (!m_fetch->isDone()) {
        keepsAnswering(m_fetch->session());
        return;
    }
    if (const std::string why = m_fetch->whyNot(); !why.empty())
        return fail(noLibTorch(m_options, m_host, m_connection.look, m_payload, why));
    m_fetch.reset();
    m_libTorchTried = true;
    look();  // where its folders are
}

void HostConnector::startAgent() {
    const Token token;
    const std::string line = agentLine(m_host, token, m_payload, m_connection.look.libTorch);
    enter(ConnectState::kStarting);
    if (m_session) return m_session->proceed(token, line);
    auto session = SshSession::start(m_options, m_host, *m_master, token, line);
    if (!session) return fail(session.error());
    m_session.emplace(std::move(*session));
}

void HostConnector::awaitAgent() {
    m_session->turn(false);
    if (m_session->hasBegun()) {
        m_connection.agent.emplace(std::move(*m_master), std::move(m_session->child()), m_options,
                                   m_host);
        m_session.reset();
        m_master.reset();
        return enter(ConnectState::kReady);
    }
    if (m_session->hasEnded()) {
        if (waitsForASession()) return;
        return fail(
            remoteError(m_host, m_connection.look.folder, *m_session, "starting the agent on"));
    }
    keepsAnswering(*m_session);
}

/// A server that allows one session at a time may not have ended the one before yet.
bool HostConnector::waitsForASession() {
    const bool refused =
        m_session->endedWith(kStatusOfSsh) && failureOf(m_session->words()) == SshFailure::kDropped;
    if (!refused || m_master->hasEnded() || m_tries >= kMostTries) return false;
    m_session.reset();
    m_until = Clock::now() + pauseBefore(++m_tries);
    enter(ConnectState::kWaiting,
          "its ssh server allows no further session yet; another try follows");
    return true;
}

}  // namespace shardscope::launch
