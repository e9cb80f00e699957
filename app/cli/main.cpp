// `shardscope`: finds the subcommand, runs it, turns its outcome into an exit status.
#include "app/cli/console.h"
#include "app/cli/root_command.h"
#include "engine/launch/ssh/ssh_command.h"
#include "engine/run/config/near_miss.h"
#include "storage/model/result.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::cli {
namespace {

/// Of other verbs a word after -- is an argument of theirs that begins with a dash.
constexpr std::string_view kVerbWithProgram = "record";

/// The word where a subcommand was expected, when there is one and it names none.
std::string unknownCommand(const CLI::App& root, int argc, char** argv) {
    if (argc < 2 || argv[1][0] == '-') return {};
    std::vector<std::string> names;
    for (const CLI::App* app : root.get_subcommands([](const CLI::App*) { return true; })) {
        if (app->get_name() == argv[1]) return {};
        if (!app->get_group().empty()) names.push_back(app->get_name());
    }
    return fmt::format("unknown command '{}'{}", argv[1], run::suggestion(argv[1], names));
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
        if (const auto near = run::nearMiss(word, flags)) {
            return fmt::format("; did you mean {}?", *near);
        }
    }
    return {};
}

/// `verb`: whose help says more; empty: that of the program.
int usageError(const std::string& sentence, const std::string& verb = {}) {
    tellError(sentence);
    tell(fmt::format("Run 'shardscope {}--help' for how to use it.\n",
                     verb.empty() ? "" : verb + " "));
    return static_cast<int>(ErrorCode::kUsage);
}

/// Gets the stack that the program needs, by starting it again where the limit may be raised, since
/// threads get what the process started with. A sentence where it may not.
std::string stackComplaint(char** argv) {
    constexpr rlim_t kNeeded = rlim_t{1} << 20;
    constexpr rlim_t kUsual = rlim_t{8} << 20;
    rlimit limit{};
    if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kNeeded) return {};
    const rlimit raised{std::min(limit.rlim_max, kUsual), limit.rlim_max};
    if (raised.rlim_cur >= kNeeded && ::setrlimit(RLIMIT_STACK, &raised) == 0)
        ::execv("/proc/self/exe", argv);
    return fmt::format("the stack is limited to {} KiB, and {} are needed: raise it (ulimit -s {})",
                       limit.rlim_cur / 1024, kNeeded / 1024, kUsual / 1024);
}

/// Where the verb's own words end and a program of the user's begins: its --, or the end.
int ownWords(int argc, char** argv) {
    const auto* end = std::find_if(argv + std::min(argc, 1), argv + argc,
                                   [](const char* word) { return std::string_view(word) == "--"; });
    return static_cast<int>(end - argv);
}

/// Hands over what stands behind --; the sentence of a verb that takes no program.
std::string giveProgram(const Command& command, int own, int argc, char** argv) {
    if (own == argc || !command.takeProgram) return {};
    if (own + 1 == argc) return "-- is followed by no program; name one, or leave it out";
    command.takeProgram({argv + own + 1, argv + argc});
    return {};
}

int run(int argc, char** argv) {
    if (const auto complaint = stackComplaint(argv); !complaint.empty()) {
        tellError(complaint);
        return static_cast<int>(ErrorCode::kFailure);
    }
    CLI::App root;
    const std::vector<Command> commands = addCommands(root);
    const bool takesProgram = argc > 1 && std::string_view(argv[1]) == kVerbWithProgram;
    const int own = takesProgram ? ownWords(argc, argv) : argc;
    if (const auto complaint = unknownCommand(root, argc, argv); !complaint.empty()) {
        return usageError(complaint);
    }
    try {
        root.parse(own, argv);
    } catch (const CLI::ParseError& error) {
        // Help and version are "errors" with status 0.
        if (error.get_exit_code() == 0) {
            const int status = root.exit(error);
            std::cout.flush();
            if (std::cout) return status;
            tellError("cannot write to standard output");
            return static_cast<int>(ErrorCode::kFailure);
        }
        const bool unknown = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
        // Not of an unknown one: that was found above.
        const std::string verb = argc > 1 && argv[1][0] != '-' ? argv[1] : "";
        std::string advice = unknown ? flagSuggestion(root, own, argv) : "";
        if (unknown && advice.empty() && takesProgram && own == argc)
            advice =
                "; a program to record follows --: shardscope record -o run.sscope -- python "
                "train.py";
        return usageError(error.what() + advice, verb);
    }
    for (const Command& command : commands) {
        if (!command.app->parsed()) continue;
        const auto complaint = giveProgram(command, own, argc, argv);
        return complaint.empty() ? command.run() : usageError(complaint, argv[1]);
    }
    return usageError("no command was given");
}

}  // namespace
}  // namespace shardscope::cli

/// Started by ssh to ask something (launch/ssh/ssh_command.h).
int answerSsh(const char* question, const char* accepted) {
    const std::string answer = shardscope::launch::answerTo(question, accepted);
    if (answer.empty()) return 1;
    std::cout << answer << std::endl;
    return 0;
}

int main(int argc, char** argv) {
    if (const char* accepted = std::getenv(shardscope::launch::kAcceptedKey);
        accepted != nullptr && argc == 2)
        return answerSsh(argv[1], accepted);
    // A file that grows past `ulimit -f` is an error of the write, as a full disk is; ranks inherit
    // this.
    std::signal(SIGXFSZ, SIG_IGN);
    shardscope::cli::occupyStandardDescriptors();
    try {
        return shardscope::cli::run(argc, argv);
    } catch (const std::bad_alloc&) {
        shardscope::cli::tellError(
            "out of memory; close other programs, or raise the limit (`ulimit -v`)");
        return static_cast<int>(shardscope::ErrorCode::kFailure);
    } catch (const std::exception& error) {
        shardscope::cli::tellError(fmt::format("unexpected failure: {}", error.what()));
        return static_cast<int>(shardscope::ErrorCode::kFailure);
    }
}
