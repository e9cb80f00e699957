// A collective as its ranks took part in it, read where it lies: for its details, the way to it on
// another rank, and how slices of collectives are drawn. Loader thread.
#pragma once

#include "app/desktop/models/open_recording.h"
#include "app/desktop/models/selection.h"
#include "app/desktop/pages/timeline/timeline_frame.h"
#include "storage/model/collective_key.h"
#include "storage/recording/read/recording_reader.h"

#include <map>
#include <optional>
#include <vector>

namespace shardscope::desktop {

struct CollectiveView {
    CollectiveEvent event;                    ///< of the rank that was asked for
    std::vector<RankId> members;              ///< of its group, in the order of its arrivals
    std::map<RankId, CollectiveEvent> peers;  ///< it on each rank that recorded it
    Duration notBehindCompute;
};

/// Null: none with that key touches the slice on its rank.
using CollectiveViewPtr = std::shared_ptr<const CollectiveView>;
[[nodiscard]] Result<CollectiveViewPtr> loadCollective(storage::RecordingReader& reader,
                                                       const OpenRecording& recording, RankId rank,
                                                       CollectiveKey key, TimeRange slice);

/// The slice of the same collective `rankStep` ranks on, those that did not record it passed over;
/// nullopt: there is no other.
[[nodiscard]] std::optional<FoundSlice> sameCollective(const CollectiveView& collective,
                                                       const RecordingSummary& summary,
                                                       LaneAddress from, const SliceView& slice,
                                                       int rankStep);

/// Where it is drawn: of `preferred` where that recorded it, else of any rank `among` those that
/// are selected. nullopt: nowhere, as where it is kernels that do not say which collective they
/// belong to.
[[nodiscard]] Result<std::optional<FoundSlice>> findCollective(storage::RecordingReader& reader,
                                                               const OpenRecording& recording,
                                                               CollectiveKey key, TimeRange range,
                                                               const Selection& among,
                                                               std::optional<RankId> preferred);

/// Says of single slices of a rank's own communication lane what they were and how long they
/// waited. A picture has no more of them than pixels.
[[nodiscard]] Result<void> joinCollectives(storage::RecordingReader& reader, const LaneFacts& lane,
                                           std::vector<SliceView>& slices);

}  // namespace shardscope::desktop
