#include "engine/tokens/splitter.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

namespace shardscope::tokens {
namespace {

#define SHARDSCOPE_WHITE_SPACE                                                           \
    "\\x{09}-\\x{0d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}" \
    "\\x{202f}\\x{205f}\\x{3000}"

constexpr const char* kPattern =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^" SHARDSCOPE_WHITE_SPACE
    "\\p{L}\\p{N}]+|[" SHARDSCOPE_WHITE_SPACE "]+(?![^" SHARDSCOPE_WHITE_SPACE
    "])|[" SHARDSCOPE_WHITE_SPACE "]+";

struct Free {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
    void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};

std::unique_ptr<pcre2_code, Free> compiledPattern() {
    int error = 0;
    PCRE2_SIZE at = 0;
    std::unique_ptr<pcre2_code, Free> code(
        pcre2_compile(reinterpret_cast<PCRE2_SPTR>(kPattern), PCRE2_ZERO_TERMINATED,
                      PCRE2_UTF | PCRE2_UCP, &error, &at, nullptr));
    if (!code) throw std::runtime_error("PCRE2 cannot compile the pattern of words");
    // Where PCRE2 has no compiler for this processor, matching works without, only slower.
    static_cast<void>(pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE));
    return code;
}

enum class Class : std::uint8_t { kOther, kLetter, kNumber, kSpace, kNotAscii };

constexpr std::array<Class, 256> makeClasses() {
    std::array<Class, 256> classes{};
    for (unsigned c = 0; c < 256; ++c) {
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        classes[c] = c >= 0x80                              ? Class::kNotAscii
                     : letter                               ? Class::kLetter
                     : c >= '0' && c <= '9'                 ? Class::kNumber
                     : c == ' ' || (c >= '\t' && c <= '\r') ? Class::kSpace
                                                            : Class::kOther;
    }
    return classes;
}
constexpr std::array<Class, 256> kClasses = makeClasses();

Class classOf(char c) {
    return kClasses[static_cast<unsigned char>(c)];
}

bool isSpace(char c) {
    return classOf(c) == Class::kSpace;
}

std::size_t contractionLength(std::string_view text) {
    for (const char* word : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
        if (text.starts_with(word)) return std::strlen(word);
    }
    return 0;
}

/// Length of the first piece as the pattern cuts it, where ASCII alone decides that; 0 where a
/// character past ASCII has a say. Most text is ASCII, and this is ten times as fast.
std::size_t asciiPiece(std::string_view text) {
    if (text[0] == '\'') {
        if (const std::size_t length = contractionLength(text)) return length;
    }
    std::size_t at = text[0] == ' ' && text.size() > 1 && !isSpace(text[1]) ? 1 : 0;
    const Class kind = classOf(text[at]);
    if (kind == Class::kNotAscii) return 0;
    while (at < text.size() && classOf(text[at]) == kind) ++at;
    if (at == text.size()) return at;
    if (classOf(text[at]) == Class::kNotAscii) return 0;
    // The last of several spaces goes with what follows, or stands alone.
    return kind == Class::kSpace && at > 1 ? at - 1 : at;
}

constexpr std::uint64_t kHighBits = 0x8080808080808080ULL;

/// Bytes of the character that begins at `text`, 0 when it is not valid.
std::size_t characterLength(const unsigned char* text, std::size_t left) {
    const unsigned lead = text[0];
    if (lead < 0x80) return 1;
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || length > left) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((text[i] & 0xC0) != 0x80) return 0;
    }
    const unsigned second = text[1];
    const bool wrong = (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
                       (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F);
    return wrong ? 0 : length;
}

}  // namespace

struct Splitter::Engine {
    std::unique_ptr<pcre2_code, Free> code = compiledPattern();
    std::unique_ptr<pcre2_match_data, Free> match{pcre2_match_data_create(1, nullptr)};
};

Splitter::Splitter() : m_engine(std::make_unique<Engine>()) {
    if (!m_engine->match) throw std::runtime_error("PCRE2 has no memory for a match");
}
Splitter::~Splitter() = default;
Splitter::Splitter(Splitter&&) noexcept = default;
Splitter& Splitter::operator=(Splitter&&) noexcept = default;

void Splitter::begin(std::string_view text) {
    m_text = text;
    m_at = 0;
    m_runEnd = 0;
}

std::string_view Splitter::next() {
    if (m_at == m_text.size()) return {};
    if (m_at == m_runEnd) m_runEnd += validUtf8(m_text.substr(m_at));
    if (m_at == m_runEnd) {
        m_runEnd = m_at + 1;
        return m_text.substr(m_at++, 1);
    }
    const std::string_view piece = nextInRun();
    m_at += piece.size();
    return piece;
}

std::string_view Splitter::nextInRun() {
    const std::string_view run = m_text.substr(m_at, m_runEnd - m_at);
    if (const std::size_t length = asciiPiece(run)) return run.substr(0, length);
    // Validated above; PCRE2 would look at the whole rest again for each piece.
    const int found =
        pcre2_match(m_engine->code.get(), reinterpret_cast<PCRE2_SPTR>(m_text.data()), m_runEnd,
                    m_at, PCRE2_NO_UTF_CHECK | PCRE2_ANCHORED, m_engine->match.get(), nullptr);
    if (found < 0) {
        // Every character begins some alternative, so this is PCRE2 out of memory.
        throw std::runtime_error("PCRE2 cannot cut the text into words: error " +
                                 std::to_string(found));
    }
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(m_engine->match.get());
    return m_text.substr(m_at, ends[1] - m_at);
}

std::size_t pieceBoundary(std::string_view text, std::size_t wanted) {
    for (std::size_t at = wanted == 0 ? 1 : wanted; at < text.size(); ++at) {
        const char before = text[at - 1];
        if (isSpace(text[at]) && !isSpace(before) && static_cast<unsigned char>(before) < 0x80)
            return at;
    }
    return text.size();
}

std::size_t validUtf8(std::string_view bytes) {
    const auto* text = reinterpret_cast<const unsigned char*>(bytes.data());
    std::size_t at = 0;
    while (at < bytes.size()) {
        std::uint64_t eight = kHighBits;
        if (bytes.size() - at >= sizeof eight) std::memcpy(&eight, text + at, sizeof eight);
        if ((eight & kHighBits) == 0) {
            at += sizeof eight;
            continue;
        }
        const std::size_t length = characterLength(text + at, bytes.size() - at);
        if (length == 0) break;
        at += length;
    }
    return at;
}

}  // namespace shardscope::tokens
