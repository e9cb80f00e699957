// How busy the whole run was, for the minimap: asked of the pyramids on the loader thread.
#pragma once

#include "app/desktop/models/open_recording.h"
#include "storage/recording/read/generation.h"
#include "storage/recording/read/recording_reader.h"

#include <memory>
#include <vector>

namespace shardscope::desktop {

/// Shares of equal stretches of time, 0 to 1, mean over ranks.
struct MinimapDensity {
    TimeRange range;
    std::vector<float> compute;
    std::vector<float> communication;  ///< blocked in it; of traces without phases: it ran
    std::vector<float> rest;           ///< calibration, host work where nothing else is known
    bool isBlocked = true;             ///< what `communication` is

    [[nodiscard]] bool holdsAnything() const;

    /// Adds a stretch of which `share` was busy to the buckets that it touches.
    void add(std::vector<float>& buckets, TimeRange part, double share) const;
};
using MinimapDensityPtr = std::shared_ptr<const MinimapDensity>;

Result<MinimapDensityPtr> loadMinimap(storage::RecordingReader& reader,
                                      const OpenRecording& recording,
                                      const storage::Generation& generation);

}  // namespace shardscope::desktop
