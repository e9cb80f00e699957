#include "engine/run/config/communicator_kind.h"

namespace shardscope::run {

CommunicatorKind communicatorOf(const RunConfig& config) {
    if (config.device == Device::kCuda) return CommunicatorKind::kNccl;
    if (config.linkGigabytesPerSecond > 0) return CommunicatorKind::kModelled;
    if (config.transport == Transport::kGloo) return CommunicatorKind::kGloo;
    const RankPlaces places = placesOf(config);
    if (places.onOneHost()) return CommunicatorKind::kSharedMemory;
    // As engine/worker/rank_links.cpp chooses: hosts of one rank each are a ring by themselves.
    return places.even() && places.ranksOf(0) > 1 ? CommunicatorKind::kHierarchical
                                                  : CommunicatorKind::kGloo;
}

}  // namespace shardscope::run
