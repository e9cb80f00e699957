// An answer of profiler/questions as a table of the window: the same figures and words as on the
// command line. Pure.
#pragma once

#include "app/desktop/models/table_model.h"
#include "profiler/questions/answer/answer.h"

#include <QString>
#include <vector>

namespace shardscope::desktop {

struct AnswerTable {
    QString title;
    std::vector<TableColumn> columns;
    std::vector<std::vector<TableCell>> rows;
    std::size_t left = 0;  ///< rows that are not among these
};

/// The first `mostRows` rows, 0: all; columns that people are to see and that say something of a
/// row at least, and of those only `keys` where some are given.
[[nodiscard]] AnswerTable answerTable(const questions::Table& table, std::size_t mostRows = 0,
                                      const std::vector<const char*>& keys = {});
/// Null: the answer has no such table.
[[nodiscard]] const questions::Table* findTable(const questions::Answer& answer, const char* key);
/// What is unknown, a sentence each, at most so many.
[[nodiscard]] QString unknownSentences(const questions::Answer& answer, std::size_t most);
/// "12.1 ms"; unknownText() of nothing.
[[nodiscard]] QString cellText(const questions::Cell& cell, questions::Unit unit);

}  // namespace shardscope::desktop
