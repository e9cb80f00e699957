// Text as words of a shell's line: in commands that are said, and in those that are run.
#pragma once

#include "storage/model/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// As one word of a POSIX shell's line.
[[nodiscard]] std::string shellWord(std::string_view text);

/// The same as people type it: without quotes where it needs none, and in $'...' of bash, zsh and
/// others where it holds what is no plainCharacter(), so that it is one line of text.
[[nodiscard]] std::string typedWord(std::string_view text);

/// A line as a POSIX shell splits it into words: blanks and line ends between them, quotes and
/// backslashes within; and $'...' as typedWord() has it. Nothing is expanded, no shell is started.
/// What a shell would do more with (a pipe, a redirection, two commands) and a quote that is not
/// closed are errors (kUsage) in a sentence.
Result<std::vector<std::string>> wordsOfLine(std::string_view line);

}  // namespace shardscope
