// What a trace of another tool is asked for the Overview: where its devices' time went, what ran,
// for what they were idle; of a run of ours on devices, what they copied. Loader thread.
#pragma once

#include "app/desktop/models/answer_table.h"
#include "app/desktop/models/format.h"
#include "app/desktop/models/selected_part.h"
#include "app/desktop/models/table_model.h"
#include "storage/model/result.h"
#include "storage/recording/read/recording_reader.h"

#include <QString>
#include <vector>

namespace shardscope::desktop {

enum class TraceTables { kAll, kCopies };
/// Tables with something in them, the most useful first.
[[nodiscard]] Result<std::vector<AnswerTable>> readTraceTables(storage::RecordingReader& reader,
                                                               const SelectedPart& part,
                                                               TraceTables wanted);

// What pages say about the GPUs of a run: which, shared or not, how much of their peaks is used,
// what their kernels did, what they draw. Pure.

/// Why there are no kernels: switched off, another tracer, too old a driver; empty: there are.
[[nodiscard]] QString untracedText(const SelectedPart& part);

/// One row a rank: device, memory, driver, peaks.
[[nodiscard]] std::vector<TableColumn> deviceColumns();
[[nodiscard]] std::vector<std::vector<TableCell>> deviceRows(const SelectedPart& part);
/// One row a rank: what its kernels did within training time, and the device's energy.
[[nodiscard]] std::vector<TableColumn> deviceTimeColumns();
[[nodiscard]] std::vector<std::vector<TableCell>> deviceTimeRows(const SelectedPart& part);
/// What the second table is of, or why it is empty.
[[nodiscard]] QString deviceTimeNote(const SelectedPart& part);

}  // namespace shardscope::desktop
