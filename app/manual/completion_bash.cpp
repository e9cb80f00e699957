#include "app/manual/completion.h"
#include "app/manual/shell_words.h"

#include <fmt/format.h>

namespace shardscope::manual {
namespace {

/// Options, those of them that take a word, and words by place. `last`: the last place's words are
/// those of all that follow.
std::string caseOf(const Verb& verb) {
    std::vector<std::string> options;
    std::vector<std::string> valued;
    for (const Option& option : optionsOf(verb)) {
        options.insert(options.end(), option.names.begin(), option.names.end());
        if (!option.argument.name.empty())
            valued.insert(valued.end(), option.names.begin(), option.names.end());
    }
    std::string places;
    bool repeats = false;
    for (const Option& each : verb.positionals) {
        places +=
            fmt::format("{}{}", places.empty() ? "" : " ", quoted(joined(each.argument.words)));
        repeats = each.many;
    }
    return fmt::format(
        "        {})\n            options={}\n            valued={}\n            places=({})\n"
        "            repeats={:d} ;;\n",
        quoted(verb.name), quoted(joined(options)), quoted(joined(valued)), places, repeats);
}

std::string wordsOf(const Verb& verb) {
    std::string text;
    for (const Option& option : optionsOf(verb)) {
        if (option.argument.words.empty()) continue;
        std::vector<std::string> patterns;
        patterns.reserve(option.names.size());
        for (const std::string& name : option.names)
            patterns.push_back(quoted(verb.name + " " + name));
        text += "        " + joined(patterns, " | ") + ") echo " +
                quoted(joined(option.argument.words)) + " ;;\n";
    }
    return text;
}

/// NAME stands for the program's name as a part of functions' names, PROGRAM for the name.
constexpr const char* kFunctions = R"(
_NAME() {
    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local verb='' options valued places repeats offered='' place=0 i
    COMPREPLY=()
    # bash makes three words of --option=word
    if [[ $current == '=' ]]; then
        current=''
    elif [[ $before == '=' ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if [[ -n $_NAME_verbs ]]; then
        if ((COMP_CWORD > 1)) && [[ " $_NAME_verbs " == *" ${COMP_WORDS[1]} "* ]]; then
            verb=${COMP_WORDS[1]}
        elif ((COMP_CWORD == 1)) && [[ $current != -* ]]; then
            COMPREPLY=($(compgen -W "$_NAME_verbs" -- "$current"))
            return
        fi
    fi
    _NAME_table "$verb"
    if [[ " $valued " == *" $before "* ]]; then
        offered=$(_NAME_words "$verb $before")
    elif [[ $current == -* ]]; then
        offered=$options
    else
        for ((i = ${#verb} > 0 ? 2 : 1; i < COMP_CWORD; ++i)); do
            if [[ ${COMP_WORDS[i]} != -* && ${COMP_WORDS[i]} != '=' ]]; then
                [[ " $valued " == *" ${COMP_WORDS[i - 1]} "* || ${COMP_WORDS[i - 1]} == '=' ]] || ((++place))
            fi
        done
        ((repeats && place >= ${#places[@]})) && place=$((${#places[@]} - 1))
        ((place < ${#places[@]})) && offered=${places[place]}
    fi
    # Arguments without a list of words complete as files.
    COMPREPLY=($(compgen -W "$offered" -- "$current"))
}
complete -o default -F _NAME PROGRAM
)";

}  // namespace

std::string bashCompletion(const Program& program) {
    std::vector<std::string> verbs;
    std::string table = caseOf(program.itself);
    std::string words = wordsOf(program.itself);
    for (const Verb& verb : program.verbs) {
        verbs.push_back(verb.name);
        table += caseOf(verb);
        words += wordsOf(verb);
    }
    const std::string name = identifier(program.name);
    std::string text =
        "# bash completion of " + program.name +
        ", made of the program's own tables of options\n_" + name +
        "_verbs=" + quoted(joined(verbs)) + "\n_" + name +
        "_table() {\n    options='' valued='' places=() repeats=0\n    case $1 in\n" + table +
        "    esac\n}\n_" + name + "_words() {\n    case $1 in\n" + words +
        "        *) ;;\n    esac\n}\n";
    return text + replaced(replaced(kFunctions, "NAME", name), "PROGRAM", program.name);
}

}  // namespace shardscope::manual
