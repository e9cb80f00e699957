#include "app/desktop/pages/timeline/canvas/timeline_legend.h"

#include "app/desktop/models/recording_texts.h"

#include <QObject>
#include <algorithm>

namespace shardscope::desktop {

std::vector<LegendEntry> timelineLegend(const OpenRecording& recording, bool heatMap) {
    const auto& summary = recording.summary;
    const auto has = [&](LaneRole role) {
        return std::any_of(summary.lanes.begin(), summary.lanes.end(),
                           [role](const LaneFacts& lane) { return lane.role == role; });
    };
    const bool communicates = has(LaneRole::kCommunication);
    std::vector<LegendEntry> entries{{QObject::tr("compute"), Meaning::kCompute}};
    if (communicates) {
        entries.push_back({QObject::tr("all-gather (AG)"), Meaning::kGather});
        entries.push_back({QObject::tr("reduce-scatter (RS)"), Meaning::kReduction});
        entries.push_back({QObject::tr("all-reduce (AR)"), Meaning::kAllReduce});
        entries.push_back({QObject::tr("others"), Meaning::kOtherCollective});
    }
    entries.push_back({QObject::tr("copies"), Meaning::kCopy});
    entries.push_back({QObject::tr("optimizer"), Meaning::kOptimizer});
    entries.push_back({QObject::tr("host"), Meaning::kHost});
    // a trace does not say how long a collective waited; a thin row has no room for hatches
    if (communicates && !recording.isTrace() && !heatMap)
        entries.push_back({QObject::tr("waiting"), Meaning::kWaiting});
    if (!modelledLinkText(recording).isEmpty() && !heatMap)
        entries.push_back({QObject::tr("pale, dotted edge: modelled"), Meaning::kNone});
    return entries;
}

}  // namespace shardscope::desktop
