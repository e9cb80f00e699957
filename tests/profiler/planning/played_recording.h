// A recording of ranks that take exactly as long as they are told: what a forecast learns from, and
// what it must give.
#pragma once

#include "engine/run/config/run_config.h"
#include "engine/run/theory/communicator_theory.h"
#include "storage/model/recording.h"

#include <vector>

namespace shardscope::test {

/// Nanoseconds of each thing that a rank computes; of an element where it says so.
struct Pace {
    std::int64_t data = 7'000, embed = 11'000, block = 100'000, head = 90'000;
    std::int64_t blockBackward = 210'000, embedBackward = 13'000;
    std::int64_t clipElement = 1, optimizerElement = 3;
    std::int64_t wake = 5'000;  ///< after a wait that blocked
    std::int64_t after = 0;     ///< between one thing that is computed and the next
};

struct PlayedRecording {
    RecordingSummary summary;
    std::vector<RankEvents> ranks;
    Duration step;  ///< of the last one
};

/// `steps` steps of all ranks of `config`, on one host of `cores` cores.
[[nodiscard]] PlayedRecording playRecording(const run::RunConfig& config, const Pace& pace,
                                            const theory::LinkModel& link, std::int32_t steps,
                                            std::int32_t cores = 0);

}  // namespace shardscope::test
