#include "engine/launch/ssh/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <utility>

namespace shardscope::launch {
namespace {

constexpr std::size_t kMostOutput = 16u << 20;

/// {read end, write end}
Result<std::pair<FileDescriptor, FileDescriptor>> makePipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        return failure(ErrorCode::kLaunch, "no pipe; close other programs or raise 'ulimit -n'");
    return std::pair(FileDescriptor(ends[0]), FileDescriptor(ends[1]));
}

void makeNonBlocking(const FileDescriptor& fd) {
    ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

/// False: it will take no more.
bool writeAvailable(const FileDescriptor& fd, const std::string& text, std::size_t& written) {
    const ssize_t count = ::write(fd.get(), text.data() + written, text.size() - written);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    written += static_cast<std::size_t>(count);
    return written < text.size();
}

std::string endText(const ProcessEnd& end) {
    return end.signal ? "was ended by " + signalText(*end.signal)
                      : fmt::format("ended with status {}", end.code.value_or(-1));
}

}  // namespace

std::string findProgram(const std::string& name) {
    if (name.find('/') != std::string::npos) return name;
    const char* path = std::getenv("PATH");
    std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
    for (std::string folder; std::getline(folders, folder, ':');) {
        const std::string program = (folder.empty() ? "." : folder) + "/" + name;
        if (::access(program.c_str(), X_OK) == 0) return program;
    }
    return {};
}

Result<ChildProcess> ChildProcess::start(const std::vector<std::string>& words) {
    SpawnRequest request;
    request.program = findProgram(words.front());
    if (request.program.empty())
        return failure(ErrorCode::kLaunch, fmt::format("there is no program {}", words.front()));
    request.arguments.assign(words.begin() + 1, words.end());
    request.ownGroup = true;
    request.dieWithParent = true;
    auto input = makePipe();
    auto output = makePipe();
    auto errors = makePipe();
    if (!input || !output || !errors) return failure(!input ? input : !output ? output : errors);
    request.descriptors = {
        {input->first.get(), 0}, {output->second.get(), 1}, {errors->second.get(), 2}};
    const auto pid = spawn(request);
    if (!pid) return failure(pid);
    ChildProcess child(*pid);
    child.input = std::move(input->second);
    child.output = std::move(output->first);
    child.errors = std::move(errors->first);
    for (const FileDescriptor* each : {&child.input, &child.output, &child.errors})
        makeNonBlocking(*each);
    return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : input(std::move(other.input)),
      output(std::move(other.output)),
      errors(std::move(other.errors)),
      m_pid(std::exchange(other.m_pid, -1)),
      m_end(other.m_end) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
    if (this == &other) return *this;
    stop(SIGKILL, std::chrono::milliseconds(0));
    input = std::move(other.input);
    output = std::move(other.output);
    errors = std::move(other.errors);
    m_pid = std::exchange(other.m_pid, -1);
    m_end = other.m_end;
    return *this;
}

ChildProcess::~ChildProcess() {
    stop(SIGKILL, std::chrono::milliseconds(0));
}

const std::optional<ProcessEnd>& ChildProcess::end() {
    if (!m_end && m_pid >= 0) m_end = reap(m_pid);
    return m_end;
}

void ChildProcess::stop(int signal, std::chrono::milliseconds grace) {
    if (m_pid < 0 || end()) return;
    ::kill(m_pid, signal);
    const auto deadline = std::chrono::steady_clock::now() + grace;
    while (!end() && std::chrono::steady_clock::now() < deadline) ::poll(nullptr, 0, 5);
    if (m_end) return;
    ::kill(-m_pid, SIGKILL);
    int status = 0;
    ::waitpid(m_pid, &status, 0);
    m_end = ProcessEnd{std::nullopt, SIGKILL};
}

void readAvailable(FileDescriptor& fd, std::string& text, std::size_t most) {
    std::array<char, 64 * 1024> bytes;
    while (fd.valid() && most > 0) {
        const ssize_t count = ::read(fd.get(), bytes.data(), std::min(most, bytes.size()));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno == EAGAIN) return;
        if (count <= 0) {
            fd.reset();
            return;
        }
        text.append(bytes.data(), static_cast<std::size_t>(count));
        most -= static_cast<std::size_t>(count);
    }
}

Result<std::string> outputOf(const std::vector<std::string>& words, const std::string& input) {
    auto child = ChildProcess::start(words);
    if (!child) return failure(child);
    std::string output;
    std::string errors;
    std::size_t written = 0;
    if (input.empty()) child->input.reset();
    while (child->output.valid() || child->errors.valid()) {
        if (child->input.valid() && !writeAvailable(child->input, input, written))
            child->input.reset();
        std::array<pollfd, 3> polls{{{child->output.get(), POLLIN, 0},
                                     {child->errors.get(), POLLIN, 0},
                                     {child->input.get(), POLLOUT, 0}}};
        ::poll(polls.data(), polls.size(), -1);
        readAvailable(child->output, output, kMostOutput);
        readAvailable(child->errors, errors, kMostOutput);
    }
    while (!child->end()) ::poll(nullptr, 0, 1);
    if (child->end()->code == 0) return output;
    return failure(ErrorCode::kLaunch, fmt::format("{} {}: {}", words.front(),
                                                   endText(*child->end()), lastLineOf(errors)));
}

}  // namespace shardscope::launch
