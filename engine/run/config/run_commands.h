// What of a run's settings runs programs, and who may say it.
//
// A run file, a host file that it names and a checkpoint are data: they may come from elsewhere,
// and starting a run from one must run nothing but this program and ssh. A command line is its
// user's own.
#pragma once

#include "engine/run/config/run_config.h"
#include "storage/model/result.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::run {

/// Whether a variable that hosts may be given (HostConfig::mayPass()) says which library or program
/// is loaded, or which file is written, so that setting it is running something.
[[nodiscard]] bool loadsCode(std::string_view variable);

/// A setting that makes a run start a program, or load a library.
struct RunCommand {
    const char* key = "";  ///< of the option that holds it: "ssh_command" or "hosts"
    std::string what;      ///< "ssh_command runs a program"
    std::string value;     ///< the command, library or folder
    std::string host;      ///< of "hosts": the one that it is set for
};

/// All of `config` but the default's. Hosts that cannot be read name none; a host file's are those
/// of its text, which has to stand in the place of its name.
[[nodiscard]] std::vector<RunCommand> commandsOf(const RunConfig& config);

/// Whether what the option of this key says may run something: the command line has said it
/// itself, or --allow-commands.
using MayRun = std::function<bool(std::string_view key)>;

/// Why it is not taken from `source`, "a run file" or "a checkpoint", and what to do.
[[nodiscard]] std::string refusedCommand(const RunCommand& command, std::string_view source);

/// Of settings that were read from `place`, a path. Errors (kUsage): one of them may not run what
/// it says.
Result<void> checkCommands(const RunConfig& config, const MayRun& mayRun, const std::string& place,
                           std::string_view source);

// The words of a command that stands in one text, as `ssh -F 'my config'`.

/// Blanks are between words but within quotes, single or double, and after a backslash, as sh has
/// it; nothing is expanded. kUsage: a quote without its end, no word at all.
[[nodiscard]] Result<std::vector<std::string>> commandWords(std::string_view text);

}  // namespace shardscope::run
