#include "storage/interchange/json_text.h"

#include <nlohmann/json.hpp>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace shardscope::interchange {
namespace {

bool isSpecial(char c) {
    return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20;
}

/// The next quote, backslash or control character.
const char* findSpecial(const char* at, const char* end) {
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i backslash = _mm_set1_epi8('\\');
    const __m128i lastControl = _mm_set1_epi8(0x1f);
    for (; end - at >= 16; at += 16) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
        const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, lastControl), bytes);
        const __m128i found = _mm_or_si128(
            control, _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)));
        const auto mask = static_cast<unsigned>(_mm_movemask_epi8(found));
        if (mask != 0) return at + std::countr_zero(mask);
    }
#endif
    while (at < end && !isSpecial(*at)) ++at;
    return at;
}

bool isDigit(char c) {
    return c >= '0' && c <= '9';
}

bool isNumber(std::string_view token) {
    const auto digits = [&] {
        const std::size_t before = token.size();
        while (!token.empty() && isDigit(token.front())) token.remove_prefix(1);
        return token.size() < before;
    };
    if (token.starts_with('-')) token.remove_prefix(1);
    if (!digits()) return false;
    if (token.starts_with('.')) {
        token.remove_prefix(1);
        if (!digits()) return false;
    }
    if (token.empty()) return true;
    if (token.front() != 'e' && token.front() != 'E') return false;
    token.remove_prefix(1);
    if (token.starts_with('-') || token.starts_with('+')) token.remove_prefix(1);
    return digits() && token.empty();
}

bool isNonFinite(std::string_view token) {
    if (token.starts_with('-') || token.starts_with('+')) token.remove_prefix(1);
    for (const char* word : {"NaN", "nan", "Infinity", "inf", "Inf"})
        if (token == word) return true;
    return false;
}

const char* tokenEnd(const char* at, const char* end) {
    while (at < end && *at != ',' && *at != '}' && *at != ']' && *at != ':' && *at != '"') ++at;
    return at;
}

const char* skipDigits(const char* at, const char* end) {
    while (at < end && isDigit(*at)) ++at;
    return at;
}

/// After a number without an exponent, which nearly all are; null for anything else.
const char* skipPlainNumber(const char* at, const char* end) {
    if (at < end && *at == '-') ++at;
    const char* after = skipDigits(at, end);
    if (after == at) return nullptr;
    if (after < end && *after == '.') {
        at = after + 1;
        after = skipDigits(at, end);
        if (after == at) return nullptr;
    }
    return after == end || *after == ',' || *after == '}' || *after == ']' ? after : nullptr;
}

const char* skipScalar(const char* at, const char* end, TextFlags& flags) {
    if (const char* number = skipPlainNumber(at, end)) return number;
    const char* after = tokenEnd(at, end);
    const std::string_view token(at, static_cast<std::size_t>(after - at));
    if (isNumber(token) || token == "true" || token == "false" || token == "null") return after;
    if (!isNonFinite(token)) return nullptr;
    flags.nonFinite = true;
    return after;
}

const char* skipNested(const char* at, const char* end, TextFlags& flags, int depth);

/// `"key":` of an object; null when it is none.
const char* skipKey(const char* at, const char* end, TextFlags& flags) {
    if (at == end || *at != '"') return nullptr;
    at = skipString(at, end, flags);
    return at == nullptr || at == end || *at != ':' ? nullptr : at + 1;
}

/// Elements of an array or members of an object, after its opening bracket.
const char* skipElements(const char* at, const char* end, TextFlags& flags, int depth, bool keys) {
    const char close = keys ? '}' : ']';
    if (at < end && *at == close) return at + 1;
    while (at != nullptr && at < end) {
        if (keys) at = skipKey(at, end, flags);
        if (at != nullptr) at = skipNested(at, end, flags, depth);
        if (at == nullptr || at == end) return nullptr;
        if (*at == close) return at + 1;
        if (*at != ',') return nullptr;
        ++at;
    }
    return nullptr;
}

const char* skipNested(const char* at, const char* end, TextFlags& flags, int depth) {
    if (at == end) return nullptr;
    if (*at == '"') return skipString(at, end, flags);
    if (*at != '{' && *at != '[') return skipScalar(at, end, flags);
    if (depth >= kMostNesting) return nullptr;
    return skipElements(at + 1, end, flags, depth + 1, *at == '{');
}

void appendUtf8(std::string& text, std::uint32_t code) {
    const auto put = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
    if (code < 0x80) return put(code);
    if (code < 0x800) return put(0xC0 | code >> 6), put(0x80 | (code & 0x3F));
    if (code < 0x10000)
        return put(0xE0 | code >> 12), put(0x80 | (code >> 6 & 0x3F)), put(0x80 | (code & 0x3F));
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
}

