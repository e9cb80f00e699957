#include "engine/run/config/run_commands.h"

#include "engine/run/config/host_list.h"
#include "engine/run/config/run_option.h"

#include <fmt/format.h>

namespace shardscope::run {

bool loadsCode(std::string_view variable) {
    // A library by its name, the folder that libcuda.so is taken from, a file of such settings, and
    // our own programs.
    return variable.find("PLUGIN") != variable.npos || variable == "NCCL_CUDA_PATH" ||
           variable == "NCCL_CONF_FILE" || variable.ends_with("_PROGRAM") ||
           variable == "SHARDSCOPE_PYTHON";
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
                    {"hosts", fmt::format("{} of host {} says what ranks load", name, host.name)});
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

}  // namespace shardscope::run
