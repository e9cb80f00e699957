#include "engine/launch/program/process_evidence.h"

#include "engine/launch/program/proc_files.h"
#include "profiler/capture/program_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>
#include <string_view>

namespace shardscope::launch {
namespace {

constexpr std::size_t kMostMapBytes = std::size_t{16} << 20;
constexpr std::size_t kMostEnvironmentBytes = std::size_t{1} << 20;
/// Of PyTorch, and ours: they use its library, and there is nothing of theirs to record.
constexpr std::array<std::string_view, 3> kOwnPrograms = {"torch_shm_manager", "shardscope-rank",
                                                          "shardscope"};

std::string fileName(const std::string& path) {
    return std::filesystem::path(path).filename().string();
}

bool isPythonName(const std::string& name) {
    return name.starts_with("python") || name.starts_with("pypy");
}

/// Of the interpreter's own options, which end at the script, "-c" or "-m".
std::string isolatingOption(const std::string& command) {
    std::istringstream words(command);
    std::string word;
    words >> word;  // the program
    while (words >> word && word.size() > 1 && word.front() == '-') {
        if (word.starts_with("--")) continue;
        if (word == "-W" || word == "-X") {
            words >> word;
            continue;
        }
        for (const char letter : std::string_view(word).substr(1)) {
            if (letter == 'I' || letter == 'E' || letter == 'S') return std::string("-") + letter;
            if (letter == 'c' || letter == 'm' || letter == 'W' || letter == 'X') break;
        }
        if (word.find_first_of("cm") != std::string::npos) break;
    }
    return {};
}

void lookAtEnvironment(const std::string& folder, const GivenVariables& given,
                       ProcessEvidence& evidence) {
    // Who may read the one may read the other; without a variable it is empty.
    if (!evidence.seen || given.socket.empty()) return;
    const std::string variables = procText(folder + "/environ", kMostEnvironmentBytes);
    evidence.noSocket = !hasEntry(variables, given.socket);
    const std::string_view path = variableIn(variables, "PYTHONPATH");
    evidence.noHook = path.find(given.hook) == std::string_view::npos;
}

NotRecorded ofPython(const ProcessEvidence& evidence) {
    if (!evidence.option.empty())
        return {fmt::format("Python was started with {}, which keeps the recorder's start hook out",
                            evidence.option),
                fmt::format("Start Python without {}, or record a window of it with --kineto.",
                            evidence.option)};
    if (evidence.noHook)
        return {
            "its PYTHONPATH lacks the recorder's start hook: what started it replaced the "
            "variable",
            "Let it add to PYTHONPATH instead of replacing it, or record a window of it with "
            "--kineto."};
    return {"it loaded PyTorch and did not report before it ended; why is unknown",
            "Set SHARDSCOPE_DEBUG=1: the start hook then says on standard error what failed."};
}

}  // namespace

ProcessEvidence evidenceOf(pid_t pid, uid_t user, const std::string& command,
                           const GivenVariables& given, const std::string& proc) {
    const std::string folder = proc + "/" + std::to_string(pid);
    const std::string map = procText(folder + "/maps", kMostMapBytes);
    const auto has = [&map](const char* file) { return map.find(file) != std::string::npos; };
    const std::string program = fileName(linkText(folder + "/exe"));
    const std::string called = fileName(command.substr(0, command.find(' ')));
    ProcessEvidence evidence;
    evidence.seen = !map.empty();
    evidence.python =
        isPythonName(program) || has("/libpython") || (program.empty() && isPythonName(called));
    evidence.torch = has("/libtorch_cpu.so") && std::find(kOwnPrograms.begin(), kOwnPrograms.end(),
                                                          program) == kOwnPrograms.end();
    evidence.library = has("/libshardscope_inject.so");
    evidence.otherUser = user != given.user;
    if (evidence.python) evidence.option = isolatingOption(command);
    lookAtEnvironment(folder, given, evidence);
    return evidence;
}

std::optional<NotRecorded> whyNotRecorded(const ProcessEvidence& evidence,
                                          const GivenVariables& given) {
    if (!evidence.torch || evidence.library) return std::nullopt;
    if (!evidence.python)
        return NotRecorded{
            "it is a program without Python: operators of C++ programs are not "
            "recorded yet",
            "Its CPU time, memory and end are recorded."};
    if (given.socket.empty())
        return NotRecorded{"the recorder's variables were not given to the program",
                           "See the other messages of this recording."};
    if (evidence.otherUser)
        return NotRecorded{"it ran as another user than the recorder, whose socket is private",
                           "Run `shardscope record` as that user."};
    if (evidence.noSocket)
        return NotRecorded{
            fmt::format("its environment lacks {}: it was started with an environment of its own, "
                        "as sudo, ssh, a container or Slurm's --export=NONE do",
                        capture::kSocketVariable),
            "Pass SHARDSCOPE_* and PYTHONPATH on (sudo -E, srun --export=ALL), or start "
            "`shardscope record` there."};
    return ofPython(evidence);
}

}  // namespace shardscope::launch
