#include "storage/interchange/formats/export_scope.h"

namespace shardscope::interchange {

std::string rankTitle(const RecordingSummary& summary, RankId rank) {
    std::string title = "rank " + std::to_string(rank.value);
    for (const RankFacts& facts : summary.ranks)
        if (facts.rank == rank && !facts.device.empty()) title += " (" + facts.device + ")";
    return title;
}

std::string layerTitle(LayerIndex layer) {
    if (layer == kNoLayer) return {};
    if (layer == kRootLayer) return "root";
    return "layer " + std::to_string(layer.value);
}

}  // namespace shardscope::interchange
