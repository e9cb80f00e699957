// Pieces of a trace's JSON text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace shardscope::interchange {

void appendInteger(std::string& text, std::int64_t value);
void appendInteger(std::string& text, std::uint64_t value);
/// Microseconds with three decimals: exact.
void appendMicroseconds(std::string& text, std::int64_t nanoseconds);
/// The shortest text that reads back as the same number; 0 for what JSON has no number for.
void appendNumber(std::string& text, double value);
/// With quotes; what is not UTF-8 becomes U+FFFD.
void appendString(std::string& text, std::string_view value);

/// floor(nanoseconds / 1000)
[[nodiscard]] constexpr std::int64_t wholeMicroseconds(std::int64_t nanoseconds) {
    return nanoseconds / 1000 - (nanoseconds % 1000 < 0 ? 1 : 0);
}

/// A text as a JSON value of process or thread: a number when it is one.
[[nodiscard]] std::string idValue(std::string_view text);

/// Makes arguments of any recording fit to be written: an object's members without its brackets
/// and without white space.
class ArgumentCheck {
public:
    ArgumentCheck();
    ~ArgumentCheck();
    ArgumentCheck(const ArgumentCheck&) = delete;
    ArgumentCheck& operator=(const ArgumentCheck&) = delete;
    /// Valid until the next call. What is no JSON object becomes {"arguments": "text"}.
    [[nodiscard]] std::string_view members(std::string_view object);

private:
    [[nodiscard]] bool isSound(const std::string& object);
    [[nodiscard]] bool minify(std::string_view text);
    struct Parser;
    std::unique_ptr<Parser> m_parser;
    std::string m_text;
};

}  // namespace shardscope::interchange
