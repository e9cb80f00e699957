#include "engine/run/config/program_run.h"

#include "storage/model/shell_word.h"
#include "storage/model/words.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace shardscope::run {
namespace {

using Json = nlohmann::ordered_json;

std::string_view fileOf(std::string_view path) {
    while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
    const auto slash = path.rfind('/');
    return slash == std::string_view::npos || slash + 1 == path.size() ? path
                                                                       : path.substr(slash + 1);
}

/// Programs that are known for what they run.
bool isInterpreter(std::string_view file) {
    constexpr std::array kShells{"sh", "bash", "dash", "zsh", "ksh", "env"};
    return file.starts_with("python") ||
           std::find(kShells.begin(), kShells.end(), file) != kShells.end();
}

bool isScript(std::string_view word) {
    return word.ends_with(".py") || word.ends_with(".sh") || word.ends_with(".bash");
}

std::string_view scriptOf(const std::vector<std::string>& command) {
    for (std::size_t i = 1; i < command.size(); ++i) {
        if (isScript(command[i])) return fileOf(command[i]);
        if (command[i] == "-m" && i + 1 < command.size()) return command[i + 1];
    }
    return {};
}

std::string textIn(const Json& json, const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

std::string toJson(const ProgramRun& program) {
    return Json{{"program",
                 {{"command", program.command},
                  {"folder", program.folder},
                  {"capture", toWord(program.capture)}}}}
        .dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<ProgramRun> parseProgramJson(std::string_view text) {
    const Json root = Json::parse(text, nullptr, false);
    const auto found = root.is_object() ? root.find("program") : root.end();
    if (!root.is_object() || found == root.end() || !found->is_object()) return std::nullopt;
    ProgramRun program;
    const Json command = found->value("command", Json::array());
    if (!command.is_array()) return std::nullopt;
    for (const Json& word : command) {
        if (!word.is_string()) return std::nullopt;
        program.command.push_back(word.get<std::string>());
    }
    if (program.command.empty()) return std::nullopt;
    program.folder = textIn(*found, "folder");
    program.capture = fromWord<CaptureLevel>(textIn(*found, "capture")).value_or(program.capture);
    return program;
}

std::string commandText(const std::vector<std::string>& command) {
    std::string text;
    for (const std::string& word : command) text += (text.empty() ? "" : " ") + typedWord(word);
    return text;
}

std::string programTitle(const std::vector<std::string>& command) {
    if (command.empty()) return {};
    const std::string program(fileOf(command.front()));
    const std::string script(scriptOf(command));
    if (script.empty()) return program;
    return isInterpreter(program) ? script : program + " " + script;
}

}  // namespace shardscope::run
