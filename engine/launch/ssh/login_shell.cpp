#include "engine/launch/ssh/login_shell.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace shardscope::launch {
namespace {

std::string randomWord() {
    std::random_device random;
    std::string word;
    for (int i = 0; i < 4; ++i) word += fmt::format("{:08x}", random());
    return word;
}

}  // namespace

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

Token::Token() : Token(randomWord()) {}

std::string Token::printing() const {
    const std::size_t half = m_expected.size() / 2;
    return fmt::format("printf '%s%s\\n' {} {}", m_expected.substr(0, half),
                       m_expected.substr(half, m_expected.size() - 1 - half));
}

void Token::take(std::string_view bytes) {
    m_taken += bytes.size();
    std::string seen = m_expected.substr(0, m_matched);
    seen += bytes;
    m_matched = std::min(seen.size(), m_expected.size());
    while (!seen.ends_with(std::string_view(m_expected).substr(0, m_matched))) --m_matched;
}

}  // namespace shardscope::launch
