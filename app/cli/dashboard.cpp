#include "app/cli/dashboard.h"

#include "app/cli/console.h"
#include "engine/launch/process.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

namespace shardscope::cli {
namespace {

/// What shells and loaders end with where a program or a library of it is not found.
constexpr int kNotStarted = 127;

std::string desktopProgram() {
    const char* other = std::getenv("SHARDSCOPE_DESKTOP_PROGRAM");
    if (other != nullptr) return other;
    return (std::filesystem::path(launch::ownProgram()).parent_path() / "shardscope-desktop")
        .string();
}

std::vector<std::string> argumentsOf(const RecordingPlace& place, const DashboardOptions& options) {
    std::vector<std::string> words{"--dashboard", options.output};
    for (const auto& [flag, value] :
         {std::pair{"--paper", options.paper}, std::pair{"--size", options.size},
          std::pair{"--theme", options.theme}, std::pair{"--ssh-command", place.sshCommand}})
        if (!value.empty()) words.insert(words.end(), {flag, value});
    if (options.force) words.emplace_back("--force");
    words.insert(words.end(), {"--", place.path});
    return words;
}

int fail(const std::string& sentence) {
    tellError(sentence);
    return static_cast<int>(ErrorCode::kFailure);
}

/// The child's exit status; 128 + signal.
int waitFor(pid_t pid) {
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

int drawDashboard(const RecordingPlace& place, const DashboardOptions& options) {
    const std::string program = desktopProgram();
    if (::access(program.c_str(), X_OK) != 0)
        return fail(fmt::format(
            "--dashboard is drawn by shardscope-desktop, and {} is not there: build with Qt 6, or "
            "install the package shardscope-desktop",
            program));
    launch::SpawnRequest request;
    request.program = program;
    request.arguments = argumentsOf(place, options);
    request.dieWithParent = true;
    const auto pid = launch::spawn(request);
    const int status = pid ? waitFor(*pid) : kNotStarted;
    if (status == kNotStarted)
        return fail(
            fmt::format("{} did not start; are the libraries of Qt 6 installed? "
                        "ldd {} names what is missing",
                        program, program));
    return status;
}

}  // namespace shardscope::cli
