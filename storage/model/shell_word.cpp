#include "storage/model/shell_word.h"

#include "storage/model/plain_text.h"

#include <fmt/format.h>

namespace shardscope {
namespace {

bool isPlain(std::string_view text) {
    while (!text.empty()) {
        const std::size_t length = plainCharacter(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

std::string dollarWord(std::string_view text) {
    std::string quoted = "$'";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '\n')
            quoted += "\\n";
        else if (byte < 0x20 || byte >= 0x7F || c == '\'' || c == '\\')
            quoted += fmt::format("\\x{:02x}", byte);
        else
            quoted += c;
    }
    return quoted + "'";
}

}  // namespace

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
    if (plain) return std::string(text);
    return isPlain(text) ? shellWord(text) : dollarWord(text);
}

}  // namespace shardscope
