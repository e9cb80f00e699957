#include "storage/recording/remote/serving_child.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

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
