#include "storage/model/plain_text.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <utility>

namespace shardscope {
namespace {

/// Names that refer to what they have said twice each double what they stand for: the demangler
/// would write without end.
bool mayExplode(std::string_view mangled) {
    constexpr std::size_t kLongest = 2000;
    constexpr std::ptrdiff_t kMostReferences = 32;
    return mangled.size() > kLongest ||
           std::count_if(mangled.begin(), mangled.end(), [&](const char& c) {
               const char* next = &c + 1;
               if ((c != 'S' && c != 'T') || next == mangled.data() + mangled.size()) return false;
               const auto after = static_cast<unsigned char>(*next);
               return after == '_' || std::isdigit(after) != 0 || std::isupper(after) != 0;
           }) > kMostReferences;
}

/// Of a sequence by its first byte: how long it is, and which values need no fewer bytes.
struct Lead {
    std::size_t length;
    std::uint32_t bits, least, most;
};

Lead leadOf(unsigned char byte) {
    if (byte >> 5 == 0b110) return {2, byte & 0x1Fu, 0x80, 0x7FF};
    if (byte >> 4 == 0b1110) return {3, byte & 0x0Fu, 0x800, 0xFFFF};
    if (byte >> 3 == 0b11110) return {4, byte & 0x07u, 0x10000, 0x10FFFF};
    return {0, 0, 0, 0};
}

/// Bytes of the UTF-8 character at the front, 0 where there is none, and its value.
std::pair<std::size_t, std::uint32_t> characterAt(std::string_view text) {
    const auto first = static_cast<unsigned char>(text.front());
    if (first < 0x80) return {1, first};
    const Lead lead = leadOf(first);
    if (lead.length == 0 || lead.length > text.size()) return {0, 0};
    std::uint32_t value = lead.bits;
    for (std::size_t i = 1; i < lead.length; ++i) {
        const auto next = static_cast<unsigned char>(text[i]);
        if ((next & 0xC0) != 0x80) return {0, 0};
        value = value << 6 | (next & 0x3Fu);
    }
    const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
    if (value < lead.least || value > lead.most || surrogate) return {0, 0};
    return {lead.length, value};
}

/// They reorder or end a line, and are not seen: U+202E turns what follows around.
bool isInvisible(std::uint32_t value) {
    return value == 0x061C || (value >= 0x200E && value <= 0x200F) ||
           (value >= 0x2028 && value <= 0x202E) || (value >= 0x2066 && value <= 0x2069) ||
           value == 0xFEFF;
}

/// Never a character; XML must not hold U+FFFE and U+FFFF.
bool isNoncharacter(std::uint32_t value) {
    return (value & 0xFFFE) == 0xFFFE || (value >= 0xFDD0 && value <= 0xFDEF);
}

bool isControl(std::uint32_t value) {
    return value < 0x20 || (value >= 0x7F && value < 0xA0) || isInvisible(value) ||
           isNoncharacter(value);
}

/// Where the next byte is that is not printable ASCII, which nearly all text is.
std::size_t afterPlainAscii(std::string_view text, std::size_t at) {
    while (at < text.size() && text[at] >= 0x20 && text[at] < 0x7F) ++at;
    return at;
}

bool isNewlineOrTab(std::uint32_t value) {
    return value == '\n' || value == '\t';
}
bool isNothing(std::uint32_t) {
    return false;
}

/// A control character, or a byte that is not UTF-8.
struct Unprintable {
    std::string_view bytes;
    std::uint32_t value = 0;  ///< of a control character
    bool isText = false;      ///< UTF-8
    std::string_view behind;
};

/// `stays(value)`: of a control character; `replace(unprintable, out)` appends what stands for one.
/// Copies nothing where all stays.
template <class Stays, class Replace>
std::string replaced(std::string text, Stays stays, Replace replace) {
    std::string out;
    std::size_t kept = 0;  // from here on nothing was replaced
    for (std::size_t at = 0; (at = afterPlainAscii(text, at)) < text.size();) {
        const std::string_view rest = std::string_view(text).substr(at);
        const auto [length, value] = characterAt(rest);
        const std::size_t size = std::max<std::size_t>(length, 1);
        if (length == 0 || (isControl(value) && !stays(value))) {
            out.append(text, kept, at - kept);
            replace(Unprintable{rest.substr(0, size), value, length > 0, rest.substr(size)}, out);
            kept = at + size;
        }
        at += size;
    }
    if (kept == 0) return text;
    out.append(text, kept);
    return out;
}

bool endsLine(const Unprintable& found) {
    return found.value == '\r' && found.behind.starts_with('\n');
}

void spellBytes(const Unprintable& found, std::string& out) {
    for (const char c : found.bytes)
        fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
}

/// As JSON has it: in UTF-16.
void spellValue(std::uint32_t value, std::string& out) {
    if (value > 0xFFFF) {
        spellValue(0xD800 + ((value - 0x10000) >> 10), out);
        value = 0xDC00 + (value & 0x3FF);
    }
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", value);
}

constexpr const char* kQuoteIndent = "    ";

bool isWordLetter(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || (c & 0x80) != 0;
}

std::string literalMarkdown(std::string_view text) {
    constexpr std::string_view kMarkup = "\\`*[<|~&";
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool within =
            i > 0 && i + 1 < text.size() && isWordLetter(text[i - 1]) && isWordLetter(text[i + 1]);
        const bool alone = i > 0 && text[i - 1] == ' ' &&
                           (i + 1 == text.size() || text[i + 1] == ' ') && text[i] == '*';
        const bool isMarkup = text[i] == '_' ? !within : kMarkup.find(text[i]) != kMarkup.npos;
        if (isMarkup && !alone) out += '\\';
        out += text[i];
    }
    return out;
}

constexpr std::uint32_t kFirstStandIn = 0x10FE00;

bool isStandIn(std::uint32_t value) {
    return value >= kFirstStandIn && value < kFirstStandIn + 256;
}

std::string standInFor(char c) {
    const std::uint32_t value = kFirstStandIn + static_cast<unsigned char>(c);
    return {static_cast<char>(0xF0 | value >> 18), static_cast<char>(0x80 | (value >> 12 & 0x3F)),
            static_cast<char>(0x80 | (value >> 6 & 0x3F)),
            static_cast<char>(0x80 | (value & 0x3F))};
}

}  // namespace

