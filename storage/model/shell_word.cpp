#include "storage/model/shell_word.h"

#include "storage/model/plain_text.h"

#include <fmt/format.h>

#include <charconv>
#include <system_error>
#include <utility>

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

/// One line, from left to right.
class LineWords {
public:
    explicit LineWords(std::string_view line) : m_rest(line) {}

    Result<std::vector<std::string>> all() {
        while (!m_rest.empty() && m_fault.empty()) takeOne();
        endWord();
        if (!m_fault.empty()) return failure(ErrorCode::kUsage, m_fault);
        return std::move(m_words);
    }

private:
    void takeOne() {
        const char c = next();
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r') return endWord();
        if (c == '#' && !m_inWord) return skipComment();
        if (std::string_view("|&;<>()`").find(c) != std::string_view::npos) return refuse(c);
        m_inWord = true;
        if (c == '\\') return takeEscaped();
        if (c == '\'') return takeSingle();
        if (c == '"') return takeDouble();
        if (c == '$' && m_rest.starts_with('\'')) return takeDollar();
        m_word += c;
    }

    char next() {
        const char c = m_rest.front();
        m_rest.remove_prefix(1);
        return c;
    }
    void endWord() {
        if (m_inWord) m_words.push_back(std::move(m_word));
        m_word.clear();
        m_inWord = false;
    }
    void skipComment() {
        while (!m_rest.empty() && m_rest.front() != '\n') m_rest.remove_prefix(1);
    }
    void refuse(char c) {
        m_fault = fmt::format(
            "{} means something to a shell, and none is started; put it in quotes, or write "
            "sh -c '...' around the line",
            c);
    }
    void noEnd(const char* quote) {
        m_fault = fmt::format("the quote {} is not closed; close it, or write \\{} for the sign",
                              quote, quote);
    }

    /// A line that is continued is one line.
    void takeEscaped() {
        if (m_rest.empty())
            m_fault = "the line ends with a backslash; leave it out, or go on in the next line";
        else if (const char c = next(); c != '\n')
            m_word += c;
        else if (m_word.empty())
            m_inWord = false;
    }
    void takeSingle() {
        const auto end = m_rest.find('\'');
        if (end == std::string_view::npos) return noEnd("'");
        m_word += m_rest.substr(0, end);
        m_rest.remove_prefix(end + 1);
    }
    void takeDouble() {
        while (!m_rest.empty()) {
            const char c = next();
            if (c == '"') return;
            const bool escapes =
                c == '\\' && !m_rest.empty() &&
                std::string_view("$`\"\\\n").find(m_rest.front()) != std::string_view::npos;
            const char taken = escapes ? next() : c;
            if (!escapes || taken != '\n') m_word += taken;
        }
        noEnd("\"");
    }
    /// As dollarWord() writes it, and letters of C.
    void takeDollar() {
        next();
        while (!m_rest.empty()) {
            const char c = next();
            if (c == '\'') return;
            if (c != '\\' || m_rest.empty()) {
                m_word += c;
                continue;
            }
            const char kind = next();
            if (kind == 'x')
                takeByte();
            else
                m_word += kind == 'n' ? '\n' : kind == 't' ? '\t' : kind == 'r' ? '\r' : kind;
        }
        noEnd("$'");
    }
    void takeByte() {
        unsigned value = 0;
        const std::string_view digits = m_rest.substr(0, 2);
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
        if (error == std::errc{}) m_word += static_cast<char>(value);
        m_rest.remove_prefix(static_cast<std::size_t>(end - digits.data()));
    }

    std::string_view m_rest;
    std::vector<std::string> m_words;
    std::string m_word, m_fault;
    bool m_inWord = false;
};

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

Result<std::vector<std::string>> wordsOfLine(std::string_view line) {
    return LineWords(line).all();
}

}  // namespace shardscope
