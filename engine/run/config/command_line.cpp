#include "engine/run/config/run_config.h"
#include "engine/run/config/run_option.h"
#include "storage/model/shell_word.h"

#include <fmt/format.h>

namespace shardscope::run {
namespace {

std::string argumentText(const OptionValue& value) {
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
    return fmt::format("{}", std::get<std::int64_t>(value));
}

/// A switch turns its field away from the default; what turns it back is --x for --no-x, and
/// --x=false else.
std::string switchText(const RunOption& option, const OptionValue& value) {
    constexpr std::string_view kNegation = "--no-";
    const std::string_view flag = option.flag;
    if (value != option.get(RunConfig())) return option.flag;
    if (flag.starts_with(kNegation)) return fmt::format("--{}", flag.substr(kNegation.size()));
    return fmt::format("{}=false", flag);
}

}  // namespace

std::string toCommandLine(const RunConfig& config) {
    return toCommandLine(config, RunConfig());
}

std::string toCommandLine(const RunConfig& config, const RunConfig& start) {
    std::string line = "shardscope record";
    for (const std::string& word : toArguments(config, start)) line += ' ' + typedWord(word);
    return line;
}

std::vector<std::string> toArguments(const RunConfig& config, const RunConfig& start) {
    RunConfig base = start;
    // --model comes first and replaces all of the model.
    base.model = findModelPreset(config.model.name).value_or(RunConfig().model);
    std::vector<std::string> words{"--model", base.model.name};
    for (const RunOption& option : runOptions()) {
        if (*option.flag == '\0') continue;
        const OptionValue value = option.get(config);
        // Always named: what a reader looks for first.
        const std::string_view key = option.key;
        const bool always = key == "strategy" || key == "ranks";
        if (!always && value == option.get(base)) continue;
        if (option.isSwitch()) {
            words.push_back(switchText(option, value));
            continue;
        }
        words.emplace_back(option.flag);
        words.push_back(argumentText(value));
    }
    return words;
}

}  // namespace shardscope::run
