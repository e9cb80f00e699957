// Rows of the processes of a recorded program (storage/schema/FORMAT.md, table `processes`).
#pragma once

#include "storage/model/ids.h"
#include "storage/model/units.h"
#include "storage/model/words.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace shardscope {

/// What a process of the program was there for.
enum class ProcessRole : std::uint8_t {
    kProgram = 1,   ///< the program's first one, where it is none of the others
    kRank = 2,      ///< its events are those of a rank
    kLauncher = 3,  ///< starts ranks: torchrun, accelerate
    kLoader = 4,    ///< prepares data for a rank
    kHelper = 5,    ///< of a library: compiles, keeps track of shared memory
    kOther = 6,
};
constexpr auto wordsOf(ProcessRole) {
    return wordList<Word<ProcessRole>>({{ProcessRole::kProgram, "program"},
                                        {ProcessRole::kRank, "rank"},
                                        {ProcessRole::kLauncher, "launcher"},
                                        {ProcessRole::kLoader, "loader"},
                                        {ProcessRole::kHelper, "helper"},
                                        {ProcessRole::kOther, "other"}});
}

/// Bytes of ProcessFacts::command; what is longer is cut.
inline constexpr std::size_t kMostCommandBytes = 300;

struct ProcessFacts {
    std::int32_t host = 0;
    std::int64_t pid = 0;
    std::int64_t parent = 0;  ///< its pid when the process was looked at first
    ProcessRole role = ProcessRole::kOther;
    std::int32_t rank = -1;          ///< -1: it is none
    std::int32_t attempt = 0;        ///< of the rank, from 0: torchrun starts ranks again
    std::string command;             ///< program and arguments; empty: unknown
    Timestamp started;               ///< to 10 ms; before 0 where it lived before the recording
    std::optional<Timestamp> ended;  ///< none: unknown, or it outlived the recording
    std::optional<std::int32_t> exitCode;
    std::optional<std::int32_t> exitSignal;
    std::int64_t cpuTimeNs = 0;  ///< user and system time of all threads, when last looked at
    Bytes peakResident;          ///< 0: unknown
    /// Why nothing of what it did is recorded, a sentence; empty: it is recorded, or there was
    /// nothing to record.
    std::string notRecorded;
};

}  // namespace shardscope
