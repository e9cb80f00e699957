#include "engine/launch/program/program_environment.h"

#include "engine/launch/process.h"
#include "profiler/capture/program_link.h"
#include "storage/model/new_file.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

namespace shardscope::launch {
namespace {

constexpr const char* kKinetoSettings = "/kineto.conf";

/// What the program would find without us.
std::optional<std::string> valueOf(const ProgramEnvironment& environment, const std::string& name) {
    const auto given = environment.added.find(name);
    if (given != environment.added.end()) return given->second;
    const char* there = std::getenv(name.c_str());
    return there != nullptr ? std::optional<std::string>(there) : std::nullopt;
}

void add(ProgramEnvironment& environment, const std::string& name, const std::string& value) {
    if (const auto there = valueOf(environment, name))
        environment.notes.push_back(
            fmt::format("{} is set already ({}) and left alone", name, *there));
    else
        environment.added[name] = value;
}

}  // namespace

ProgramEnvironment programEnvironment(const ProgramVariables& variables) {
    ProgramEnvironment environment;
    environment.added = variables.given;
    const std::string library = variables.home + "/libshardscope_inject.so";
    std::error_code ignored;
    if (!std::filesystem::exists(library, ignored)) {
        environment.notes.push_back(fmt::format(
            "{} is missing: processes are recorded, and nothing of what they do", library));
        return environment;
    }
    if (const auto other = valueOf(environment, capture::kSocketVariable)) {
        environment.notes.push_back(fmt::format(
            "another recorder has this program already ({} is {}): here its processes are "
            "recorded, and there what they do; if that one has ended, unset the variable",
            capture::kSocketVariable, *other));
        return environment;
    }
    add(environment, capture::kSocketVariable, variables.socket);
    add(environment, capture::kCaptureVariable,
        capture::textOf({variables.capture, variables.originNs}));
    add(environment, capture::kInjectVariable, library);
    add(environment, capture::kShimsVariable, variables.home);
    if (!variables.stepRange.empty())
        add(environment, capture::kStepRangeVariable, variables.stepRange);
    // PyTorch's flight recorder: the last collectives of a rank that stands still.
    add(environment, "TORCH_FR_BUFFER_SIZE", "2000");
    // Python has no other way to run something of ours first; what was there follows.
    const std::string path = valueOf(environment, "PYTHONPATH").value_or("");
    const std::string hook = variables.home + "/python";
    environment.added["PYTHONPATH"] = path.empty() ? hook : hook + ":" + path;
    return environment;
}

ProgramEnvironment kinetoEnvironment(const std::string& sockets, const std::string& settings,
                                     const std::string& traces) {
    ProgramEnvironment environment;
    add(environment, "KINETO_USE_DAEMON", "1");
    add(environment, "KINETO_IPC_SOCKET_DIR", sockets);
    add(environment, "KINETO_CONFIG", settings + kKinetoSettings);
    add(environment, "KINETO_ONDEMAND_TRACE_DIR", traces);
    return environment;
}

Result<void> writeKinetoSettings(const std::string& folder) {
    const std::string path = folder + kKinetoSettings;
    if (const int error = writeNewFile(path, "ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=1\n");
        error != 0)
        return failure(ErrorCode::kFailure,
                       fmt::format("{} cannot be written: {}", path, std::strerror(error)));
    return {};
}

std::string injectionHome() {
    return (std::filesystem::path(ownProgram()).parent_path() / "inject").string();
}

}  // namespace shardscope::launch
