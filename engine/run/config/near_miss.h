// "did you mean": the candidate closest to a mistyped word.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::run {

/// The closest candidate, when it is close enough to be a typing error.
[[nodiscard]] std::optional<std::string> nearMiss(std::string_view word,
                                                  const std::vector<std::string>& candidates);

/// "; did you mean 'zero3'?" or, without a near miss, "; known: single, zero3".
[[nodiscard]] std::string suggestion(std::string_view word,
                                     const std::vector<std::string>& candidates);

}  // namespace shardscope::run
