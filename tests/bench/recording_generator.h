// Writes a large recording through RecordingWriter in bounded memory: what four GPU ranks record,
// second by second, as their chunks arrive. Deterministic.
#pragma once

#include "storage/model/result.h"

#include <cstdint>
#include <string>

namespace shardscope::bench {

struct GeneratedRecording {
    std::uint64_t events = 0;
    std::uint64_t chunkBytes = 0;
    double appendSeconds = 0;    ///< in addChunk() and flush(), pyramids included
    double finaliseSeconds = 0;  ///< merging, last pyramids, one file
    double encodeSeconds = 0;    ///< what ranks spend on encoding
};

/// About `events` events on 52 lanes of 4 ranks, at some 500,000 a second.
Result<GeneratedRecording> generateRecording(const std::string& path, std::uint64_t events);

}  // namespace shardscope::bench
