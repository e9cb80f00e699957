#include "app/desktop/pages/timeline/lane_tracks.h"

#include "storage/model/lanes.h"

#include <algorithm>

namespace shardscope::desktop {
namespace {

bool nests(const KnownLane& lane) {
    if (lane.facts->role == LaneRole::kCounter) return false;
    if (isOverheadLane(lane.facts->lane, lane.facts->name)) return false;
    if (lane.identity.section == LaneSection::kThreads) return true;
    if (lane.identity.section != LaneSection::kStreams) return false;
    return lane.identity.content == LaneContent::kAnnotations ||
           runsOnStream(lane.facts->lane, lane.facts->role);
}

bool areTogether(const KnownLane& a, const KnownLane& b) {
    return a.facts->rank == b.facts->rank && a.identity.section == b.identity.section &&
           a.identity.group == b.identity.group && nests(a) && nests(b);
}

}  // namespace

bool runsOnStream(LaneId lane, LaneRole role) {
    return isStreamLane(lane) && (role == LaneRole::kCompute || role == LaneRole::kCommunication ||
                                  role == LaneRole::kCopy);
}

std::vector<LanesOfRow> rowsOf(const LanesOfRow& lanes, bool nested) {
    std::vector<LanesOfRow> rows;
    for (const KnownLane* lane : lanes) {
        const auto track = std::find_if(rows.begin(), rows.end(), [&](const LanesOfRow& row) {
            return nested && areTogether(*row.front(), *lane);
        });
        if (track != rows.end())
            track->push_back(lane);
        else
            rows.push_back({lane});
    }
    for (LanesOfRow& row : rows)
        std::stable_sort(row.begin(), row.end(), [](const KnownLane* a, const KnownLane* b) {
            return a->identity.content < b->identity.content;
        });
    return rows;
}

}  // namespace shardscope::desktop
