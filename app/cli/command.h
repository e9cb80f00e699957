// A subcommand of `shardscope`: its options, added to the root, and what runs when it is named.
//
// Each verb's file provides `Command addX(CLI::App& root)`; root_command.h lists them. Option
// values live in state that `run` keeps alive.
#pragma once

#include <functional>
#include <string>
#include <vector>

// Not CLI/CLI.hpp: options.h says why.
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace shardscope::cli {

struct Command {
    CLI::App* app = nullptr;
    std::function<int()> run;  ///< returns the exit status
    /// Takes what follows after --, a program with its arguments; null: the verb takes none.
    std::function<void(std::vector<std::string> program)> takeProgram{};
};

}  // namespace shardscope::cli
