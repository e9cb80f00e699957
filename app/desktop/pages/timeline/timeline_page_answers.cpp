// What the page asks of the recording, and where the answers go.
#include "app/desktop/pages/timeline/canvas/timeline_canvas.h"
#include "app/desktop/pages/timeline/details/communication_headline.h"
#include "app/desktop/pages/timeline/details/slice_details.h"
#include "app/desktop/pages/timeline/details/slice_panel.h"
#include "app/desktop/pages/timeline/tables/timeline_tables.h"
#include "app/desktop/pages/timeline/timeline_page.h"
#include "app/desktop/pages/timeline/timeline_query.h"
#include "app/desktop/pages/timeline/tracks/minimap.h"

#include <algorithm>

namespace shardscope::desktop {
namespace {

/// With a little of what lies beside it, so that it can be seen to begin and to end.
TimeRange around(TimeRange range) {
    const Duration margin{std::max<std::int64_t>(range.duration().ns / 10, 1'000)};
    return {range.begin - margin, range.end + margin};
}

}  // namespace

void TimelinePage::askForHeadline(bool tooFar) {
    const QString far = tooFar ? tr(" · select a shorter range for its table: all of it would have "
                                    "to come from the other host")
                               : QString();
    m_headline.ask(
        [selected = selection().current()](auto& reader, const auto& recording,
                                           const auto& generation) {
            return loadCommunication(reader, recording, selected, generation);
        },
        [this, far, selected = selection().current()](const CommunicationFacts& facts) {
            // what it was asked of may have failed to open meanwhile
            if (!hasRecording()) return;
            const RangeTexts texts = rangeTexts(recording(), selected, facts);
            pageFrame().setHeadline(texts.headline, texts.subline + far);
        });
}

void TimelinePage::askForPicture(const TimelineQuery& query) {
    m_picture.ask(
        [query](auto& reader, const auto& recording, const auto& generation) {
            return loadTimeline(reader, recording, query, generation);
        },
        [this](const TimelineFramePtr& frame) { m_canvas->setFrame(frame); });
}

void TimelinePage::askForDepths(const std::vector<std::vector<LaneAddress>>& rows) {
    m_depths.ask(
        [rows](auto& reader, const auto& recording, const auto& generation) {
            return loadLaneDepths(reader, recording, rows, generation);
        },
        [this](const LaneDepths& depths) { m_canvas->setDepths(depths); });
}

void TimelinePage::askForDensity() {
    m_density.ask([](auto& reader, const auto& recording,
                     const auto& generation) { return loadMinimap(reader, recording, generation); },
                  [this](const MinimapDensityPtr& density) { m_minimap->setDensity(density); });
}

void TimelinePage::askForNeighbour(bool forward) {
    const auto& hit = m_canvas->selectedSlice();
    if (!hit) return;
    const NeighbourQuery query{hit->key, hit->slice.range, hit->slice.depth, forward};
    m_neighbour.ask(
        [query](auto& reader, const auto& recording, const auto& generation) {
            return loadNeighbour(reader, recording, query, generation);
        },
        [this, key = query.key](const std::optional<SliceView>& slice) {
            if (slice) m_canvas->selectSlice(key, *slice);
        });
}

void TimelinePage::askForLinks(const LinkQuery& query) {
    m_links.ask(
        [query](auto& reader, const auto& recording, const auto& generation) {
            return loadLinks(reader, recording, query, generation);
        },
        [this, query](const std::vector<LinkedSlice>& links) { showLinks(query, links); });
}

void TimelinePage::presentSlice() {
    const auto& hit = m_canvas->selectedSlice();
    const LaneFacts* lane = hit && hasRecording() ? recording().lane(hit->key) : nullptr;
    if (lane == nullptr) return;
    m_panel->showDetails(sliceDetails(recording(), *lane, hit->slice));
    giveRoom();
    m_rows->showSlice(*lane, hit->slice);
    if (isCollective(*hit)) return askForCollective(*hit);
    askForLinks(*hit);
}

bool TimelinePage::isCollective(const TimelineHit& hit) const {
    return hit.role == LaneRole::kCommunication && !isStreamLane(hit.key.lane) &&
           hit.slice.count == 1 && hit.slice.correlation != 0;
}

/// Its details once more, with what all its ranks say; then its links.
void TimelinePage::askForCollective(const TimelineHit& hit) {
    m_collective.ask(
        [hit](auto& reader, const auto& recording, const auto&) {
            return loadCollective(reader, recording, hit.key.rank,
                                  CollectiveKey::of(hit.slice.correlation), hit.slice.range);
        },
        [this, hit](const CollectiveViewPtr& view) {
            const auto& now = m_canvas->selectedSlice();
            const LaneFacts* lane = hasRecording() ? recording().lane(hit.key) : nullptr;
            if (!now || now->key != hit.key || now->slice != hit.slice || lane == nullptr) return;
            if (view) m_panel->showDetails(sliceDetails(recording(), *lane, hit.slice, view.get()));
            askForLinks(hit);
        });
}

void TimelinePage::askForLinks(const TimelineHit& hit) {
    const bool hasArrows =
        recording().summary.events.flows > 0 && hit.slice.count == 1 && !hit.slice.instant;
    const bool isOurs =
        !recording().isTrace() && hit.slice.count == 1 && hit.slice.correlation != 0;
    if (hasArrows || isOurs || mayBeLinked(hit.key.lane, hit.slice))
        askForLinks(LinkQuery{hit.key, hit.slice.range, hit.slice.correlation, hit.slice.depth});
}

void TimelinePage::showLinks(const LinkQuery& query, const std::vector<LinkedSlice>& links) {
    const auto& hit = m_canvas->selectedSlice();
    // another slice may have been clicked since
    if (!hit || !hasRecording() || hit->key != query.key ||
        hit->slice.correlation != query.correlation)
        return;
    m_canvas->setLinks(links);
    m_panel->showLinks(linkTexts(recording().summary, query.key, hit->slice, links));
    // the one button says where a single one leads
    const bool isOne = links.size() == 1 && links.front().kind != LinkKind::kPeer;
    m_panel->showWays(isOne ? std::vector<QString>()
                            : wayTexts(recording().summary, hit->slice, links));
}

void TimelinePage::goToSameCollective(int rankStep) {
    const auto hit = m_canvas->selectedSlice();
    if (!hit || !hasRecording() || !isCollective(*hit)) return;
    m_collective.ask(
        [hit = *hit](auto& reader, const auto& recording, const auto&) {
            return loadCollective(reader, recording, hit.key.rank,
                                  CollectiveKey::of(hit.slice.correlation), hit.slice.range);
        },
        [this, hit = *hit, rankStep](const CollectiveViewPtr& view) {
            if (!view || !hasRecording()) return;
            if (const auto found =
                    sameCollective(*view, recording().summary, hit.key, hit.slice, rankStep))
                m_canvas->selectSlice(found->key, found->slice);
        });
}

void TimelinePage::pointAt(const Pointed& pointed) {
    if (!pointed.collective && !pointed.range.empty()) m_canvas->setView(around(pointed.range));
    m_neighbour.ask(
        [pointed, among = selection().current()](auto& reader, const auto& recording, const auto&) {
            return pointed.collective ? findCollective(reader, recording, *pointed.collective,
                                                       pointed.range, among, pointed.rank)
                                      : findLongest(reader, recording, pointed.range, pointed.rank);
        },
        [this](const std::optional<FoundSlice>& found) {
            if (found) m_canvas->selectSlice(found->key, found->slice);
        });
}

}  // namespace shardscope::desktop
