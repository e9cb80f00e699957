// Reads how much work lay in queue over time: what the table `queues` of `launches` sums up.
#pragma once

#include "profiler/analysis/launches.h"
#include "profiler/questions/question.h"

#include <string>
#include <vector>

namespace shardscope::questions {

struct StreamQueue {
    RankId rank;
    std::string stream;
    std::vector<analysis::QueueSample> samples;  ///< never empty
};
/// Of each stream of the selected ranks whose launches are known; of at most `mostRanks` ranks.
[[nodiscard]] Result<std::vector<StreamQueue>> readQueues(const Asked& asked,
                                                          std::size_t mostRanks);

}  // namespace shardscope::questions
