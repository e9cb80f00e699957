// Texts within scripts of shells. Internal to app/manual; pure.
#pragma once

#include "app/manual/program_help.h"

#include <string>
#include <vector>

namespace shardscope::manual {

inline std::string replaced(std::string text, const std::string& what, const std::string& by) {
    for (std::size_t at = text.find(what); at != std::string::npos;
         at = text.find(what, at + by.size()))
        text.replace(at, what.size(), by);
    return text;
}

inline std::string joined(const std::vector<std::string>& words, const std::string& between = " ") {
    std::string text;
    for (const std::string& each : words) text += (text.empty() ? "" : between) + each;
    return text;
}

/// As bash and zsh read it, in one piece.
inline std::string quoted(const std::string& text) {
    return '\'' + replaced(text, "'", "'\\''") + '\'';
}

/// The name as a part of a function's: "shardscope_desktop".
inline std::string identifier(const std::string& name) {
    return replaced(name, "-", "_");
}

/// All of a verb's, in its help's order.
inline std::vector<Option> optionsOf(const Verb& verb) {
    std::vector<Option> all;
    for (const OptionGroup& group : verb.groups)
        all.insert(all.end(), group.options.begin(), group.options.end());
    return all;
}

}  // namespace shardscope::manual
