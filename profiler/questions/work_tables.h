// What ran, beside operators and kernels: collectives, parts of the step, matrix products. Internal
// to profiler/questions.
#pragma once

#include "profiler/questions/answer/answer.h"
#include "profiler/questions/question.h"

#include <vector>

namespace shardscope::questions {

/// What takes the events of all ranks, which are read one rank at a time.
struct RankWork {
    Answer collectives;  ///< by operation and cause, most time first
    Answer parts;        ///< forward, backward and optimizer of each rank's host
};
[[nodiscard]] Result<RankWork> readRankWork(const Asked& asked);
/// Its tables, and what it does not know.
void append(Answer part, Answer& answer);

/// Copies and sets of devices by direction and memory, with their bandwidth; most time first.
[[nodiscard]] Result<void> addCopies(const Asked& asked, Answer& answer);

/// Matrix products and whether tensor cores could and did compute them.
[[nodiscard]] Result<void> addProducts(const Asked& asked, Answer& answer);

/// Matrix products against the roofs of their devices, and these roofs.
[[nodiscard]] Result<void> addRoofline(const Asked& asked, Answer& answer);

/// Sorts a table as was asked for, where it has that column, and keeps the first rows.
void putInOrder(const Asked& asked, Table& table);

}  // namespace shardscope::questions
