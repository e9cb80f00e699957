// Answers as people read them in a terminal.
#pragma once

#include "profiler/questions/answer/answer.h"
#include "profiler/questions/question.h"

#include <cstddef>
#include <string>
#include <vector>

namespace shardscope::cli {

/// Rows of a table that are shown unless all are asked for.
inline constexpr std::size_t kMostRows = 20;

/// Sentences, figures, tables with scaled units, and last what is unknown. Tables show at
/// most `mostRows` rows and say how many they leave out; 0: all.
[[nodiscard]] std::string answerText(const questions::Answer& answer, std::size_t mostRows);

/// Title and rows; a table of an answer likewise.
[[nodiscard]] std::string tableText(const questions::Table& table, std::size_t mostRows = 0);
/// Named values in a column, each line after `indent`; values of several lines stay readable.
[[nodiscard]] std::string figuresText(const std::vector<questions::Figure>& figures,
                                      const std::string& indent = "");

/// A part of a longer document: a title, and below it, indented, figures, sentences and tables.
[[nodiscard]] std::string sectionText(const std::string& title, const questions::Answer& answer);

/// All rows as a table of Markdown, without the title. No name in it is markup.
[[nodiscard]] std::string tableMarkdown(const questions::Table& table);

/// The same with tables as Markdown has them, all of their rows, and what each column means.
[[nodiscard]] std::string answerMarkdown(const questions::Answer& answer);

/// "  TITLE: what it means" a line, of figures and columns that say it; each line once.
[[nodiscard]] std::string columnDefinitions(const questions::Answer& answer);

/// What the question is, how it is answered, and what each column means.
[[nodiscard]] std::string explanation(const questions::Question& question,
                                      const questions::Answer& answer);

/// One line for each question there is.
[[nodiscard]] std::string questionList();

}  // namespace shardscope::cli
