#include "storage/model/shell_word.h"

namespace shardscope {

std::string shellWord(std::string_view text) {
    std::string word = "'";
    for (const char each : text) {
        if (each == '\'') {
            word += R"('\'')";
        } else {
            word += each;
        }
    }
    return word + "'";
}

std::string typedWord(std::string_view text) {
    constexpr std::string_view kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
    const bool plain = !text.empty() && text.find_first_not_of(kPlain) == text.npos;
    return plain ? std::string(text) : shellWord(text);
}

}  // namespace shardscope
