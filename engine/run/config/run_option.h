// Everything about an option of a run in one place (run_options.cpp): its member of RunConfig, its
// key in JSON and run files, its flag, its limits, and the words of --help, the New run form and
// refusals. Command lines, files, form and checks are all made from it.
#pragma once

#include "engine/run/config/run_config.h"
#include "storage/model/result.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace shardscope::run {

/// Headings of --help and of the form, in this order.
enum class OptionSection : std::uint8_t {
    kModel,
    kModelParts,
    kStrategy,
    kHosts,
    kCommunication,
    kDevice,
    kData,
    kTraining,
    kValidation,
    kCheckpoints,
    kRecording,
};
struct OptionSectionWords {
    OptionSection value;
    const char* word;
    bool common;  ///< open in the form, in the short --help
};
constexpr auto wordsOf(OptionSection) {
    return wordList<OptionSectionWords>(
        {{OptionSection::kModel, "Model", true},
         {OptionSection::kModelParts, "Parts of the model", false},
         {OptionSection::kStrategy, "Strategy", true},
         {OptionSection::kHosts, "Hosts", false},
         {OptionSection::kCommunication, "Communication", false},
         {OptionSection::kDevice, "Precision and device", true},
         {OptionSection::kData, "Data", true},
         {OptionSection::kTraining, "Training", true},
         {OptionSection::kValidation, "Validation and samples", false},
         {OptionSection::kCheckpoints, "Checkpoints", false},
         {OptionSection::kRecording, "Recording", true}});
}

using OptionValue = std::variant<bool, std::int64_t, double, std::string>;

/// One of the words that an option takes.
struct OptionChoice {
    std::string word;
    std::string name;  ///< as people call it: "ZeRO-3"
    std::string note;  ///< what it does, in a few words; may be empty
};

/// What a text of an option is, where it is more than text.
enum class OptionText : std::uint8_t {
    kPlain,
    kEscaped,  ///< line ends are written \\n
    kFile,
    kFolder,
    kFileOrFolder,
    kOutput,  ///< a file that is made
};

struct RunOption {
    const char* key = "";       ///< in JSON and run files; the model's begin with "model."
    const char* flag = "";      ///< of `shardscope record`; empty: none
    const char* argument = "";  ///< its placeholder in --help; empty: the flag is a switch
    OptionSection section = OptionSection::kModel;
    const char* name = "";  ///< as the form calls it; empty: it is not in the form
    const char* help = "";  ///< what it is: a phrase without its stop; of a switch, when it is on
    const char* unit = "";
    const char* note = "";  ///< below its field in the form
    /// Of numbers, both within. A value that is not a number lies outside.
    double least = std::numeric_limits<double>::lowest();
    double most = std::numeric_limits<double>::max();
    bool rare = false;  ///< in --help-all only
    OptionText text = OptionText::kPlain;
    OptionValue (*get)(const RunConfig& config) = nullptr;
    /// Refuses a value of the wrong type, out of the type's range, or an unknown word.
    Result<void> (*set)(RunConfig& config, const OptionValue& value) = nullptr;
    /// Of options that are one of a few words; none: the option is something else.
    std::vector<OptionChoice> (*choices)() = nullptr;

    [[nodiscard]] bool isSwitch() const { return *argument == '\0'; }
    [[nodiscard]] bool isSame(const RunConfig& config, const RunConfig& other) const {
        return get(config) == get(other);
    }
};

/// In the order in which they are written and shown.
[[nodiscard]] const std::vector<RunOption>& runOptions();
[[nodiscard]] const RunOption* findRunOption(std::string_view key);
/// "; did you mean 'steps'?" for a key that no option has, or nothing.
[[nodiscard]] std::string suggestedKey(const std::string& key);
[[nodiscard]] std::vector<std::string> modelPresetNames();

/// The option's value from the text after its flag.
Result<void> setFromText(const RunOption& option, RunConfig& config, const std::string& text);

/// Replaces the model by a preset; an unknown name is kUsage, with a suggestion.
Result<void> setModelPreset(RunConfig& config, const std::string& name);

/// The command line that gives `config` where the run does not start from the defaults but from
/// `base`, as --resume starts from the settings of its checkpoint.
std::string toCommandLine(const RunConfig& config, const RunConfig& base);
/// Its words after `shardscope record`, as a process takes them.
std::vector<std::string> toArguments(const RunConfig& config, const RunConfig& base = RunConfig());

}  // namespace shardscope::run
