// The variables by which a program's processes find our library and its recorder.
#pragma once

#include "storage/model/capture_schedule.h"
#include "storage/model/result.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace shardscope::launch {

/// Asks the start hook for the Python stacks of operators; "1".
inline constexpr const char* kStacksVariable = "SHARDSCOPE_STACKS";

struct ProgramVariables {
    std::string socket;
    CaptureWish capture;
    std::int64_t originNs = 0;  ///< host clock at the recording clock's zero
    std::string stepRange;      ///< ranges whose name matches are steps; empty: none
    std::string home;           ///< folder of the library, of shims and of the start hook
    std::map<std::string, std::string> given{};  ///< by the user, for the program alone
};

struct ProgramEnvironment {
    std::map<std::string, std::string> added;
    std::vector<std::string> notes;  ///< sentences: what was set already and is left alone
};

/// Nothing is added but what is not set; PYTHONPATH is continued. A home without library gives a
/// note, and nothing.
[[nodiscard]] ProgramEnvironment programEnvironment(const ProgramVariables& variables);

/// For PyTorch's own profiler, which asks a daemon for work. Folders: of the sockets, of its
/// settings (writeKinetoSettings), of traces. Likewise only what is not set.
[[nodiscard]] ProgramEnvironment kinetoEnvironment(const std::string& sockets,
                                                   const std::string& settings,
                                                   const std::string& traces);
/// So that it asks once a second.
Result<void> writeKinetoSettings(const std::string& folder);

/// Beside our own program.
[[nodiscard]] std::string injectionHome();

}  // namespace shardscope::launch
