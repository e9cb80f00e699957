#include "app/cli/root_command.h"

#include "app/cli/cli_help.h"
#include "app/cli/version.h"

#include <memory>

namespace shardscope::cli {
namespace {

constexpr const char* kFooter = R"(Examples:
  shardscope record --strategy zero3 --ranks 2 --model shakespeare --output run.sscope
  shardscope report run.sscope
  shardscope COMMAND --help

Exit status: 0 ok, 1 failure, 2 usage, 3 input unreadable, 4 launch failed,
5 a training rank failed, 6 compare --gate: a rule was broken, 7 none was and
some could not be judged, 130 interrupted.)";

}  // namespace

std::vector<Command> addCommands(CLI::App& root) {
    root.name("shardscope");
    root.description("Trains transformers on several ranks and records where time and memory go.");
    root.formatter(std::make_shared<HelpFormatter>());
    root.set_version_flag("--version", productVersion());
    root.set_help_flag("-h,--help", "print this help and exit");
    root.footer(kFooter);
    root.require_subcommand(1);
    std::vector<Command> commands;
    for (const auto addVerb : kVerbs) commands.push_back(addVerb(root));
    return commands;
}

}  // namespace shardscope::cli
