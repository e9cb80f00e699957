#include "engine/run/config/command_words.h"

#include <cstddef>

namespace shardscope::run {
namespace {

constexpr std::string_view kBlanks = " \t\n";

/// One word from `at` on, which is moved behind it; false: a quote has no end.
bool takeWord(std::string_view text, std::size_t& at, std::string& word) {
    for (char quote = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (quote == 0 && kBlanks.find(c) != kBlanks.npos) return true;
        if (c == quote) {
            quote = 0;
        } else if (quote == 0 && (c == '\'' || c == '"')) {
            quote = c;
        } else if (c == '\\' && quote != '\'' && at + 1 < text.size()) {
            word += text[++at];
        } else {
            word += c;
        }
        if (at + 1 == text.size() && quote != 0) return false;
    }
    return true;
}

}  // namespace

Result<std::vector<std::string>> commandWords(std::string_view text) {
    std::vector<std::string> words;
    for (std::size_t at = text.find_first_not_of(kBlanks); at < text.size();
         at = text.find_first_not_of(kBlanks, at))
        if (!takeWord(text, at, words.emplace_back()))
            return failure(ErrorCode::kUsage,
                           "a quote in '" + std::string(text) + "' has no end; close it");
    if (words.empty()) return failure(ErrorCode::kUsage, "there is no command; leave it out");
    return words;
}

}  // namespace shardscope::run
