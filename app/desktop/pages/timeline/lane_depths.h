// How many levels lanes and tracks have: asked of the recording as a whole, so that rows do not
// grow while one moves along. On the loader thread.
#pragma once

#include "app/desktop/models/open_recording.h"
#include "storage/recording/read/generation.h"
#include "storage/recording/read/recording_reader.h"

#include <map>
#include <vector>

namespace shardscope::desktop {

/// By the lanes of a row: one, or those that nest in one track.
using LaneDepths = std::map<std::vector<LaneAddress>, int>;

/// Of rows of spans; 0: nothing is on it. Of a track as deep as it is in a picture of the whole; in
/// detail too where that is at hand and not too much.
Result<LaneDepths> loadLaneDepths(storage::RecordingReader& reader, const OpenRecording& recording,
                                  const std::vector<std::vector<LaneAddress>>& rows,
                                  const storage::Generation& generation);

}  // namespace shardscope::desktop
