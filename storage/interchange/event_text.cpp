#include "storage/interchange/event_text.h"

#include "storage/interchange/json_text.h"

#include <nlohmann/json.hpp>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace shardscope::interchange {
namespace {

template <class Number>
void appendChars(std::string& text, Number value) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    text.append(digits.data(), end);
}

bool isPlain(std::string_view text) {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; });
}

}  // namespace

void appendInteger(std::string& text, std::int64_t value) {
    appendChars(text, value);
}
void appendInteger(std::string& text, std::uint64_t value) {
    appendChars(text, value);
}

void appendMicroseconds(std::string& text, std::int64_t nanoseconds) {
    if (nanoseconds < 0) text += '-';
    const auto size = nanoseconds < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(nanoseconds)
                                      : static_cast<std::uint64_t>(nanoseconds);
    appendChars(text, size / 1000);
    const auto rest = static_cast<unsigned>(size % 1000);
    const char decimals[] = {'.', static_cast<char>('0' + rest / 100),
                             static_cast<char>('0' + rest / 10 % 10),
                             static_cast<char>('0' + rest % 10)};
    text.append(decimals, sizeof(decimals));
}

void appendNumber(std::string& text, double value) {
    appendChars(text, std::isfinite(value) ? value : 0.0);
}

void appendString(std::string& text, std::string_view value) {
    if (isPlain(value))
        text.append("\"").append(value).append("\"");
    else
        text += jsonString(value);
}

std::string idValue(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    // A text that would read back as another ("007", "+1") stays a text.
    if (error == std::errc{} && end == text.data() + text.size() && std::to_string(number) == text)
        return std::string(text);
    return jsonString(text);
}

struct ArgumentCheck::Parser {
    simdjson::dom::parser parser;
};

ArgumentCheck::ArgumentCheck() : m_parser(std::make_unique<Parser>()) {}
ArgumentCheck::~ArgumentCheck() = default;

/// Of text that has room behind it.
bool ArgumentCheck::isSound(const std::string& object) {
    if (object.size() < 2 || object.front() != '{') return false;
    TextFlags flags;
    const char* end = object.data() + object.size();
    if (skipValue(object.data(), end, flags) != end) return false;  // deep, broken, or not dense
    const auto parsed = m_parser->parser.parse(object.data(), object.size(), false);
    if (parsed.error() == simdjson::SUCCESS) return true;
    // Integers beyond 64 bits are JSON all the same.
    return nlohmann::json::accept(object);
}

bool ArgumentCheck::minify(std::string_view text) {
    m_text.resize(text.size() + simdjson::SIMDJSON_PADDING);
    std::size_t length = 0;
    const auto error = simdjson::minify(text.data(), text.size(), m_text.data(), length);
    m_text.resize(length);
    return error == simdjson::SUCCESS;
}

std::string_view ArgumentCheck::members(std::string_view object) {
    if (object.empty()) return {};
    m_text.reserve(object.size() + simdjson::SIMDJSON_PADDING);
    m_text.assign(object);
    if (isSound(m_text) || (minify(object) && isSound(m_text)))
        return std::string_view(m_text).substr(1, m_text.size() - 2);
    m_text = "\"arguments\":" + jsonString(object);
    return m_text;
}

}  // namespace shardscope::interchange
