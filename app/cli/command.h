// A subcommand of `shardscope`: its options, added to the root, and what runs when it is named.
//
// Each verb's file provides `Command addX(CLI::App& root)`; root_command.h lists them. Option
// values live in state that `run` keeps alive.
#pragma once

#include <functional>

// Not CLI/CLI.hpp: options.h says why.
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace shardscope::cli {

struct Command {
    CLI::App* app = nullptr;
    std::function<int()> run;  ///< returns the exit status
};

}  // namespace shardscope::cli
