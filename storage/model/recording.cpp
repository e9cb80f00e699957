#include "storage/model/recording.h"

namespace shardscope {

std::uint64_t& EventCounts::of(EventKind kind) {
    switch (kind) {
        case EventKind::kMemory:
            return memory;
        case EventKind::kCounter:
            return counters;
        case EventKind::kCollective:
            return collectives;
        case EventKind::kFlow:
            return flows;
        case EventKind::kInstant:
            return instants;
        case EventKind::kSpan:
            break;
    }
    return spans;
}

}  // namespace shardscope
