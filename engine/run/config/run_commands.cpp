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

/// Of the host in a host file; 0: it is no file's text.
std::size_t lineOf(std::string_view text, std::string_view host) {
    if (text.find('\n') == text.npos || host.empty()) return 0;
    for (std::size_t at = 0, line = 1; at < text.size(); ++line) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        std::string_view words = text.substr(at, end - at);
        words.remove_prefix(std::min(words.find_first_not_of(" \t\xEF\xBB\xBF"), words.size()));
        const bool named = words.starts_with(host);
        words.remove_prefix(named ? host.size() : 0);
        if (named && (words.empty() || std::string_view(" \t\r:").find(words[0]) != words.npos))
            return line;
        at = end + 1;
    }
    return 0;
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
        commands.push_back({"ssh_command", "ssh_command runs a program", config.sshCommand, {}});
    const auto hosts = parseHosts(config.hosts);
    if (!hosts) return commands;
    for (const HostConfig& host : *hosts) {
        if (!host.folder.empty())
            commands.push_back(
                {"hosts",
                 fmt::format("folder of host {} holds the programs that run there", host.name),
                 host.folder, host.name});
        for (const auto& [name, value] : host.environment)
            if (loadsCode(name))
                commands.push_back(
                    {"hosts",
                     fmt::format("{} of host {} says what ranks load or write", name, host.name),
                     value, host.name});
    }
    return commands;
}

std::string refusedCommand(const RunCommand& command, std::string_view source) {
    const char* flag = findRunOption(command.key)->flag;
    return fmt::format(
        "{} ({}), and {} may only name one with --allow-commands; give it as {} on the command "
        "line, or add --allow-commands (with --dry-run it lists all of them and starts nothing)",
        command.what, command.value, source, flag);
}

Result<void> checkCommands(const RunConfig& config, const MayRun& mayRun, const std::string& place,
                           std::string_view source) {
    for (const RunCommand& command : commandsOf(config)) {
        if (mayRun(command.key)) continue;
        const std::size_t line = lineOf(config.hosts, command.host);
        return failure(ErrorCode::kUsage,
                       fmt::format("{}{}: {}", place, line > 0 ? fmt::format(":{}", line) : "",
                                   refusedCommand(command, source)));
    }
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
