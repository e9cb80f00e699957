// A program's options, verbs and words as completions of shells: what comes after a prefix, and for
// zsh and fish what it means. Pure.
#pragma once

#include "app/manual/program_help.h"

#include <string>

namespace shardscope::manual {

/// To be sourced by bash 4 or later; needs nothing else.
[[nodiscard]] std::string bashCompletion(const Program& program);
/// A file of $fpath, _NAME.
[[nodiscard]] std::string zshCompletion(const Program& program);
/// A file of $fish_complete_path, NAME.fish.
[[nodiscard]] std::string fishCompletion(const Program& program);

}  // namespace shardscope::manual
