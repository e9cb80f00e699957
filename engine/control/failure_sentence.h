// What an exception means, in a sentence for people.
#pragma once

#include <exception>
#include <string>

namespace shardscope::control {

/// Without the C++ stack that LibTorch appends to its words.
[[nodiscard]] std::string sentenceOf(const std::exception& error);

/// From now on an uncaught exception, on any thread, ends the process with its sentence
/// on standard error behind `program`, and with this status. Instead of abort() and a stack.
void endWithSentence(const char* program, int status);

}  // namespace shardscope::control
