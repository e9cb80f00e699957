// The report of a recording, for everything that prints or writes it.
#pragma once

#include "profiler/analysis/report.h"
#include "storage/model/result.h"
#include "storage/recording/read/recording_reader.h"

namespace shardscope::cli {

/// `hta`: HTA-compatible numbers also where no rank has a device.
[[nodiscard]] Result<analysis::Report> reportOf(storage::RecordingReader& reader, bool hta);

}  // namespace shardscope::cli
