#include "engine/launch/program/program_start.h"

#include "engine/launch/process.h"
#include "storage/model/shell_word.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace shardscope::launch {
namespace {

bool isThere(const std::string& path) {
    std::error_code ignored;
    return std::filesystem::exists(path, ignored);
}

/// What users write there who expect a shell.
std::string adviceOn(const std::string& word) {
    const auto equals = word.find('=');
    if (equals != std::string::npos && equals > 0 && word.find('/') > equals)
        return fmt::format("a variable is set by --env {} before the --, or by env {} after it",
                           typedWord(word), typedWord(word));
    if (word.find(' ') != std::string::npos)
        return fmt::format("it is one word; leave out the quotes, or say sh -c {}",
                           typedWord(word));
    if (word.find('/') != std::string::npos) return "";
    if (isThere(word))
        return fmt::format("it is not on PATH; ./{} is the one in this folder", typedWord(word));
    return "it is not on PATH; commands of the shell itself need sh -c '...'";
}

StartObstacle notThere(const std::string& program) {
    std::error_code ignored;
    if (program.find('/') != std::string::npos && std::filesystem::is_directory(program, ignored))
        return {kNotExecutable, fmt::format("{} is a folder; name a program", typedWord(program))};
    const std::string advice = adviceOn(program);
    return {kNotFound, fmt::format("{}: there is no such program{}{}", typedWord(program),
                                   advice.empty() ? "" : "; ", advice)};
}

/// What the first line of a script names; empty: it is none, or names none.
std::string interpreterOf(const std::string& path) {
    std::array<char, 256> start{};  // as much as the kernel looks at
    std::ifstream(path, std::ios::binary).read(start.data(), start.size() - 1);
    std::string_view line(start.data());
    if (!line.starts_with("#!")) return {};
    line = line.substr(2, line.find('\n') - 2);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    return std::string(line.substr(0, line.find_first_of(" \t")));
}

}  // namespace

std::optional<StartObstacle> startObstacle(const std::string& program) {
    const std::string path = programPath(program);
    if (path.empty()) return notThere(program);
    const std::string interpreter = interpreterOf(path);
    if (::access(path.c_str(), X_OK) != 0)
        return StartObstacle{kNotExecutable,
                             fmt::format("{} may not be executed; chmod +x {}, or name what runs "
                                         "it, as in python {}",
                                         typedWord(path), typedWord(path), typedWord(path))};
    if (interpreter.empty() || isThere(interpreter)) return std::nullopt;
    return StartObstacle{kNotFound, fmt::format("{} cannot be started: its first line names {}, "
                                                "which is not there",
                                                typedWord(path), typedWord(interpreter))};
}

}  // namespace shardscope::launch
