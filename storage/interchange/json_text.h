// JSON text without white space, read in place: strings, values, members of an object.
//
// Text is minified before (simdjson), so nothing here looks for white space. Never reads past
// `end`; any bytes give an answer or an error.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::interchange {

/// What a value may have besides being sound.
struct TextFlags {
    bool nonFinite = false;         ///< NaN or an infinity somewhere, which JSON does not have
    bool controlCharacter = false;  ///< one in a string
};

/// After the string that begins at `at` (its opening quote); null when it does not end.
[[nodiscard]] const char* skipString(const char* at, const char* end, TextFlags& flags);

/// After the value that begins at `at`; null when it is not JSON or nested too deep.
[[nodiscard]] const char* skipValue(const char* at, const char* end, TextFlags& flags);

inline constexpr int kMostNesting = 200;

/// A member of an object: its key without quotes, its value as it stands.
struct Member {
    std::string_view key;
    std::string_view value;
};
/// Members of the object that begins at `at`, and the end; null when it is malformed.
[[nodiscard]] const char* readMembers(const char* at, const char* end, std::vector<Member>& members,
                                      TextFlags& flags);

/// The value of a key; empty when absent.
[[nodiscard]] std::string_view valueOf(const std::vector<Member>& members, std::string_view key);

[[nodiscard]] inline bool isString(std::string_view value) {
    return value.size() >= 2 && value.front() == '"';
}
/// A string value's text with escapes resolved; another value as it stands.
[[nodiscard]] std::string textOf(std::string_view value);
/// Likewise without a copy where nothing is escaped; `scratch` holds it otherwise.
[[nodiscard]] std::string_view textOf(std::string_view value, std::string& scratch);

/// A text as a JSON string; bytes that are no UTF-8 become U+FFFD.
[[nodiscard]] std::string jsonString(std::string_view text);

/// The same with NaN and infinities as strings, which JSON has.
[[nodiscard]] std::string quoteNonFinite(std::string_view value);

}  // namespace shardscope::interchange
