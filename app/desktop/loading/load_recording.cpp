#include "app/desktop/loading/load_recording.h"

namespace shardscope::desktop {
namespace {

constexpr int kDensityBuckets = 1200;

}  // namespace

Result<RecordingPtr> loadRecording(storage::RecordingReader& reader, const QString& path) {
    auto loaded = std::make_shared<OpenRecording>();
    loaded->path = path;
    auto summary = reader.summary();
    if (!summary) return failure(summary);
    loaded->summary = std::move(*summary);
    for (const RankFacts& rank : loaded->summary.ranks) {
        auto events = reader.rankEvents(rank.rank, loaded->summary.bounds);
        if (!events) return failure(events);
        loaded->ranks.push_back(std::move(*events));
    }
    loaded->report = analysis::analyse(loaded->summary, loaded->ranks);
    loaded->density = runDensity(loaded->ranks, loaded->summary.bounds, kDensityBuckets);
    return RecordingPtr(std::move(loaded));
}

}  // namespace shardscope::desktop
