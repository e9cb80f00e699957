#include "tests/engine/launch/ssh/ssh_fixture.h"

#include "engine/launch/ssh/payload.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>

namespace shardscope::launch {
namespace {

void writeRandom(const std::string& path, std::size_t bytes) {
    std::mt19937 random(7);
    std::string text(bytes, '\0');
    for (char& each : text) each = static_cast<char>(random() & 0xff);
    std::ofstream(path, std::ios::binary) << text;
}

/// Turns of the agent's loop until `done`; false after a minute.
bool turnUntil(SshAgent& agent, const std::function<bool()>& done) {
    for (int turn = 0; turn < 6000 && !done(); ++turn) {
        std::vector<pollfd> polls;
        agent.channel().addPolls(polls, true);
        agent.addPolls(polls);
        ::poll(polls.data(), polls.size(), 10);
        agent.turn();
    }
    return done();
}

}  // namespace

void NotingObserver::progress(std::size_t host, const ConnectProgress& progress) {
    notes.push_back({host, progress});
}

bool NotingObserver::saw(std::size_t host, ConnectState state) const {
    return std::any_of(notes.begin(), notes.end(), [&](const Note& note) {
        return note.host == host && note.progress.state == state;
    });
}

void SshTest::SetUp() {
    if (const std::string lack = SshServer::missing(); !lack.empty()) GTEST_SKIP() << lack;
    std::signal(SIGPIPE, SIG_IGN);
    restart("");
}

void SshTest::restart(const std::string& configuration) {
    m_server.reset();
    m_server = std::make_unique<SshServer>(configuration);
}

Payload SshTest::payload(std::size_t libraryBytes) {
    const std::string library = m_files.file("library");
    writeRandom(library, libraryBytes);
    Payload made;
    auto program = packageOf(
        {{SHARDSCOPE_FAKE_SSH_AGENT, "bin/shardscope"}, {library, "lib/libnothing.so.1"}}, "");
    EXPECT_TRUE(program.has_value());
    if (program) made.program = *program;
    return made;
}

SshOptions SshTest::options() const {
    SshOptions made;
    made.command = {"ssh", "-F", m_server->clientConfiguration()};
    return made;
}

std::vector<SshHost> SshTest::nodes(std::size_t count) const {
    std::vector<SshHost> hosts;
    for (std::size_t i = 1; i <= count; ++i) hosts.push_back({fmt::format("node{}", i), folder()});
    return hosts;
}

HostConnection SshTest::connect(const Payload& what) {
    return std::move(connectHosts(nodes(1), options(), what, m_observer).front());
}

std::optional<Error> SshTest::failureAt(const std::string& target) {
    return connectHosts({{target, folder()}}, options(), payload(), m_observer).front().failure;
}

std::vector<std::string> SshTest::packagesThere() const {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& each : std::filesystem::directory_iterator(folder() + "/shardscope", error))
        names.push_back(each.path().filename().string());
    return names;
}

bool pumpUntil(SshAgent& agent, const std::function<bool(const run::Frame&)>& done) {
    bool isDone = false;
    turnUntil(agent, [&] {
        std::vector<run::Frame> frames;
        agent.channel().flush();
        if (!agent.channel().receive(frames)) return true;
        for (const run::Frame& frame : frames) isDone = isDone || done(frame);
        return isDone || !agent.channel().isOpen();
    });
    return isDone;
}

run::AgentHello helloOf(SshAgent& agent) {
    run::AgentHello hello;
    EXPECT_TRUE(pumpUntil(agent, [&](const run::Frame& frame) {
        const auto message = run::decode(frame.text());
        const auto* found = message ? std::get_if<run::AgentHello>(&*message) : nullptr;
        if (found != nullptr) hello = *found;
        return found != nullptr;
    })) << agent.endText();
    return hello;
}

void ask(SshAgent& agent, const std::string& what) {
    agent.channel().send(run::kNoRank, run::LogLine{"info", what});
    agent.channel().flush();
}

bool awaitEnd(SshAgent& agent) {
    pumpUntil(agent, [](const run::Frame&) { return false; });
    return turnUntil(agent, [&] { return agent.end().has_value(); });
}

bool isAlive(std::int64_t pid) {
    // One that has ended and was not reaped is not alive.
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    std::string text;
    std::getline(file, text);
    const auto name = text.rfind(") ");
    return name != std::string::npos && text[name + 2] != 'Z';
}

bool isGone(std::int64_t pid) {
    for (int turn = 0; turn < 6000 && isAlive(pid); ++turn) ::poll(nullptr, 0, 10);
    return !isAlive(pid);
}

}  // namespace shardscope::launch
