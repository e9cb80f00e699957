#include "engine/launch/process.h"

#include "engine/launch/process_look.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

namespace shardscope::launch {
namespace {

std::vector<std::string> mergedEnvironment(const std::map<std::string, std::string>& added) {
    std::vector<std::string> merged;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string text = *entry;
        if (!added.contains(text.substr(0, text.find('=')))) merged.push_back(text);
    }
    for (const auto& [name, value] : added) merged.push_back(name + "=" + value);
    return merged;
}

/// With what to do where a limit of the process or the user is the cause.
std::string reason(int error) {
    // A number for a descriptor that the limit does not allow is an invalid argument.
    if (error == EMFILE || error == EINVAL)
        return fmt::format("{}; raise the limit of open files (ulimit -n)", std::strerror(error));
    if (error == EAGAIN || error == ENOMEM)
        return fmt::format("{}; close other programs, or raise the limits (ulimit -u, ulimit -v)",
                           std::strerror(error));
    return std::strerror(error);
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> list;
    for (std::string& text : texts) list.push_back(text.data());
    list.push_back(nullptr);
    return list;
}

/// Above every number a child is given, and below the strictest limits of a system.
constexpr int kFirstSpareDescriptor = 16;

constexpr const char* kShell = "/bin/sh";

/// In the child, between fork and exec: only async-signal-safe calls, no allocation.
struct ChildSetup {
    const SpawnRequest& request;
    const char* program;
    char* const* arguments;
    char* const* scriptArguments;  ///< of a shell that runs it
    char* const* environment;
    pid_t parent;
    int errorPipe;
    std::array<int, 8> spares{};

    [[noreturn]] void run() {
        if (prepare()) {
            ::execve(program, arguments, environment);
            if (errno == ENOEXEC && request.searchPath && isText())
                ::execve(kShell, scriptArguments, environment);
        }
        const int error = errno;
        // Nothing to do when even this fails: the exit status still tells.
        [[maybe_unused]] const auto written = ::write(errorPipe, &error, sizeof error);
        ::_exit(127);
    }

    /// Scripts without #! are run by every shell, and by nothing else.
    bool isText() const {
        std::array<char, 80> start{};
        const int file = ::open(program, O_RDONLY | O_CLOEXEC);
        const ssize_t got = file < 0 ? -1 : ::read(file, start.data(), start.size());
        if (file >= 0) ::close(file);
        const bool text = got >= 0 && start[0] != '\x7f' &&
                          std::memchr(start.data(), 0, static_cast<std::size_t>(got)) == nullptr;
        errno = ENOEXEC;
        return text;
    }

    /// A recorder that takes its signals from a descriptor blocks them; children must not. What
    /// came while they were blocked was meant for the recorder: ignoring it forgets it.
    bool takeSignals() {
        for (const int each : {SIGINT, SIGTERM, SIGHUP}) {
            struct sigaction kept {};
            struct sigaction ignore {};
            ignore.sa_handler = SIG_IGN;
            if (::sigaction(each, &ignore, &kept) != 0) return false;
            if (::sigaction(each, &kept, nullptr) != 0) return false;
        }
        for (const int each : request.resetSignals) ::signal(each, SIG_DFL);
        sigset_t none;
        ::sigemptyset(&none);
        return ::sigprocmask(SIG_SETMASK, &none, nullptr) == 0;
    }

    bool prepare() {
        // Signals of the terminal go to a group: first out of ours, then open to them.
        if (request.ownGroup && ::setpgid(0, 0) != 0) return false;
        if (!takeSignals()) return false;
        if (request.dieWithParent) {
            if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return false;
            // The parent may have died before prctl.
            if (::getppid() != parent) ::_exit(127);
        }
        if (request.descriptors.empty()) return true;  // a low limit of open files is no obstacle
        // First out of the way of all target numbers, then into place.
        for (std::size_t i = 0; i < request.descriptors.size(); ++i) {
            const int ours = request.descriptors[i].first;
            spares[i] = ::fcntl(ours, F_DUPFD_CLOEXEC, kFirstSpareDescriptor);
            if (spares[i] < 0) return false;
        }
        const int movedPipe = ::fcntl(errorPipe, F_DUPFD_CLOEXEC, kFirstSpareDescriptor);
        if (movedPipe < 0) return false;
        errorPipe = movedPipe;
        for (std::size_t i = 0; i < request.descriptors.size(); ++i) {
            if (::dup2(spares[i], request.descriptors[i].second) < 0) return false;
        }
        return true;
    }
};

}  // namespace

