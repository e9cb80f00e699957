// The variables by which a program's processes find our library and its recorder.
#pragma once

#include "storage/model/capture_schedule.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace shardscope::launch {

struct ProgramVariables {
    std::string socket;
    CaptureWish capture;
    std::int64_t originNs = 0;  ///< host clock at the recording clock's zero
    std::string stepRange;      ///< ranges whose name matches are steps; empty: none
    std::string home;           ///< folder of the library, of shims and of the start hook
};

struct ProgramEnvironment {
    std::map<std::string, std::string> added;
    std::vector<std::string> notes;  ///< sentences: what was set already and is left alone
};

/// Nothing is added but what is not set; PYTHONPATH is continued. A home without library gives a
/// note, and nothing.
[[nodiscard]] ProgramEnvironment programEnvironment(const ProgramVariables& variables);

/// Beside our own program.
[[nodiscard]] std::string injectionHome();

}  // namespace shardscope::launch
