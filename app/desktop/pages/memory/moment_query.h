// What the Memory page asks a recording about one moment. Runs on a loader thread; ends with
// kCancelled soon after a newer question was asked.
#pragma once

#include "app/desktop/models/open_recording.h"
#include "app/desktop/pages/memory/moment_frame.h"
#include "storage/recording/read/generation.h"
#include "storage/recording/read/recording_reader.h"

#include <utility>

namespace shardscope::desktop {

Result<MomentFramePtr> loadMoment(storage::RecordingReader& reader, const OpenRecording& recording,
                                  MomentQuery query, const storage::Generation& generation);

/// When the blocks of the frame were freed.
Result<BlockEnds> loadBlockEnds(storage::RecordingReader& reader, const OpenRecording& recording,
                                const MomentFrame& frame, const storage::Generation& generation);

/// Frames of the stack that allocated a block, innermost first, as details: numbers and texts.
using StackRows = std::vector<std::pair<QString, QString>>;
Result<StackRows> loadStack(storage::RecordingReader& reader, RankId rank,
                            const MemoryEvent& block);

}  // namespace shardscope::desktop
