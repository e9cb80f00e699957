#include "app/cli/record/run_flags.h"

#include "app/cli/options.h"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace shardscope::cli {
namespace {

/// A switch that turns something off has a twin that leaves it on: --no-x, --x.
std::string switchNames(const std::string& flag) {
    constexpr std::string_view kNegation = "--no-";
    if (!flag.starts_with(kNegation)) return flag;
    return fmt::format("{0},!--{1}", flag, flag.substr(kNegation.size()));
}

/// As every verb that writes a file names it.
std::string flagNames(const run::RunOption& option) {
    return option.key == std::string_view("output") ? fmt::format("-o,{}", option.flag)
                                                    : std::string(option.flag);
}

/// "40", "fp32", "on"; empty: nothing worth saying.
std::string defaultText(const run::RunOption& option) {
    const run::OptionValue usual = option.get(run::RunConfig());
    if (const auto* on = std::get_if<bool>(&usual)) return *on ? "on" : "";
    if (const auto* number = std::get_if<double>(&usual)) return fmt::format("{}", *number);
    if (const auto* whole = std::get_if<std::int64_t>(&usual)) return fmt::format("{}", *whole);
    const std::string& text = std::get<std::string>(usual);
    return text == "\n" ? "a new line" : text;
}

std::vector<std::string> wordsOf(const run::RunOption& option) {
    std::vector<std::string> words;
    if (option.choices == nullptr) return words;
    for (const run::OptionChoice& choice : option.choices()) words.emplace_back(choice.word);
    return words;
}

/// "sampling temperature; 0 = greedy [0.8]"
std::string helpText(const run::RunOption& option) {
    std::string text = option.help;
    if (option.choices != nullptr) text += fmt::format(" ({})", fmt::join(wordsOf(option), ", "));
    const std::string usual = defaultText(option);
    return usual.empty() ? text : fmt::format("{} [{}]", text, usual);
}

void typed(const Option& added, const run::RunOption& option) {
    if (option.choices == nullptr)
        added.takes(option.argument);
    else
        added.offers(option.argument, wordsOf(option));
}

}  // namespace

void RunFlags::addTo(CLI::App& app, const Filter& wanted) {
    for (const run::RunOption& option : run::runOptions()) {
        if (*option.flag == '\0' || !wanted(option)) continue;
        const Option added =
            option.isSwitch()
                ? addFlag(app, switchNames(option.flag), m_switches[option.key], helpText(option))
                : addOption(app, flagNames(option), m_texts[option.key], helpText(option));
        if (!option.isSwitch()) typed(added, option);
        // As with every compiler: the last one counts.
        added.under(toWord(option.section)).lastCounts();
        m_options[option.key] = added;
    }
    addHelpAll(app);
}

bool RunFlags::given(const std::string& key) const {
    const auto option = m_options.find(key);
    return option != m_options.end() && option->second.given();
}

std::string RunFlags::text(const std::string& key) const {
    return given(key) ? m_texts.at(key) : std::string();
}

Result<void> RunFlags::applySwitches(run::RunConfig& config) const {
    const run::RunConfig standard;
    for (const auto& [key, option] : m_options) {
        const run::RunOption& each = *run::findRunOption(key);
        if (!option.given() || !each.isSwitch()) continue;
        // A switch turns its field away from the default.
        auto done = each.set(config, m_switches.at(key) != std::get<bool>(each.get(standard)));
        if (!done) return done;
    }
    return {};
}

std::vector<std::string> RunFlags::givenTexts() const {
    std::vector<std::string> keys;
    for (const run::RunOption& option : run::runOptions())
        if (!option.isSwitch() && given(option.key)) keys.emplace_back(option.key);
    return keys;
}

Result<void> RunFlags::apply(run::RunConfig& config) const {
    for (const std::string& key : givenTexts()) {
        auto done = run::setFromText(*run::findRunOption(key), config, m_texts.at(key));
        if (!done) return done;
    }
    return applySwitches(config);
}

}  // namespace shardscope::cli
