// How training speeds up with ranks, over several recordings.
#pragma once

#include "profiler/questions/answer/answer.h"
#include "storage/recording/read/recording_reader.h"

#include <string>
#include <vector>

namespace shardscope::questions {

struct ScaledRecording {
    std::string name;  ///< as people called it
    storage::RecordingReader* reader = nullptr;
};

/// Of two recordings or more, in any order. kUsage: they are of different models, precisions or
/// devices; `anyway` shows the figures all the same.
Result<Answer> scalingOfRecordings(const std::vector<ScaledRecording>& recordings, bool anyway);

}  // namespace shardscope::questions
