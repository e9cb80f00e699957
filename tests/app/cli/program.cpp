#include "tests/app/cli/program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace shardscope::cli {
namespace {

std::string contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

FileDescriptor newFile(const std::string& path) {
    return FileDescriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
}

}  // namespace

bool eventually(const std::function<bool()>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        ::poll(nullptr, 0, 2);
    }
    return true;
}

bool isAlive(pid_t pid) {
    const std::string stat = contents("/proc/" + std::to_string(pid) + "/stat");
    const auto state = stat.rfind(") ");
    // A zombie is dead; its parent has not looked yet.
    return state != std::string::npos && stat[state + 2] != 'Z';
}

std::vector<pid_t> childrenOf(pid_t pid) {
    std::vector<pid_t> children;
    const std::string id = std::to_string(pid);
    std::istringstream list(contents("/proc/" + id + "/task/" + id + "/children"));
    for (pid_t child; list >> child;) children.push_back(child);
    return children;
}

std::string commandOf(pid_t pid) {
    return contents("/proc/" + std::to_string(pid) + "/cmdline");
}

Program::Program(const std::vector<std::string>& arguments,
                 const std::map<std::string, std::string>& environment, const std::string& folder,
                 bool withInput, const std::string& program)
    : m_folder(folder) {
    const auto out = newFile(folder + "/out");
    const auto err = newFile(folder + "/err");
    FileDescriptor input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (withInput) {
        int ends[2];
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        input = FileDescriptor(ends[0]);
        m_input = FileDescriptor(ends[1]);
    }
    launch::SpawnRequest request;
    request.program = program;
    request.arguments = arguments;
    request.environment = environment;
    request.descriptors = {{input.get(), 0}, {out.get(), 1}, {err.get(), 2}};
    const auto pid = launch::spawn(request);
    EXPECT_TRUE(pid.has_value());
    if (pid) m_pid = *pid;
}

std::string Program::built() {
    return SHARDSCOPE_PROGRAM;
}

Program::~Program() {
    if (m_end || m_pid < 0) return;
    signal(SIGKILL);
    ::waitpid(m_pid, nullptr, 0);
}

void Program::signal(int number) const {
    ASSERT_GT(m_pid, 0);
    ::kill(m_pid, number);
}

void Program::type(const std::string& text) const {
    ASSERT_EQ(::write(m_input.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

bool Program::ended() {
    if (!m_end) m_end = launch::reap(m_pid);
    return m_end.has_value();
}

int Program::wait() {
    eventually([this] { return ended(); });
    if (!m_end) return -1;
    return m_end->code ? *m_end->code : 128 + *m_end->signal;
}

std::string Program::out() const {
    return contents(m_folder + "/out");
}
std::string Program::err() const {
    return contents(m_folder + "/err");
}

CliTest::CliTest() {
    std::string pattern = testing::TempDir() + "shardscope_cli_XXXXXX";
    m_folder = ::mkdtemp(pattern.data());
    std::ofstream text(path("text.txt"));
    for (int line = 0; line < 100; ++line) text << "line " << line << " of a short text\n";
    environment["SHARDSCOPE_RANK_PROGRAM"] = SHARDSCOPE_FAKE_RANK;
}

CliTest::~CliTest() {
    std::error_code error;
    std::filesystem::remove_all(m_folder, error);
}

std::vector<std::string> CliTest::recordArguments(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {
        "record", "--data", path("text.txt"), "--output", output(), "--steps", "5"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

RecordingSummary CliTest::recorded() {
    auto reader = storage::openRecording(output());
    if (!reader) {
        ADD_FAILURE() << reader.error().message;
        return {};
    }
    auto summary = (*reader)->summary();
    if (summary) return *summary;
    ADD_FAILURE() << summary.error().message;
    return {};
}

}  // namespace shardscope::cli
