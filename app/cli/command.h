// A subcommand of `shardscope`: its options, added to the root, and what runs when it is named.
//
// Each file provides `Command addX(CLI::App& root)`; main.cpp lists them. Option values live in
// state that `run` keeps alive.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>

namespace shardscope::cli {

struct Command {
    CLI::App* app = nullptr;
    std::function<int()> run;  ///< returns the exit status
};

Command addRecord(CLI::App& root);
Command addVerify(CLI::App& root);
Command addAgent(CLI::App& root);
Command addReport(CLI::App& root);
Command addInfo(CLI::App& root);
Command addImport(CLI::App& root);
Command addQuery(CLI::App& root);
Command addRepair(CLI::App& root);
Command addExport(CLI::App& root);
Command addTokenize(CLI::App& root);
Command addDoctor(CLI::App& root);

}  // namespace shardscope::cli