std::string programPath(const std::string& program) {
    const auto isFile = [](const std::string& path) {
        std::error_code ignored;
        return std::filesystem::exists(path, ignored) &&
               !std::filesystem::is_directory(path, ignored);
    };
    if (program.find('/') != std::string::npos) return isFile(program) ? program : "";
    const char* path = std::getenv("PATH");
    for (std::string_view rest = path != nullptr ? path : "/bin:/usr/bin"; !program.empty();) {
        const std::size_t end = std::min(rest.find(':'), rest.size());
        const std::string folder(end == 0 ? "." : rest.substr(0, end));
        const std::string there = folder + "/" + program;
        if (isFile(there) && ::access(there.c_str(), X_OK) == 0) return there;
        if (end == rest.size()) break;
        rest.remove_prefix(end + 1);
    }
    return {};
}

Result<pid_t> spawn(const SpawnRequest& request) {
    std::array<int, 2> errorPipe{};
    if (request.descriptors.size() > 8 || ::pipe2(errorPipe.data(), O_CLOEXEC) != 0) {
        return failure(ErrorCode::kLaunch,
                       fmt::format("no pipe to start {}: {}", request.program, reason(errno)));
    }
    const FileDescriptor readEnd(errorPipe[0]);
    FileDescriptor writeEnd(errorPipe[1]);
    std::vector<std::string> argumentTexts{request.program};
    argumentTexts.insert(argumentTexts.end(), request.arguments.begin(), request.arguments.end());
    std::vector<std::string> environmentTexts = mergedEnvironment(request.environment);
    const std::vector<char*> arguments = pointers(argumentTexts);
    const std::vector<char*> environment = pointers(environmentTexts);
    const std::string program = request.searchPath ? programPath(request.program) : request.program;
    std::vector<std::string> scriptTexts = argumentTexts;
    scriptTexts.front() = program;
    scriptTexts.insert(scriptTexts.begin(), kShell);
    const std::vector<char*> scriptArguments = pointers(scriptTexts);
    ChildSetup setup{
        request,    program.c_str(), arguments.data(), scriptArguments.data(), environment.data(),
        ::getpid(), writeEnd.get()};
    const pid_t pid = ::fork();
    if (pid == 0) setup.run();
    if (pid < 0) {
        return failure(ErrorCode::kLaunch,
                       fmt::format("{} cannot be started: {}", request.program, reason(errno)));
    }
    writeEnd.reset();
    int error = 0;
    ssize_t count = 0;
    // A signal handed on before the program is there would meet our own handlers, and be lost.
    do {
        count = ::read(readEnd.get(), &error, sizeof error);
    } while (count < 0 && errno == EINTR);
    if (count == sizeof error) {
        ::waitpid(pid, nullptr, 0);
        return failure(ErrorCode::kLaunch,
                       fmt::format("{} cannot be started: {}", request.program, reason(error)));
    }
    return pid;
}

std::optional<ProcessEnd> reap(pid_t pid) {
    int status = 0;
    rusage used{};
    if (::wait4(pid, &status, WNOHANG, &used) != pid) return std::nullopt;
    ProcessEnd end;
    end.processorSeconds =
        static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
        static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
    if (WIFEXITED(status)) end.code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
    return end;
}

bool isStopped(pid_t pid) {
    return isHeld(lookAt(pid).hold);
}

Result<std::pair<FileDescriptor, FileDescriptor>> socketPair() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        return failure(ErrorCode::kLaunch, fmt::format("no socket pair: {}", reason(errno)));
    }
    return std::pair(FileDescriptor(ends[0]), FileDescriptor(ends[1]));
}

std::string ownProgram() {
    std::error_code error;
    const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
    return error ? std::string() : path.string();
}

std::string lastLineOf(const std::string& text) {
    const auto end = text.find_last_not_of(" \n\r\t");
    if (end == std::string::npos) return {};
    const auto before = text.find_last_of("\n\r", end);
    const auto begin = before == std::string::npos ? 0 : before + 1;
    return text.substr(begin, end + 1 - begin);
}

std::string signalText(int signal) {
    return fmt::format("signal {} ({})", signal, ::strsignal(signal));
}

}  // namespace shardscope::launch
