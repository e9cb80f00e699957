// What the Memory page asks of a recording. Runs on the loader thread; ends with kCancelled soon
// after a newer question was asked.
#pragma once

#include "app/desktop/models/open_recording.h"
#include "app/desktop/pages/memory/memory_frame.h"
#include "storage/recording/read/generation.h"
#include "storage/recording/read/recording_reader.h"

namespace shardscope::desktop {

Result<MemoryFramePtr> loadMemory(storage::RecordingReader& reader, const OpenRecording& recording,
                                  const MemoryQuery& query, const storage::Generation& generation);

}  // namespace shardscope::desktop
