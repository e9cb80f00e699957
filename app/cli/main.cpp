// `shardscope`: finds the subcommand, runs it, turns its outcome into an exit status.
#include "app/cli/command.h"
#include "app/cli/version.h"
#include "engine/control/near_miss.h"
#include "storage/model/result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <vector>

namespace shardscope::cli {
namespace {

constexpr const char* kFooter = R"(Examples:
  shardscope record --strategy zero3 --ranks 2 --model shakespeare --output run.sscope
  shardscope report run.sscope
  shardscope COMMAND --help

Exit status: 0 ok, 1 failure, 2 usage, 3 input unreadable, 4 launch failed,
5 a training rank failed, 130 interrupted.)";

std::vector<Command> addCommands(CLI::App& root) {
    return {addRecord(root),   addImport(root), addReport(root), addVerify(root),
            addInfo(root),     addQuery(root),  addRepair(root), addExport(root),
            addTokenize(root), addDoctor(root), addAgent(root)};
}

/// The word where a subcommand was expected, when there is one and it names none.
std::string unknownCommand(const CLI::App& root, int argc, char** argv) {
    if (argc < 2 || argv[1][0] == '-') return {};
    std::vector<std::string> names;
    for (const CLI::App* app : root.get_subcommands([](const CLI::App*) { return true; })) {
        if (app->get_name() == argv[1]) return {};
        if (!app->get_group().empty()) names.push_back(app->get_name());
    }
    return fmt::format("unknown command '{}'{}", argv[1], control::suggestion(argv[1], names));
}

/// What a mistyped flag may have meant.
std::string flagSuggestion(const CLI::App& root, int argc, char** argv) {
    std::vector<std::string> flags;
    for (const CLI::App* app : root.get_subcommands(
             [&](const CLI::App* each) { return argc > 1 && each->get_name() == argv[1]; })) {
        for (const CLI::Option* option : app->get_options()) {
            for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
        }
    }
    for (int i = 2; i < argc; ++i) {
        const std::string word = std::string(argv[i]).substr(0, std::string(argv[i]).find('='));
        if (!word.starts_with("--")) continue;
        if (std::find(flags.begin(), flags.end(), word) != flags.end()) continue;
        if (const auto near = control::nearMiss(word, flags)) {
            return fmt::format("; did you mean {}?", *near);
        }
    }
    return {};
}

int usageError(const std::string& sentence) {
    fmt::print(stderr, "shardscope: {}\nRun 'shardscope --help' for how to use it.\n", sentence);
    return static_cast<int>(ErrorCode::kUsage);
}

int run(int argc, char** argv) {
    CLI::App root("Trains transformers on several ranks and records where time and memory go.",
                  "shardscope");
    root.set_version_flag("--version", productVersion());
    root.set_help_flag("-h,--help", "print this help and exit");
    root.footer(kFooter);
    root.require_subcommand(1);
    const std::vector<Command> commands = addCommands(root);
    if (const auto complaint = unknownCommand(root, argc, argv); !complaint.empty()) {
        return usageError(complaint);
    }
    try {
        root.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        // Help and version are "errors" with status 0.
        if (error.get_exit_code() == 0) return root.exit(error);
        const bool unknown = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
        return usageError(error.what() + (unknown ? flagSuggestion(root, argc, argv) : ""));
    }
    for (const Command& command : commands) {
        if (command.app->parsed()) return command.run();
    }
    return usageError("no command was given");
}

}  // namespace
}  // namespace shardscope::cli

int main(int argc, char** argv) {
    try {
        return shardscope::cli::run(argc, argv);
    } catch (const std::exception& error) {
        fmt::print(stderr, "shardscope: unexpected failure: {}\n", error.what());
        return static_cast<int>(shardscope::ErrorCode::kFailure);
    }
}
