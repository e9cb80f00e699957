#include "app/manual/man_page.h"

#include <algorithm>
#include <cctype>

namespace shardscope::manual {
namespace {

/// So that nothing of a text is read as a request, a space or a ligature.
std::string escaped(const std::string& text) {
    std::string safe;
    for (const char each : text) {
        if (each == '\\')
            safe += "\\e";
        else if (each == '-')
            safe += "\\-";
        else if (each == '\'')
            safe += "\\(aq";
        else if (each == '`')
            safe += "\\(ga";
        else if (each == '^')
            safe += "\\(ha";
        else if (each == '~')
            safe += "\\(ti";
        else
            safe += each;
    }
    if (!safe.empty() && safe.front() == '.') safe.insert(0, "\\&");
    return safe;
}

std::string upper(std::string text) {
    for (char& each : text)
        each = static_cast<char>(std::toupper(static_cast<unsigned char>(each)));
    return text;
}

std::string bold(const std::string& text) {
    return "\\fB" + escaped(text) + "\\fR";
}

std::string italic(const std::string& text) {
    return "\\fI" + escaped(text) + "\\fR";
}

std::string heading(const std::string& title) {
    return ".SH \"" + escaped(upper(title)) + "\"\n";
}

/// `words`: what is written as it is, also at the beginning.
std::string sentence(std::string text, const std::vector<std::string>& words = {}) {
    if (text.empty()) return text;
    const std::string first = text.substr(0, text.find(' '));
    const bool asItIs = first.back() == ':' || first.back() == ',' ||
                        std::find(words.begin(), words.end(), first) != words.end();
    if (!asItIs)
        text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
    if (text.back() != '.') text += '.';
    return text;
}

/// As the list of all pages wants it: in lower case, without a full stop.
std::string purpose(std::string text) {
    if (text.empty()) return text;
    text.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(text.front())));
    if (text.back() == '.') text.pop_back();
    return text;
}

/// As it stands in the synopsis.
std::string placed(const Option& positional) {
    std::string text = italic(positional.argument.name);
    if (positional.many) text += " ...";
    return positional.required ? text : "[" + text + "]";
}

std::string described(const Option& option) {
    std::string name;
    for (const std::string& each : option.names) {
        if (!name.empty()) name += ", ";
        name += bold(each);
    }
    if (!option.argument.name.empty()) {
        if (!name.empty()) name += ' ';
        name += italic(option.argument.name);
    }
    return ".TP\n" + name + '\n' + escaped(sentence(option.description, option.argument.words)) +
           '\n';
}

std::string synopsis(const std::string& command, const Program& program, const Verb& verb) {
    std::string line = bold(command) + " [" + italic("options") + "]";
    for (const Option& each : verb.positionals) line += ' ' + placed(each);
    if (&verb == &program.itself && !program.verbs.empty())
        line = bold(command) + ' ' + italic("command") + " [" + italic("options") + "]";
    return heading("Synopsis") + line + '\n';
}

std::string options(const Verb& verb) {
    std::string text;
    for (const Option& each : verb.positionals) text += described(each);
    if (!text.empty()) text = heading("Arguments") + text;
    bool begun = false;
    for (const OptionGroup& group : verb.groups) {
        if (group.options.empty()) continue;
        if (!begun) text += heading("Options");
        begun = true;
        if (!group.title.empty()) text += ".SS \"" + escaped(group.title) + "\"\n";
        for (const Option& each : group.options) text += described(each);
    }
    return text;
}

std::string commands(const Program& program) {
    if (program.verbs.empty()) return {};
    std::string text = heading("Commands");
    for (const Verb& verb : program.verbs)
        text += ".TP\n\\fB" + escaped(program.name + "-" + verb.name) + "\\fR(1)\n" +
                escaped(sentence(verb.summary)) + '\n';
    return text;
}

std::string sections(const Verb& verb) {
    std::string text;
    for (const Section& each : verb.sections) {
        text += heading(each.title) + ".nf\n";
        for (const std::string& line : each.lines) text += escaped(line) + '\n';
        text += ".fi\n";
    }
    return text;
}

std::string seeAlso(const std::vector<std::string>& pages) {
    if (pages.empty()) return {};
    std::string text = heading("See also");
    for (std::size_t i = 0; i < pages.size(); ++i) {
        const std::size_t bracket = pages[i].find('(');
        text += ".BR " + escaped(pages[i].substr(0, bracket)) + ' ' + pages[i].substr(bracket) +
                (i + 1 < pages.size() ? " ,\n" : "\n");
    }
    return text;
}

ManPage page(const Program& program, const Verb& verb, const std::vector<std::string>& also) {
    const bool whole = &verb == &program.itself;
    const std::string dashed = whole ? program.name : program.name + "-" + verb.name;
    std::string text = ".\\\" Made of the program's own tables of options.\n.TH \"" +
                       escaped(upper(dashed)) + "\" 1 \"\" \"" + escaped(program.version) +
                       "\" \"User Commands\"\n.nh\n.ad l\n";
    text += heading("Name") + escaped(dashed) + " \\- " + escaped(purpose(verb.summary)) + '\n';
    text += synopsis(whole ? program.name : program.name + " " + verb.name, program, verb);
    if (whole) text += commands(program);
    text += options(verb) + sections(verb) + seeAlso(also);
    return {dashed + ".1", text};
}

}  // namespace

std::vector<ManPage> manPages(const Program& program, const std::vector<std::string>& also) {
    std::vector<ManPage> pages{page(program, program.itself, also)};
    for (const Verb& verb : program.verbs)
        pages.push_back(page(program, verb, {program.name + "(1)"}));
    return pages;
}

}  // namespace shardscope::manual
