// What is read of a recording as soon as it is opened. Runs on the loader thread.
#pragma once

#include "app/desktop/models/open_recording.h"
#include "storage/recording/read/recording_reader.h"

namespace shardscope::desktop {

/// Its rows alone: no events, no report.
Result<std::shared_ptr<OpenRecording>> sketchRecording(storage::RecordingReader& reader,
                                                       const QString& path);
/// Adds the events of one more rank; false: it has them all.
Result<bool> addNextRank(storage::RecordingReader& reader, OpenRecording& sketch);
/// Draws conclusions, once it has the events of all ranks.
void complete(OpenRecording& sketch);

/// Everything pages show at once. Reads all phases and collectives. `again`: it is one that grows.
Result<RecordingPtr> loadRecording(storage::RecordingReader& reader, const QString& path,
                                   bool again = false);

}  // namespace shardscope::desktop
