#include "storage/recording/remote/remote_session.h"

#include "storage/columns/arguments.h"
#include "storage/model/plain_text.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

extern char** environ;  // NOLINT(readability-redundant-declaration): glibc hides it

namespace shardscope::storage::remote {
namespace {

/// How often it looks whether its answer is still wanted.
constexpr std::chrono::milliseconds kTurn{20};
/// Of one answer before it is read.
constexpr std::size_t kMostAnswer = std::size_t{1} << 30;
constexpr std::size_t kLeastBudget = std::size_t{256} << 20;
constexpr std::size_t kMostBudget = std::size_t{8} << 30;
constexpr std::size_t kBudgetOfAByte = 256;

std::optional<Said> saidIn(const Frame& frame) {
    Said said;
    columns::wire::Reader in(frame.payload, 2 * kMostPayload);
    in.get(said);
    if (!in.isWhole()) return std::nullopt;
    // It comes onto a terminal.
    said.message = printable(std::move(said.message));
    return said;
}

Error errorOf(const Said& said) {
    switch (static_cast<ErrorCode>(said.code)) {
        case ErrorCode::kUsage:
        case ErrorCode::kUnreadable:
        case ErrorCode::kLaunch:
        case ErrorCode::kRank:
        case ErrorCode::kInterrupted:
        case ErrorCode::kCancelled:
            return {static_cast<ErrorCode>(said.code), said.message};
        default:
            return {ErrorCode::kFailure, said.message};
    }
}

/// It ends ssh and what it started there before itself.
constexpr std::chrono::milliseconds kGrace{3'000};

class Child final : public Carrier {
public:
    Child(pid_t pid, int errors) : m_pid(pid), m_errors(errors) {
        ::fcntl(m_errors, F_SETFL, O_NONBLOCK);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child() override {
        endWithin(kGrace);
        if (m_pid > 0) {
            ::kill(m_pid, SIGKILL);
            ::waitpid(m_pid, nullptr, 0);
        }
        ::close(m_errors);
    }

    std::string lastWords() override {
        // Its stream ends a moment before it has said why.
        endWithin(std::chrono::milliseconds(1'000));
        std::string words;
        std::array<char, 4096> part;
        for (ssize_t count = 0; (count = ::read(m_errors, part.data(), part.size())) > 0;)
            words.append(part.data(), static_cast<std::size_t>(count));
        while (words.ends_with('\n')) words.pop_back();
        words.erase(0, words.rfind('\n') + 1);  // npos + 1 is 0
        constexpr std::string_view kName = "shardscope: ";
        return words.starts_with(kName) ? words.substr(kName.size()) : words;
    }

private:
    void endWithin(std::chrono::milliseconds patience) {
        const auto until = std::chrono::steady_clock::now() + patience;
        while (m_pid > 0 && std::chrono::steady_clock::now() < until) {
            if (::waitpid(m_pid, nullptr, WNOHANG) != 0)
                m_pid = -1;
            else
                ::poll(nullptr, 0, 5);
        }
    }

    pid_t m_pid;
    int m_errors;
};

/// The child's standard streams; standard input and output are one socket.
int spawnWith(const ChildOptions& options, const std::vector<std::string>& words, int stream,
              int errors, pid_t& pid) {
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    // posix_spawn takes them as they are and changes none.
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, stream, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, stream, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    // Ctrl-C is ours to hear; it ends when its stream does.
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    const int failed = ::posix_spawn(&pid, options.program.c_str(), &actions, &attributes,
                                     arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

}  // namespace

RemoteSession::RemoteSession(FrameStream stream, std::unique_ptr<Carrier> carrier, std::string name,
                             Generation wanted)
    : m_carrier(std::move(carrier)),
      m_stream(std::move(stream)),
      m_name(std::move(name)),
      m_wanted(std::move(wanted)) {}

Result<std::unique_ptr<RemoteSession>> RemoteSession::begin(
    FrameStream stream, std::unique_ptr<Carrier> carrier, std::string name,
    const Generation& wanted, const std::function<void(const std::string&)>& notice,
    std::string host) {
    std::unique_ptr<RemoteSession> session(
        new RemoteSession(std::move(stream), std::move(carrier), std::move(name), wanted));
    session->m_host = std::move(host);
    if (auto begun = session->awaitHello(notice); !begun) return failure(begun);
    return session;
}

std::size_t RemoteSession::budgetOf(std::size_t bytes) {
    return std::clamp(bytes * kBudgetOfAByte, kLeastBudget, kMostBudget);
}

Result<void> RemoteSession::awaitHello(const std::function<void(const std::string&)>& notice) {
    while (true) {
        const auto frame = nextFrame({});
        if (!frame) return failure(frame);
        if (frame->kind == FrameKind::kHello) {
            std::uint32_t version = 0;
            columns::wire::Reader in(frame->payload, kMostPayload);
            in.get(version);
            if (in.isWhole() && version == kVersion) return {};
            return lose({ErrorCode::kUnreadable, "it serves version " + std::to_string(version) +
                                                     " of the protocol, here is " +
                                                     std::to_string(kVersion) +
                                                     "; bring both to the same release"});
        }
        const auto said = saidIn(*frame);
        if (!said || (frame->kind != FrameKind::kNotice && frame->kind != FrameKind::kFailure))
            return lose({ErrorCode::kUnreadable, "it does not speak as a shardscope that serves"});
        if (frame->kind == FrameKind::kFailure) return tl::unexpected<Error>(errorOf(*said));
        if (notice) notice(said->message);
    }
}

Result<Frame> RemoteSession::nextFrame(const Generation& generation) {
    while (true) {
        if (m_wanted.superseded() || generation.superseded())
            return failure(ErrorCode::kCancelled, "not wanted any more");
        auto frame = m_stream.receive(kTurn);
        if (!frame) return lose(frame.error());
        if (*frame) return std::move(**frame);
    }
}

Result<void> RemoteSession::exchange(const Call& call, void* answer, const Generation& generation) {
    auto bytes = send(call, generation);
    if (!bytes) return failure(bytes);
    columns::wire::Reader in(*bytes, budgetOf(bytes->size()));
    in.getOne(shapeOfAnswer(call.index()), answer);
    if (in.isWhole()) return {};
    return lose({ErrorCode::kUnreadable, "its answer cannot be read"});
}

Result<std::vector<std::byte>> RemoteSession::send(const Call& call, const Generation& generation) {
    if (m_lost) return tl::unexpected<Error>(*m_lost);
    const std::vector<std::byte> payload = encodeCall(call);
    if (payload.size() > kMostPayload)
        return failure(ErrorCode::kUsage,
                       "what is asked is longer than a megabyte: ask for less at once");
    const std::uint32_t number = ++m_number;
    const auto sent =
        m_stream.send(FrameKind::kCall, number, payload, [&] { return !m_wanted.superseded(); });
    // A frame that is cut off takes the rest of the stream with it.
    if (!sent) return lose({ErrorCode::kLaunch, sent.error().message});
    auto answer = collect(number, generation);
    if (answer || answer.error().code != ErrorCode::kCancelled || m_lost) return answer;
    // A few bytes: what does not take them at once has stopped.
    const auto passed = m_stream.send(FrameKind::kCancel, number, {}, [] { return false; });
    if (!passed) m_lost = lose({ErrorCode::kLaunch, "it takes nothing any more"}).value();
    return answer;
}

Result<std::vector<std::byte>> RemoteSession::collect(std::uint32_t number,
                                                      const Generation& generation) {
    std::vector<std::byte> answer;
    while (true) {
        auto frame = nextFrame(generation);
        if (!frame) return failure(frame);
        if (frame->number > number)
            return lose({ErrorCode::kUnreadable, "it answers what was not asked"});
        // Strings of an answer that was given up are taken: they do not come again.
        if (frame->kind == FrameKind::kTexts) {
            if (auto taken = takeTexts(*frame); !taken) return failure(taken);
            continue;
        }
        if (frame->number < number) continue;
        if (frame->kind == FrameKind::kFailure) {
            const auto said = saidIn(*frame);
            if (!said) return lose({ErrorCode::kUnreadable, "its error cannot be read"});
            Error error = errorOf(*said);
            if (!m_host.empty()) error.message = m_host + ": " + error.message;
            return tl::unexpected<Error>(std::move(error));
        }
        if (frame->kind != FrameKind::kPart && frame->kind != FrameKind::kLast)
            return lose({ErrorCode::kUnreadable, "it answers with something else"});
        if (answer.size() + frame->payload.size() > kMostAnswer)
            return lose({ErrorCode::kUnreadable, "its answer has no end"});
        answer.insert(answer.end(), frame->payload.begin(), frame->payload.end());
        if (frame->kind == FrameKind::kLast) return answer;
    }
}

Result<void> RemoteSession::takeTexts(const Frame& frame) {
    std::vector<NamedText> texts;
    columns::wire::Reader in(frame.payload, budgetOf(frame.payload.size()));
    in.get(texts);
    if (!in.isWhole()) return lose({ErrorCode::kUnreadable, "its strings cannot be read"});
    for (NamedText& each : texts)
        (columns::isArguments(each.id) ? m_arguments : m_names)
            .add(each.rank, each.id, std::move(each.text));
    return {};
}

tl::unexpected<Error> RemoteSession::lose(const Error& why) {
    if (why.code == ErrorCode::kCancelled) return tl::unexpected<Error>(why);
    const std::string words = m_carrier ? printable(m_carrier->lastWords()) : "";
    m_lost =
        Error{ErrorCode::kLaunch,
              m_name + " was lost: " + (words.empty() ? why.message : words) + "; open it again"};
    return tl::unexpected<Error>(*m_lost);
}

Result<std::unique_ptr<RemoteSession>> startServing(
    const ChildOptions& options, const std::string& target, const Generation& wanted,
    const std::function<void(const std::string&)>& notice) {
    std::array<int, 2> streams{};
    std::array<int, 2> errors{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, streams.data()) != 0)
        return failure(ErrorCode::kLaunch, "no socket; close other programs or raise 'ulimit -n'");
    FrameStream stream(streams[0], streams[0]);
    if (::pipe2(errors.data(), O_CLOEXEC) != 0) {
        ::close(streams[1]);
        return failure(ErrorCode::kLaunch, "no pipe; close other programs or raise 'ulimit -n'");
    }
    std::vector<std::string> words = {options.program, "serve"};
    if (target.empty())
        words.emplace_back("--stdio");
    else
        words.insert(words.end(), {"--at", target});
    if (!options.sshCommand.empty())
        words.insert(words.end(), {"--ssh-command", options.sshCommand});
    pid_t pid = -1;
    const int failed = spawnWith(options, words, streams[1], errors[1], pid);
    ::close(streams[1]);
    ::close(errors[1]);
    if (failed != 0) {
        ::close(errors[0]);
        return failure(ErrorCode::kLaunch, options.program + " cannot be started (" +
                                               std::system_category().message(failed) +
                                               "); install shardscope whole");
    }
    const std::string name = target.empty() ? "the reader" : "the connection to " + target;
    return RemoteSession::begin(std::move(stream), std::make_unique<Child>(pid, errors[0]), name,
                                wanted, notice, target);
}

}  // namespace shardscope::storage::remote
