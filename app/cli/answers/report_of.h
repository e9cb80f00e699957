// The report of a recording, and documents of what `shardscope info` says, for everything that
// prints or writes them.
#pragma once

#include "profiler/analysis/report/report.h"
#include "storage/model/recording.h"
#include "storage/model/result.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/recording/verify/verify_recording.h"

#include <string>

namespace shardscope::cli {

/// `hta`: HTA-compatible numbers also where no rank has a device.
[[nodiscard]] Result<analysis::Report> reportOf(storage::RecordingReader& reader, bool hta);

// JSON with stable keys.
/// shardscope.info/1; `running`: its writer is at work.
[[nodiscard]] std::string infoJson(const RecordingSummary& summary, bool running);
/// shardscope.verification/1
[[nodiscard]] std::string verificationJson(const storage::Verification& found);

}  // namespace shardscope::cli
