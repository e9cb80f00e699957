#include "app/cli/help_formatter.h"

#include "app/cli/console.h"
#include "engine/run/config/run_option.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace shardscope::cli {
namespace {

constexpr int kMostColumns = 100;
constexpr std::size_t kNameColumns = 32;

int columnsHere() {
    return std::min(terminalColumns(STDOUT_FILENO).value_or(kMostColumns), kMostColumns);
}

bool isRare(const CLI::Option& option) {
    for (const run::RunOption& each : run::runOptions()) {
        if (*each.flag == '\0' || !each.rare) continue;
        for (const std::string& name : option.get_lnames())
            if (each.flag == "--" + name) return true;
    }
    return false;
}

/// Two columns; a long name has a line of its own.
std::string row(const std::string& name, const std::string& text) {
    const std::string indent(kNameColumns, ' ');
    std::string lines = "  " + name;
    if (text.empty()) return lines + '\n';
    if (lines.size() + 1 < kNameColumns)
        lines.resize(kNameColumns, ' ');
    else
        lines += '\n' + indent;
    const int left = std::max(columnsHere() - static_cast<int>(kNameColumns), 30);
    std::string described = wrapped(text, left);
    for (std::size_t at = described.find('\n'); at != std::string::npos;
         at = described.find('\n', at + 1)) {
        // wrapped() indents what goes on by two columns, which here is part of the column.
        std::size_t next = described.find_first_not_of(' ', at + 1);
        if (next == std::string::npos) next = described.size();
        described.replace(at + 1, next - at - 1, indent);
    }
    return lines + described + '\n';
}

}  // namespace

std::string argumentName(const CLI::Option& option) {
    std::string name = option.get_type_name();
    for (const char* check : {":{", ":INT in", ":FLOAT in", ":POSITIVE"})
        name.resize(std::min(name.find(check), name.size()));
    return name;
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string name,
                                     CLI::AppFormatMode mode) const {
    // A verb explains itself in full; the list of all verbs stays a list.
    m_all = mode == CLI::AppFormatMode::All;
    const auto how = m_all ? CLI::AppFormatMode::Normal : mode;
    std::string text = Formatter::make_help(app, std::move(name), how);
    const auto all = app->get_options([](const CLI::Option* each) { return isRare(*each); });
    if (!m_all && !all.empty())
        text += fmt::format("\n{} more options: shardscope {} --help-all\n", all.size(),
                            app->get_name());
    m_all = false;
    // Between headings one empty line.
    for (std::size_t at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n"))
        text.erase(at, 1);
    return text;
}

std::string HelpFormatter::make_group(std::string group, bool isPositional,
                                      std::vector<const CLI::Option*> options) const {
    if (!m_all) std::erase_if(options, [](const CLI::Option* each) { return isRare(*each); });
    if (options.empty()) return {};
    return Formatter::make_group(std::move(group), isPositional, std::move(options));
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool isPositional) const {
    return row(make_option_name(option, isPositional) + make_option_opts(option),
               make_option_desc(option));
}

/// "-o, --output", and "--[no-]calibrate" of a switch and its twin.
std::string HelpFormatter::make_option_name(const CLI::Option* option, bool isPositional) const {
    if (isPositional) return option->get_name(true, false);
    std::string name;
    for (const std::string& each : option->get_snames()) name += "-" + each + ", ";
    const auto& names = option->get_lnames();
    if (names.size() == 2 && names[0] == "no-" + names[1]) return name + "--[no-]" + names[1];
    if (names.empty()) return name.substr(0, name.size() - 2);
    return name + "--" + names[0];
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
    if (option->get_type_size() == 0 || option->get_type_name().empty()) return {};
    return " " + argumentName(*option);
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
    return row(command->get_display_name(true), command->get_description());
}

}  // namespace shardscope::cli
