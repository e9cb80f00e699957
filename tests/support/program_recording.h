// Small recordings of programs of the user's, as `shardscope record -- CMD` makes them, for tests
// of what is said where nothing is known. Deterministic.
#pragma once

#include "storage/model/detail.h"
#include "storage/model/result.h"

#include <cstdint>
#include <string>

namespace shardscope::test {

struct ProgramOptions {
    std::string command = "train.py";
    CaptureLevel capture = CaptureLevel::kLight;
    std::int32_t ranks = 2;  ///< 0: it loads no PyTorch; rank 0 stands for the program
    std::int32_t steps = 20;
    std::int64_t parameters = 1'000;  ///< 0: not said
    std::int64_t dataNs = 0;          ///< of each step, into getting the batch
    std::int64_t lateNs = 0;          ///< that the last rank sleeps before each step
};

/// Writes (and replaces) the recording at `path`. A step: data, forward, backward, an all-reduce
/// that it waits for, the optimizer.
[[nodiscard]] Result<void> writeProgramRecording(const std::string& path,
                                                 const ProgramOptions& options = {});

}  // namespace shardscope::test
