// A subcommand of `shardscope`: its options, added to the root, and what runs when it is named.
//
// Each verb's file provides `Command addX(CLI::App& root)`; verbs.h lists them. Option values live
// in state that `run` keeps alive.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>

namespace shardscope::cli {

struct Command {
    CLI::App* app = nullptr;
    std::function<int()> run;  ///< returns the exit status
};

}  // namespace shardscope::cli
