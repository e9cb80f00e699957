#include "app/manual/completion.h"
#include "app/manual/shell_words.h"

namespace shardscope::manual {
namespace {

std::string fishQuoted(const std::string& text) {
    return '\'' + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + '\'';
}

std::string optionLine(const std::string& before, const Option& option) {
    std::string line = before;
    for (const std::string& name : option.names)
        line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (!option.argument.words.empty())
        line += " -x -a " + fishQuoted(joined(option.argument.words));
    else if (!option.argument.name.empty())
        line += " -r";
    return line + " -d " + fishQuoted(option.description) + '\n';
}

std::string linesOf(const std::string& before, const Verb& verb) {
    std::string text;
    for (const Option& option : optionsOf(verb)) text += optionLine(before, option);
    for (const Option& each : verb.positionals)
        if (!each.argument.words.empty())
            text += before + " -a " + fishQuoted(joined(each.argument.words)) + " -d " +
                    fishQuoted(each.description) + '\n';
    return text;
}

}  // namespace

std::string fishCompletion(const Program& program) {
    const std::string all = "complete -c " + program.name;
    std::string text =
        "# fish completion of " + program.name + ", made of the program's own tables of options\n";
    if (program.verbs.empty()) return text + linesOf(all, program.itself);
    const std::string first = all + " -n __fish_use_subcommand";
    text += linesOf(first, program.itself);
    for (const Verb& verb : program.verbs)
        text += first + " -f -a " + verb.name + " -d " + fishQuoted(verb.summary) + '\n';
    for (const Verb& verb : program.verbs)
        text +=
            linesOf(all + " -n " + fishQuoted("__fish_seen_subcommand_from " + verb.name), verb);
    return text;
}

}  // namespace shardscope::manual