std::size_t plainCharacter(std::string_view text) {
    const auto [length, value] = characterAt(text);
    return isControl(value) ? 0 : length;
}

std::string printable(std::string text) {
    return replaced(std::move(text), isNewlineOrTab, spellBytes);
}

std::string printableLine(std::string text) {
    return replaced(std::move(text), isNothing, [](const Unprintable& found, std::string& out) {
        if (isNewlineOrTab(found.value) || found.value == '\r')
            out += ' ';
        else
            spellBytes(found, out);
    });
}

std::string quotedLines(std::string text) {
    text = printable(std::move(text));
    for (std::size_t at = text.find('\n'); at != text.npos; at = text.find('\n', at + 1))
        text.insert(at + 1, kQuoteIndent);
    return text;
}

std::string printableDocument(std::string text) {
    constexpr std::uint32_t kReplacement = 0xFFFD;
    return replaced(std::move(text), isNewlineOrTab,
                    [](const Unprintable& found, std::string& out) {
                        if (endsLine(found))
                            out += '\r';
                        else
                            spellValue(found.isText ? found.value : kReplacement, out);
                    });
}

std::string markdownSentence(std::string text) {
    text = printableLine(std::move(text));
    std::string out;
    std::size_t at = 0;
    for (std::size_t tick; (tick = text.find('`', at)) != text.npos;) {
        const std::size_t inside = std::min(text.find_first_not_of('`', tick), text.size());
        const std::string ticks(inside - tick, '`');
        std::size_t end = text.find(ticks, inside);
        // A longer row of them does not end it.
        while (end != text.npos && end + ticks.size() < text.size() &&
               text[end + ticks.size()] == '`')
            end = text.find(ticks, text.find_first_not_of('`', end));
        out += literalMarkdown(std::string_view(text).substr(at, tick - at));
        at = end == text.npos ? inside : end + ticks.size();
        const std::string code = text.substr(tick, at - tick);
        out += end == text.npos ? literalMarkdown(code) : code;
    }
    return out + literalMarkdown(std::string_view(text).substr(at));
}

std::string markdownText(std::string text) {
    return literalMarkdown(printableLine(std::move(text)));
}

std::string csvField(std::string text) {
    text =
        replaced(std::move(text), isNewlineOrTab, [](const Unprintable& found, std::string& out) {
            if (endsLine(found))
                out += '\r';
            else
                spellBytes(found, out);
        });
    if (text.find_first_of(",\"\n") == text.npos) return text;
    std::string field = "\"";
    for (const char c : text) {
        if (c == '"') field += '"';
        field += c;
    }
    return field + '"';
}

bool isUtf8(std::string_view bytes) {
    while (!bytes.empty()) {
        const std::size_t length = characterAt(bytes).first;
        if (length == 0) return false;
        bytes.remove_prefix(length);
    }
    return true;
}

std::string utf8OfBytes(std::string_view bytes) {
    std::string text;
    while (!bytes.empty()) {
        const auto [length, value] = characterAt(bytes);
        const bool stays = length > 0 && !isStandIn(value);
        if (stays)
            text += bytes.substr(0, length);
        else
            text += standInFor(bytes.front());
        bytes.remove_prefix(stays ? length : 1);
    }
    return text;
}

std::string bytesOfUtf8(std::string_view text) {
    std::string bytes;
    while (!text.empty()) {
        const auto [length, value] = characterAt(text);
        const std::size_t size = std::max<std::size_t>(length, 1);
        if (length > 0 && isStandIn(value))
            bytes += static_cast<char>(value - kFirstStandIn);
        else
            bytes += text.substr(0, size);
        text.remove_prefix(size);
    }
    return bytes;
}

std::string demangled(std::string_view mangled) {
    // The demangler also reads plain words, as types: "f" would become "float".
    if (!mangled.starts_with("_Z") || mayExplode(mangled)) return std::string(mangled);
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(std::string(mangled).c_str(), nullptr, nullptr, &status), &std::free);
    return status == 0 && text != nullptr ? std::string(text.get()) : std::string(mangled);
}

}  // namespace shardscope
