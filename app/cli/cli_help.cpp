#include "app/cli/cli_help.h"

#include "app/cli/help_formatter.h"
#include "app/cli/version.h"

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
    // People are told its name, not its type.
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

}  // namespace

manual::Program programHelp(const CLI::App& root) {
    manual::Program program{root.get_name(), productVersion(), verbOf(root), {}};
    program.itself.name.clear();
    for (const CLI::App* each : root.get_subcommands([](const CLI::App*) { return true; }))
        if (!each->get_group().empty()) program.verbs.push_back(verbOf(*each));
    return program;
}

}  // namespace shardscope::cli
