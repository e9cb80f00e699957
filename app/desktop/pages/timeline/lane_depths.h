// How many levels lanes have: asked of the recording as a whole, so that rows do not grow while one
// moves along. On the loader thread.
#pragma once

#include "app/desktop/models/open_recording.h"
#include "storage/recording/read/generation.h"
#include "storage/recording/read/recording_reader.h"

#include <map>
#include <vector>

namespace shardscope::desktop {

using LaneDepths = std::map<LaneAddress, int>;

/// Of lanes of spans; 0: nothing is on it.
Result<LaneDepths> loadLaneDepths(storage::RecordingReader& reader, const OpenRecording& recording,
                                  const std::vector<LaneAddress>& lanes,
                                  const storage::Generation& generation);

}  // namespace shardscope::desktop
