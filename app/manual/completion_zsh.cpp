#include "app/manual/completion.h"
#include "app/manual/shell_words.h"

#include <fmt/format.h>

namespace shardscope::manual {
namespace {

/// Within the brackets of a specification, quoted as a whole afterwards.
std::string described(const std::string& text) {
    std::string safe = replaced(text, "\\", "\\\\");
    for (const char* each : {"[", "]", ":"}) safe = replaced(safe, each, std::string("\\") + each);
    return safe;
}

/// ":FILE:_files"; empty: nothing stands behind it.
std::string action(const Argument& argument) {
    if (argument.name.empty()) return {};
    const std::string words =
        argument.words.empty() ? "_files" : fmt::format("({})", joined(argument.words));
    return fmt::format(":{}:{}", described(argument.name), words);
}

std::string optionLines(const Verb& verb) {
    std::string text;
    for (const Option& option : optionsOf(verb)) {
        for (const std::string& name : option.names) {
            // A long one takes its word behind a sign of equality too.
            const char* taken =
                option.argument.name.empty() ? "" : (name.starts_with("--") ? "=" : "+");
            text += " \\\n                " +
                    quoted("*" + name + taken + "[" + described(option.description) + "]" +
                           action(option.argument));
        }
    }
    return text;
}

std::string positionalLines(const Verb& verb) {
    std::string text;
    for (std::size_t i = 0; i < verb.positionals.size(); ++i) {
        const Option& each = verb.positionals[i];
        const std::string place = each.many ? "*" : std::to_string(i + 1);
        text += " \\\n                " + quoted(place + action(each.argument));
    }
    return text;
}

std::string caseOf(const Verb& verb) {
    return "        " + verb.name + ")\n            _arguments" + optionLines(verb) +
           positionalLines(verb) + " ;;\n";
}

}  // namespace

std::string zshCompletion(const Program& program) {
    const std::string head =
        "#compdef " + program.name + "\n# Made of the program's own tables of options.\n";
    if (program.verbs.empty())
        return head + "_arguments" + optionLines(program.itself) + positionalLines(program.itself) +
               '\n';
    std::string verbs;
    std::string cases;
    for (const Verb& verb : program.verbs) {
        verbs += fmt::format(" \\\n            {}",
                             quoted(fmt::format("{}:{}", verb.name, verb.summary)));
        cases += caseOf(verb);
    }
    const std::string name = fmt::format("_{}", identifier(program.name));
    return head + name +
           "() {\n    local context state line\n    typeset -A opt_args\n    _arguments -C" +
           optionLines(program.itself) +
           " \\\n                '1: :->verb' '*:: :->rest'\n    case $state in\n        verb)\n"
           "            local -a verbs=(" +
           verbs +
           ")\n            _describe command verbs ;;\n        rest)\n        case $line[1] in\n" +
           cases + "        esac ;;\n    esac\n}\n" + name + " \"$@\"\n";
}

}  // namespace shardscope::manual
