// What is read of a recording as soon as it is opened. Runs on the loader thread.
#pragma once

#include "app/desktop/models/open_recording.h"
#include "storage/recording/read/recording_reader.h"

namespace shardscope::desktop {

/// Everything pages show at once. Reads all phases and collectives.
Result<RecordingPtr> loadRecording(storage::RecordingReader& reader, const QString& path);

}  // namespace shardscope::desktop
