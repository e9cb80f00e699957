// What a trace of another tool is asked for the Overview: where its devices' time went, what ran,
// for what they were idle. Loader thread.
#pragma once

#include "app/desktop/models/answer_table.h"
#include "app/desktop/models/selected_part.h"
#include "storage/model/result.h"
#include "storage/recording/read/recording_reader.h"

#include <vector>

namespace shardscope::desktop {

/// Tables with something in them, the most telling first.
[[nodiscard]] Result<std::vector<AnswerTable>> readTraceTables(storage::RecordingReader& reader,
                                                               const SelectedPart& part);

}  // namespace shardscope::desktop
