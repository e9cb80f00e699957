// What passes login shells: text that they leave alone, and a mark behind their own noise.
#pragma once

#include "storage/model/shell_word.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace shardscope::launch {

using shardscope::shellWord;
using shardscope::typedWord;

/// What a login shell of any kind (sh, bash, zsh, csh, tcsh, fish) is to be given so that it
/// becomes /bin/sh with `line`, which holds no line break.
[[nodiscard]] std::string throughLoginShell(std::string_view line);

// A word that nothing else prints: what comes before it is a login shell's noise, what comes after
// it is ours.

class Token {
public:
    /// A new one.
    Token();
    explicit Token(std::string word) : m_expected(std::move(word) + "\n") {}

    /// The shell words that print it. It is not in them as a whole: a shell that shows the line
    /// that it runs (`set -v`) does not print it.
    [[nodiscard]] std::string printing() const;

    /// Reading at most so many bytes takes none of what follows the token; 0: it has come.
    [[nodiscard]] std::size_t wanted() const { return m_expected.size() - m_matched; }
    /// The next bytes that were read, not more than wanted().
    void take(std::string_view bytes);
    /// How much came before it.
    [[nodiscard]] std::size_t noiseBytes() const { return m_taken - m_matched; }

private:
    std::string m_expected;
    std::size_t m_matched = 0;  ///< how much of it the bytes end with
    std::size_t m_taken = 0;
};

}  // namespace shardscope::launch
