// Options that mean the same in every verb that has them.
#pragma once

#include "app/cli/command.h"

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class Validator;
}  // namespace CLI

namespace shardscope::cli {

/// An argument that is one of these words, or another one where it is not checked: completions in
/// shells offer them; the help shows `argument` alone.
CLI::Option* offer(CLI::Option* option, const std::string& argument,
                   const std::vector<std::string>& words);

/// A number within both; NaN is not.
CLI::Validator numberWithin(double least, double most);

/// -o, --output
CLI::Option* addOutput(CLI::App& app, std::string& output, const std::string& help);

/// -f, --force; `what` may be replaced.
CLI::Option* addForce(CLI::App& app, bool& force, const std::string& what);
inline constexpr const char* kAnOldRecording = "the output if it is a recording";

/// --allow-commands; `source`: "a run file".
CLI::Option* addAllowCommands(CLI::App& app, bool& allow, const std::string& source);

/// --steps, of what is looked at
CLI::Option* addSteps(CLI::App& app, std::string& steps);

/// --ranks, of what is looked at or written
CLI::Option* addRanks(CLI::App& app, std::vector<std::uint32_t>& ranks);

/// -q, --quiet
CLI::Option* addQuiet(CLI::App& app, bool& quiet);

/// --json; `document` says which: "shardscope.report/1".
CLI::Option* addJson(CLI::App& app, bool& json, const std::string& document);

/// --ssh-command, of verbs that read recordings of other hosts
CLI::Option* addSshCommand(CLI::App& app, std::string& command);

}  // namespace shardscope::cli
