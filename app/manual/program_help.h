// What a program's help says, as data: its manual pages and its completions in shells are made of
// the tables that its command line is made of. Pure values.
#pragma once

#include <string>
#include <vector>

namespace shardscope::manual {

/// What stands behind an option, or by itself.
struct Argument {
    std::string name;                ///< "FILE"; empty: none
    std::vector<std::string> words;  ///< that may stand there; empty: others, files among them
};

struct Option {
    std::vector<std::string> names;  ///< "-o", "--output"; of a positional none
    Argument argument;
    std::string description;
    bool required = false;
    bool many = false;  ///< of a positional: several may stand there
};

struct OptionGroup {
    std::string title;  ///< "Model"; empty: the options of no group
    std::vector<Option> options;
};

/// Lines as they are to stand there, under a heading.
struct Section {
    std::string title;
    std::vector<std::string> lines;
};

struct Verb {
    std::string name;  ///< empty: the program itself, without verbs
    std::string summary;
    std::vector<Option> positionals;
    std::vector<OptionGroup> groups;
    std::vector<Section> sections;
};

struct Program {
    std::string name;
    std::string version;
    Verb itself;              ///< options before a verb, and what is said of all
    std::vector<Verb> verbs;  ///< empty: it has none
};

/// The lines of a help's end by their headings: a line that begins at the left and ends with a
/// colon is one, what stands before the first is "Notes".
[[nodiscard]] std::vector<Section> sectionsOf(const std::string& footer);

}  // namespace shardscope::manual
