// How the New run page words what run::runOptions() says of an option.
#pragma once

#include "engine/run/config/run_option.h"

#include <QString>
#include <cstdint>
#include <optional>
#include <string_view>

namespace shardscope::desktop {

/// Words of the table of options, which the command line shows as they are, in the user's language.
[[nodiscard]] QString optionText(std::string_view words);
[[nodiscard]] QString nameOf(const run::RunOption& option);
/// "Bucket size, MB"
[[nodiscard]] QString labelOf(const run::RunOption& option);
/// What it is, as a sentence.
[[nodiscard]] QString helpOf(const run::RunOption& option);

/// Where an option has what is looked for, the best first: its name, flag or key begins with it, or
/// holds it; what it is speaks of it.
enum class OptionMatch : std::uint8_t { kBegins, kHolds, kSpeaks };
/// Whatever the case; nullopt: nowhere.
[[nodiscard]] std::optional<OptionMatch> matchOf(const run::RunOption& option, const QString& text);

/// Words with the form's names for options that stand in them as {key} (run::RunProblem) or by
/// their flags, as the command line has them: “Bucket size” for --bucket-mb.
[[nodiscard]] QString withFormNames(const QString& words);
/// The same of a sentence, which it ends. Begins as it did, which may be with a path.
[[nodiscard]] QString inFormWords(const QString& sentence);

}  // namespace shardscope::desktop
