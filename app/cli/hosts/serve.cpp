// `shardscope serve`: answers who reads a recording from afar. Not for people: it speaks frames on
// its standard input and output (storage/recording/remote).
#include "storage/recording/remote/serve.h"

#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/hosts/ssh_hosts.h"
#include "app/cli/options.h"
#include "engine/launch/process.h"
#include "engine/launch/ssh/connect_hosts.h"
#include "storage/recording/file/writer_lock.h"
#include "storage/recording/remote/calls.h"
#include "storage/recording/remote/frames.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

namespace shardscope::cli {
namespace {

using launch::ConnectState;
using storage::remote::FrameKind;

/// A failure means that the reader has gone, which does not matter.
void say(FrameKind kind, const storage::remote::Said& said) {
    columns::wire::Writer out;
    out.put(said);
    const auto frame = storage::remote::encodeFrame(kind, 0, out.take());
    static_cast<void>(
        print({reinterpret_cast<const char*>(frame.data()), frame.size()}));  // bytes as they are
}

std::string sentenceOf(const std::string& host, const launch::ConnectProgress& now) {
    switch (now.state) {
        case ConnectState::kSending:
            return fmt::format("sending {} to {}: {:.1f} of {:.1f} MB", now.detail, host,
                               static_cast<double>(now.sent.count) / 1e6,
                               static_cast<double>(now.all.count) / 1e6);
        case ConnectState::kWaiting:
            return now.detail.empty() ? std::string() : host + ": " + now.detail;
        case ConnectState::kConnecting:
            return "connecting to " + host;
        case ConnectState::kLooking:
            return "looking at " + host;
        case ConnectState::kStarting:
            return "starting on " + host;
        default:
            return {};
    }
}

class ConnectReporter final : public launch::ConnectObserver {
public:
    explicit ConnectReporter(std::string host) : m_host(std::move(host)) {}

    void progress(std::size_t, const launch::ConnectProgress& now) override {
        if (const std::string text = sentenceOf(m_host, now); !text.empty())
            say(FrameKind::kNotice, {0, text});
    }
    /// No request comes before it is connected: the only event is the end.
    bool goOn() override {
        pollfd reader{STDIN_FILENO, POLLRDHUP, 0};
        ::poll(&reader, 1, 0);
        return (reader.revents & (POLLHUP | POLLRDHUP | POLLERR)) == 0;
    }

private:
    std::string m_host;
};

/// Bytes on their way from one descriptor to another.
class Passage {
public:
    Passage(int from, int to) : m_from(from), m_to(to) {}

    void addPolls(std::vector<pollfd>& polls) const {
        if (m_pending.empty())
            polls.push_back({m_from, POLLIN, 0});
        else
            polls.push_back({m_to, POLLOUT, 0});
    }
    /// False: one of both ends is closed.
    bool turn() {
        if (m_pending.empty() && !read()) return false;
        while (!m_pending.empty()) {
            const ssize_t count = ::write(m_to, m_pending.data(), m_pending.size());
            if (count < 0) return errno == EAGAIN || errno == EINTR;
            m_pending.erase(0, static_cast<std::size_t>(count));
        }
        return true;
    }

private:
    bool read() {
        std::array<char, 128 * 1024> bytes;
        const ssize_t count = ::read(m_from, bytes.data(), bytes.size());
        if (count > 0) m_pending.assign(bytes.data(), static_cast<std::size_t>(count));
        return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
    }

    int m_from;
    int m_to;
    std::string m_pending;
};

void makeNonBlocking(int fd) {
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/// True: it was the reader here that went.
bool carry(launch::SshAgent& agent, std::string& words) {
    const auto [output, input] = agent.channel().release();
    makeNonBlocking(STDIN_FILENO);
    makeNonBlocking(STDOUT_FILENO);
    Passage there(STDIN_FILENO, input.get());
    Passage back(output.get(), STDOUT_FILENO);
    constexpr std::size_t kMostWords = 64 * 1024;
    while (true) {
        std::vector<pollfd> polls;
        there.addPolls(polls);
        back.addPolls(polls);
        // Read to its end, so that a full pipe blocks no process from ending.
        if (agent.errors().valid()) polls.push_back({agent.errors().get(), POLLIN, 0});
        agent.addPolls(polls);
        ::poll(polls.data(), polls.size(), -1);
        agent.turn();
        launch::readAvailable(agent.errors(), words, kMostWords);
        words.erase(0, words.size() - std::min(words.size(), kMostWords / 2));
        if (!back.turn()) return false;
        if (!there.turn()) return true;
    }
}

int refuse(const Error& error) {
    say(FrameKind::kFailure, {static_cast<std::int32_t>(error.code), error.message});
    return exitStatus(error);
}

/// Speaks on standard input and output (storage/recording/remote): how far it is, why it cannot
/// connect, and from then on what the host says. Ends when standard input does, or the host goes,
/// and leaves nothing there. Exit status: 0, 4 the host cannot be had or was lost.
int serveFrom(const std::string& target, const std::string& sshCommand) {
    std::signal(SIGPIPE, SIG_IGN);
    const std::string folder = std::filesystem::path(launch::ownProgram()).parent_path().string();
    const auto payload = launch::findServingPayload(folder);
    if (!payload) return refuse(payload.error());
    ConnectReporter observer(target);
    auto connections =
        launch::connectHosts({{target, {}}}, sshOptions(sshCommand), *payload, observer);
    launch::HostConnection& host = connections.front();
    if (host.failure) return refuse(*host.failure);
    std::string words;
    if (carry(*host.agent, words)) return 0;
    const std::string last = launch::lastLineOf(words);
    tellError(fmt::format("{}{}", host.agent->endText(), last.empty() ? "" : " (" + last + ")"));
    return static_cast<int>(ErrorCode::kLaunch);
}

struct ServeArguments {
    bool stdio = false;
    std::string at;
    std::string sshCommand;
};

/// Later answers are not read.
constexpr unsigned kSecondsAfterHangUp = 5;

int serveHere() {
    // A reader that has gone shows as an error of write, not as our death.
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGHUP, SIG_IGN);
    storage::remote::ServeOptions options;
    options.onHangUp = [] { ::alarm(kSecondsAfterHangUp); };
    options.isBeingWritten = storage::isBeingWritten;
    const auto served = storage::remote::serve(STDIN_FILENO, STDOUT_FILENO, options);
    if (served) return 0;
    tellError(served.error().message);
    return exitStatus(served.error());
}

int run(const ServeArguments& arguments) {
    if (!arguments.at.empty()) return serveFrom(arguments.at, arguments.sshCommand);
    if (arguments.stdio) return serveHere();
    tellError(
        "serve takes --stdio, or --at HOST; people open ssh://HOST/PATH with report, info, "
        "query, export or shardscope-desktop");
    return static_cast<int>(ErrorCode::kUsage);
}

}  // namespace

Command addServe(CLI::App& root) {
    CLI::App* app = addVerb(root, "serve", "serve recordings to readers (internal)");
    hide(*app);
    const auto arguments = std::make_shared<ServeArguments>();
    const Option stdio = addFlag(*app, "--stdio", arguments->stdio,
                                 "answer on standard input and output, of files of this machine");
    addOption(*app, "--at", arguments->at, "the same of another host, through ssh")
        .takes("[USER@]HOST")
        .excludes(stdio);
    addSshCommand(*app, arguments->sshCommand);
    return {app, [arguments] { return run(*arguments); }};
}

}  // namespace shardscope::cli
