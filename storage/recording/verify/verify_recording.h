// Checks a recording from end to end: what `shardscope info --verify` prints.
//
// Reads only; may take as long as decoding every event does (about a second for 20 M events).
#pragma once

#include "storage/model/recording.h"
#include "storage/model/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope::storage {

/// One thing that is wrong.
struct Fault {
    std::string where;  ///< a table, or "file"
    std::string what;   ///< a sentence without its stop
};

struct Verification {
    bool complete = false;  ///< finalised: pyramids and totals were held to it as well
    std::uint64_t rows = 0;
    std::uint64_t chunks = 0;
    std::uint64_t memoryStates = 0;
    std::uint64_t pyramidSegments = 0;
    EventCounts events;         ///< that decoded
    std::vector<Fault> faults;  ///< the first hundred
    std::uint64_t faultCount = 0;
    std::vector<std::string> notes;  ///< no faults, but worth a word

    [[nodiscard]] bool sound() const { return faultCount == 0; }
    void add(std::string where, std::string what);
};

/// Checks the file's structure, that rows refer to rows that exist, every chunk (checksum,
/// decoding, counts and bounds as in its row, order of time, lanes and strings it refers to),
/// memory state and pyramids against the events, and totals. An error only when the file cannot be
/// opened.
Result<Verification> verifyRecording(const std::string& path);

}  // namespace shardscope::storage
