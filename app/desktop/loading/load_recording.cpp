#include "app/desktop/loading/load_recording.h"

#include "profiler/questions/read_device.h"
#include "profiler/questions/read_growth.h"
#include "profiler/questions/read_surroundings.h"

namespace shardscope::desktop {
namespace {

constexpr int kDensityBuckets = 1200;

}  // namespace

Result<std::shared_ptr<OpenRecording>> sketchRecording(storage::RecordingReader& reader,
                                                       const QString& path) {
    auto sketch = std::make_shared<OpenRecording>();
    sketch->path = path;
    auto summary = reader.summary();
    if (!summary) return failure(summary);
    sketch->summary = std::move(*summary);
    return sketch;
}

Result<bool> addNextRank(storage::RecordingReader& reader, OpenRecording& sketch) {
    if (sketch.ranks.size() == sketch.summary.ranks.size()) return false;
    const RankId next = sketch.summary.ranks[sketch.ranks.size()].rank;
    auto events = reader.rankEvents(next, sketch.summary.bounds);
    if (!events) return failure(events);
    const auto rows = questions::deviceRows(reader, sketch.summary, {*events});
    if (!rows) return failure(rows);
    sketch.deviceRows.insert(sketch.deviceRows.end(), rows->begin(), rows->end());
    const auto growths = questions::memoryGrowths(reader, sketch.summary, {*events});
    if (!growths) return failure(growths);
    sketch.growths.insert(sketch.growths.end(), growths->begin(), growths->end());
    if (auto added = questions::addSurroundings(reader, sketch.summary, {}, next, sketch.around);
        !added)
        return failure(added);
    sketch.ranks.push_back(std::move(*events));
    return true;
}

void complete(OpenRecording& sketch) {
    sketch.report = analysis::analyse(sketch.summary, sketch.ranks, sketch.deviceRows,
                                      sketch.growths, sketch.around);
    sketch.density = runDensity(sketch.ranks, sketch.summary.bounds, kDensityBuckets);
}

Result<RecordingPtr> loadRecording(storage::RecordingReader& reader, const QString& path,
                                   bool again) {
    auto loaded = sketchRecording(reader, path);
    if (!loaded) return failure(loaded);
    (*loaded)->grows = again && !(*loaded)->summary.complete;
    while (true) {
        const auto more = addNextRank(reader, **loaded);
        if (!more) return failure(more);
        if (!*more) break;
    }
    complete(**loaded);
    return RecordingPtr(std::move(*loaded));
}

}  // namespace shardscope::desktop
