// Standard output and standard error of a subcommand.
//
// Their reader may go away at any time: a terminal is closed, a pipe ends, a disk is full. Messages
// are then lost, noted once, and the work goes on; lost output that was asked for is an error.
#pragma once

#include "storage/model/result.h"

#include <optional>
#include <string>
#include <string_view>

namespace shardscope::cli {

/// Opens nothing in the place of what was closed (`2>&-`), so that no file and no socket of ours
/// is ever taken for standard error. Once, before anything else.
void occupyStandardDescriptors();

/// Writes printable() text to standard error. Never fails and never waits for long: what is not
/// taken is lost. One thread.
void tell(std::string_view text);
/// The same of text with control sequences of our own, for a live line: what comes from elsewhere
/// in it is printableLine().
void draw(std::string_view text);
/// A line of ours: asLine(text).
void tellLine(std::string text);
/// "shardscope: SENTENCE" as a separate line; of a sentence of several lines those after the first
/// are indented (quotedLines()), since a name in it may break it.
void tellError(std::string_view sentence);

/// Why messages were lost since the start, in the system's words; nothing when none was.
[[nodiscard]] std::optional<std::string> lostWords();

/// A line of an account, with its end: of names in it, which may hold line breaks, as
/// printableLine().
[[nodiscard]] std::string asLine(std::string text);

/// Writes all of `text` to standard output, as it is. Errors (kFailure): no reader, a full disk.
Result<void> print(std::string_view text);

/// The exit status of a subcommand whose last act is to print a printableDocument(): `status`, or
/// that of the failure, which is reported.
int printLast(std::string text, int status = 0);

/// Columns of the terminal behind a descriptor; nothing where there is none.
[[nodiscard]] std::optional<int> terminalColumns(int descriptor);

/// The first `columns` columns of one line of text in UTF-8.
[[nodiscard]] std::string fitted(const std::string& line, int columns);

/// Lines that are longer than `columns` broken at spaces, their rest indented.
[[nodiscard]] std::string wrapped(const std::string& text, int columns);

}  // namespace shardscope::cli
