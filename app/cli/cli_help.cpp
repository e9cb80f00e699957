#include "app/cli/cli_help.h"

#include "app/cli/console.h"
#include "app/cli/version.h"
#include "engine/run/config/run_option.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace shardscope::cli {
namespace {

/// With the words of "LEVEL:{full,light}".
manual::Argument argumentOf(const CLI::Option& option) {
    if (option.get_type_size() == 0) return {};
    const std::string type = option.get_type_name();
    manual::Argument argument{argumentName(option), {}};
    const std::size_t begin = type.find(":{");
    const std::size_t end = type.find('}', begin);
    if (begin == std::string::npos || end == std::string::npos) return argument;
    std::istringstream words(type.substr(begin + 2, end - begin - 2));
    for (std::string word; std::getline(words, word, ',');) argument.words.push_back(word);
    return argument;
}

manual::Option optionOf(const CLI::Option& option) {
    manual::Option made;
    for (const std::string& each : option.get_snames()) made.names.push_back("-" + each);
    for (const std::string& each : option.get_lnames()) made.names.push_back("--" + each);
    made.argument = argumentOf(option);
    made.description = option.get_description();
    made.required = option.get_required();
    made.many = option.get_items_expected_max() > 1;
    // The help shows its name, not its type.
    if (made.names.empty() && (made.argument.name == "TEXT" || made.argument.name.empty()))
        made.argument.name = option.get_name();
    return made;
}

void addOptions(const CLI::App& app, manual::Verb& verb) {
    for (const CLI::Option* option : app.get_options()) {
        if (option->get_positional()) {
            verb.positionals.push_back(optionOf(*option));
            continue;
        }
        if (option->get_group().empty()) continue;
        const std::string title = option->get_group() == "Options" ? "" : option->get_group();
        auto group = std::find_if(verb.groups.begin(), verb.groups.end(),
                                  [&](const auto& each) { return each.title == title; });
        if (group == verb.groups.end()) group = verb.groups.insert(verb.groups.end(), {title, {}});
        group->options.push_back(optionOf(*option));
    }
}

manual::Verb verbOf(const CLI::App& app) {
    manual::Verb verb;
    verb.name = app.get_name();
    verb.summary = app.get_description();
    addOptions(app, verb);
    verb.sections = manual::sectionsOf(app.get_footer());
    return verb;
}

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

/// Two columns; a long name has a separate line.
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

manual::Program programHelp(const CLI::App& root) {
    manual::Program program{root.get_name(), productVersion(), verbOf(root), {}};
    program.itself.name.clear();
    for (const CLI::App* each : root.get_subcommands([](const CLI::App*) { return true; }))
        if (!each->get_group().empty()) program.verbs.push_back(verbOf(*each));
    return program;
}

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
