#include "engine/run/theory/link_model.h"

#include <algorithm>
#include <cmath>

namespace shardscope::theory {

std::int64_t modelledNs(const LinkModel& link, CollectiveOp operation, int ranks,
                        std::int64_t bytes) {
    if (ranks < 2) return 0;
    const double hops = ranks - 1;
    const double all = static_cast<double>(bytes) / link.bytesPerSecond;
    const double round = hops * link.latencySeconds + hops / ranks * all;
    double seconds = round;
    switch (operation) {
        case CollectiveOp::kAllGather:
        case CollectiveOp::kReduceScatter:
        case CollectiveOp::kAllToAll:
            break;
        case CollectiveOp::kAllReduce:
        case CollectiveOp::kBarrier:
            seconds = 2 * round;
            break;
        case CollectiveOp::kBroadcast:
            seconds = hops * link.latencySeconds + all;
            break;
        case CollectiveOp::kSend:
        case CollectiveOp::kReceive:
            seconds = link.latencySeconds + all;
            break;
    }
    // Over a link that is next to none no sum of many overflows.
    constexpr double kLongestSeconds = 1e6;
    return std::llround(std::min(seconds, kLongestSeconds) * 1e9);
}

}  // namespace shardscope::theory
