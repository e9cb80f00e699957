// What a recording keeps of a run of another program (`shardscope record -- CMD ARG...`), in the
// place where a training of ours has its RunConfig.
#pragma once

#include "storage/model/detail.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::run {

struct ProgramRun {
    std::vector<std::string> command;  ///< program and arguments; not empty
    std::string folder;                ///< that it was started in
    CaptureLevel capture = CaptureLevel::kFull;
};

[[nodiscard]] std::string toJson(const ProgramRun& program);
/// Of RunFacts::configJson; nullopt: it is no run of another program.
[[nodiscard]] std::optional<ProgramRun> parseProgramJson(std::string_view json);

/// As people type it in a shell.
[[nodiscard]] std::string commandText(const std::vector<std::string>& command);
/// What it is called in titles: "torchrun train.py", "train.py" where an interpreter runs it.
[[nodiscard]] std::string programTitle(const std::vector<std::string>& command);

}  // namespace shardscope::run
