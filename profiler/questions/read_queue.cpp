#include "profiler/questions/read_queue.h"

#include "profiler/questions/device_work.h"

#include <utility>

namespace shardscope::questions {

Result<std::vector<StreamQueue>> readQueues(const Asked& asked, std::size_t mostRanks) {
    std::vector<StreamQueue> queues;
    std::size_t ranks = 0;
    for (const RankFacts& facts : asked.summary.ranks) {
        if (ranks == mostRanks) break;
        const auto device = readLaunches(asked, facts.rank);
        if (!device) return failure(device);
        bool any = false;
        for (const auto& [stream, work] : device->streams) {
            auto samples = analysis::queueSamples(work);
            if (samples.empty()) continue;
            any = true;
            queues.push_back({facts.rank, stream, std::move(samples)});
        }
        ranks += any;
    }
    return queues;
}

}  // namespace shardscope::questions
