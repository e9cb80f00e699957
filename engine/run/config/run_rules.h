// Which options of a run go together: one rule book for `record`, run files and the New run form.
#pragma once

#include "engine/run/config/run_option.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::run {

/// Why a run cannot start. Options stand in the sentence as {key}, and each front end puts its own
/// name for them: spelled().
struct RunProblem {
    std::string sentence;
    std::vector<std::string_view> options;  ///< that it names, in its order
};

/// The first problem; none: it can.
[[nodiscard]] std::optional<RunProblem> findProblem(const RunConfig& config);

/// kUsage of the first number that lies outside of its option's limits, whether the option applies
/// or not; what computes with a configuration may rely on them.
[[nodiscard]] Result<void> checkRanges(const RunConfig& config);

/// Why an option does not apply beside the others, in a few words: "HSDP only"; empty: it does.
[[nodiscard]] std::string_view whyNot(const RunConfig& config, std::string_view key);

/// `config` with what does not apply as it is by itself, where it would be refused otherwise, and
/// else as in `base`: what cannot be chosen is not asked for.
[[nodiscard]] RunConfig settled(RunConfig config, const RunConfig& base);

/// A sentence with the options' names in it.
[[nodiscard]] std::string spelled(const std::string& sentence,
                                  const std::function<std::string(const RunOption&)>& name);
/// Their flags; of those without one, their keys.
[[nodiscard]] std::string inFlags(const std::string& sentence);

}  // namespace shardscope::run
