#include "app/cli/run_flags.h"

#include <fmt/format.h>

namespace shardscope::cli {
namespace {

bool isSwitch(const control::RunOption& field) {
    return *field.argument == '\0';
}

/// A switch that turns something off has a twin that leaves it on: --no-x, --x.
std::string switchNames(const std::string& flag) {
    constexpr std::string_view kNegation = "--no-";
    if (!flag.starts_with(kNegation)) return flag;
    return fmt::format("{0},!--{1}", flag, flag.substr(kNegation.size()));
}

}  // namespace

void RunFlags::addTo(CLI::App& app, const Filter& wanted) {
    for (const control::RunOption& field : control::runOptions()) {
        if (*field.flag == '\0' || !wanted(field)) continue;
        CLI::Option* option =
            isSwitch(field)
                ? app.add_flag(switchNames(field.flag), m_switches[field.key], field.help)
                : app.add_option(field.flag, m_texts[field.key], field.help)
                      ->type_name(field.argument);
        // As with every compiler: the last one counts.
        option->group("Run")->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
        m_options[field.key] = option;
    }
}

bool RunFlags::given(const std::string& key) const {
    const auto option = m_options.find(key);
    return option != m_options.end() && option->second->count() > 0;
}

std::string RunFlags::text(const std::string& key) const {
    return given(key) ? m_texts.at(key) : std::string();
}

Result<void> RunFlags::apply(control::RunConfig& config) const {
    const control::RunConfig standard;
    for (const auto& [key, option] : m_options) {
        if (option->count() == 0) continue;
        const control::RunOption& field = *control::findRunOption(key);
        Result<void> done;
        if (!isSwitch(field)) {
            done = control::setFromText(field, config, m_texts.at(key));
        } else {
            // A switch turns its field away from the default.
            done = field.set(config, m_switches.at(key) != std::get<bool>(field.get(standard)));
        }
        if (!done) return done;
    }
    return {};
}

}  // namespace shardscope::cli
