#include "engine/run/config/run_commands.h"

#include "engine/run/config/host_list.h"
#include "engine/run/config/run_option.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace shardscope::run {
namespace {

constexpr std::string_view kBlanks = " \t\n";

/// One word from `at` on, which is moved behind it; false: a quote has no end.
bool takeWord(std::string_view text, std::size_t& at, std::string& word) {
    for (char quote = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (quote == 0 && kBlanks.find(c) != kBlanks.npos) return true;
        if (c == quote) {
            quote = 0;
        } else if (quote == 0 && (c == '\'' || c == '"')) {
            quote = c;
        } else if (c == '\\' && quote != '\'' && at + 1 < text.size()) {
            word += text[++at];
        } else {
            word += c;
        }
        if (at + 1 == text.size() && quote != 0) return false;
    }
    return true;
}

}  // namespace

bool loadsCode(std::string_view variable) {
    // NCCL's name libraries, the folder that libcuda.so is taken from, a file of such settings, and
    // files that it writes; ours name programs.
    constexpr std::string_view kParts[] = {"PLUGIN", "FILE", "DUMP", "PATH", "_PROGRAM", "_PYTHON"};
    return std::any_of(std::begin(kParts), std::end(kParts),
                       [&](std::string_view part) { return variable.find(part) != variable.npos; });
}

std::vector<RunCommand> commandsOf(const RunConfig& config) {
    std::vector<RunCommand> commands;
    if (config.sshCommand != RunConfig().sshCommand)
        commands.push_back({"ssh_command", "ssh_command runs a program"});
    const auto hosts = parseHosts(config.hosts);
    if (!hosts) return commands;
    for (const HostConfig& host : *hosts)
        for (const auto& [name, value] : host.environment)
            if (loadsCode(name))
                commands.push_back(
                    {"hosts",
                     fmt::format("{} of host {} says what ranks load or write", name, host.name)});
    return commands;
}

std::string refusedCommand(const RunCommand& command, std::string_view source) {
    const char* flag = findRunOption(command.key)->flag;
    return fmt::format(
        "{}, and {} may only name one with --allow-commands; give it as {} on the command line, or "
        "add --allow-commands",
        command.what, source, flag);
}

Result<void> checkCommands(const RunConfig& config, const MayRun& mayRun, const std::string& place,
                           std::string_view source) {
    for (const RunCommand& command : commandsOf(config))
        if (!mayRun(command.key))
            return failure(ErrorCode::kUsage, place + ": " + refusedCommand(command, source));
    return {};
}

Result<std::vector<std::string>> commandWords(std::string_view text) {
    std::vector<std::string> words;
    for (std::size_t at = text.find_first_not_of(kBlanks); at < text.size();
         at = text.find_first_not_of(kBlanks, at))
        if (!takeWord(text, at, words.emplace_back()))
            return failure(ErrorCode::kUsage,
                           "a quote in '" + std::string(text) + "' has no end; close it");
    if (words.empty()) return failure(ErrorCode::kUsage, "there is no command; leave it out");
    return words;
}

}  // namespace shardscope::run
