#include "engine/launch/ssh/shell_quoting.h"

namespace shardscope::launch {

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

std::string throughLoginShell(std::string_view line) {
    // Outside of quotes all shells read these three alike; inside, fish takes backslashes as
    // escapes and csh puts its history in for an exclamation mark.
    std::string command = "exec /bin/sh -c '";
    for (const char each : line) {
        if (each == '\'' || each == '\\' || each == '!') {
            command += std::string("'\\") + each + "'";
        } else {
            command += each;
        }
    }
    return command + "'";
}

}  // namespace shardscope::launch