/// Four hex digits after \u; nothing when there are none.
std::optional<std::uint32_t> hexUnit(std::string_view text) {
    if (text.size() < 4) return std::nullopt;
    std::uint32_t unit = 0;
    for (const char c : text.substr(0, 4)) {
        const std::size_t digit = std::string_view("0123456789abcdef")
                                      .find(static_cast<char>(c >= 'A' && c <= 'F' ? c + 32 : c));
        if (digit == std::string_view::npos) return std::nullopt;
        unit = unit * 16 + static_cast<std::uint32_t>(digit);
    }
    return unit;
}

/// Resolves \uXXXX at the front of `rest` (after the u); lone surrogates become U+FFFD.
void takeUnicode(std::string_view& rest, std::string& text) {
    auto unit = hexUnit(rest);
    if (!unit) return appendUtf8(text, 0xFFFD);
    rest.remove_prefix(4);
    if (*unit >= 0xD800 && *unit < 0xDC00 && rest.starts_with("\\u")) {
        const auto low = hexUnit(rest.substr(2));
        if (low && *low >= 0xDC00 && *low < 0xE000) {
            rest.remove_prefix(6);
            return appendUtf8(text, 0x10000 + ((*unit - 0xD800) << 10) + (*low - 0xDC00));
        }
    }
    appendUtf8(text, *unit >= 0xD800 && *unit < 0xE000 ? 0xFFFD : *unit);
}

char unescaped(char c) {
    switch (c) {
        case 'n':
            return '\n';
        case 't':
            return '\t';
        case 'r':
            return '\r';
        case 'b':
            return '\b';
        case 'f':
            return '\f';
        default:
            return c;
    }
}

}  // namespace

const char* skipString(const char* at, const char* end, TextFlags& flags) {
    ++at;
    while (true) {
        at = findSpecial(at, end);
        if (at == end) return nullptr;
        if (*at == '"') return at + 1;
        if (*at == '\\') {
            if (end - at < 2) return nullptr;
            at += 2;
        } else {
            flags.controlCharacter = true;
            ++at;
        }
    }
}

const char* skipValue(const char* at, const char* end, TextFlags& flags) {
    return skipNested(at, end, flags, 0);
}

const char* readMembers(const char* at, const char* end, std::vector<Member>& members,
                        TextFlags& flags) {
    members.clear();
    if (at == end || *at != '{') return nullptr;
    ++at;
    if (at < end && *at == '}') return at + 1;
    while (at < end) {
        const char* key = at + 1;
        at = skipKey(at, end, flags);
        if (at == nullptr) return nullptr;
        const char* value = at;
        at = skipNested(at, end, flags, 1);
        if (at == nullptr || at == end) return nullptr;
        members.push_back({{key, static_cast<std::size_t>(value - key) - 2},
                           {value, static_cast<std::size_t>(at - value)}});
        if (*at == '}') return at + 1;
        if (*at != ',') return nullptr;
        ++at;
    }
    return nullptr;
}

std::string_view valueOf(const std::vector<Member>& members, std::string_view key) {
    for (const Member& member : members)
        if (member.key == key) return member.value;
    return {};
}

std::string_view textOf(std::string_view value, std::string& scratch) {
    if (!isString(value)) return value;
    std::string_view rest = value.substr(1, value.size() - 2);
    if (rest.find('\\') == std::string_view::npos) return rest;
    scratch.clear();
    while (!rest.empty()) {
        const std::size_t plain = std::min(rest.find('\\'), rest.size());
        scratch += rest.substr(0, plain);
        rest.remove_prefix(plain);
        if (rest.size() < 2) break;
        const char escape = rest[1];
        rest.remove_prefix(2);
        if (escape == 'u')
            takeUnicode(rest, scratch);
        else
            scratch += unescaped(escape);
    }
    return scratch;
}

std::string textOf(std::string_view value) {
    std::string scratch;
    return std::string(textOf(value, scratch));
}

std::string jsonString(std::string_view text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string quoteNonFinite(std::string_view value) {
    std::string text;
    TextFlags ignored;
    const char* at = value.data();
    const char* end = at + value.size();
    while (at < end) {
        const char* from = at;
        if (*at == '"') {
            at = skipString(at, end, ignored);
            if (at == nullptr) at = end;
            text.append(from, at);
            continue;
        }
        at = tokenEnd(at, end);
        // Opening brackets are no ends of tokens, as none stands inside one.
        while (from < at && (*from == '{' || *from == '[')) text += *from++;
        const std::string_view token(from, static_cast<std::size_t>(at - from));
        if (isNonFinite(token))
            text.append("\"").append(token).append("\"");
        else
            text += token;
        if (at < end && *at != '"') text += *at++;
    }
    return text;
}

}  // namespace shardscope::interchange
