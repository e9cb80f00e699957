// What is read of a recording as soon as it is opened. Runs on a loader thread.
#pragma once

#include "app/desktop/models/open_recording.h"
#include "profiler/questions/report_reader.h"
#include "storage/recording/read/recording_reader.h"

namespace shardscope::desktop {

/// Its rows alone: no report.
Result<std::shared_ptr<OpenRecording>> sketchRecording(storage::RecordingReader& reader,
                                                       const QString& path, bool beingWritten);
/// `sketch` with the report of what was read of it.
RecordingPtr analysed(const OpenRecording& sketch, questions::ReportReader& read);

/// Likewise, reading it.
Result<RecordingPtr> analysedWhole(const OpenRecording& sketch, storage::RecordingReader& reader);

/// Everything at once.
Result<RecordingPtr> loadRecording(storage::RecordingReader& reader, const QString& path,
                                   bool beingWritten = false);

}  // namespace shardscope::desktop
