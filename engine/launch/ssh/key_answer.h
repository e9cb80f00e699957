// What this program says when ssh runs it to ask a question (SSH_ASKPASS): yes to the one key whose
// fingerprint the user has accepted, and to nothing else.
#pragma once

#include <string>
#include <string_view>

namespace shardscope::launch {

/// The variable that the fingerprint stands in.
inline constexpr const char* kAcceptedKey = "SHARDSCOPE_ACCEPTED_KEY";

/// To a question of ssh's: the fingerprint where it is asked about that very key, which ssh
/// compares once more; else "no". A question about anything else, a password above all, gets no
/// answer: empty.
[[nodiscard]] std::string answerTo(std::string_view question, std::string_view accepted);

}  // namespace shardscope::launch
