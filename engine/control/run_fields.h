// The fields of RunConfig as one table: JSON, run files, command-line flags and "Save as run
// file" are all written from it, so that none can forget a field.
#pragma once

#include "engine/control/run_config.h"
#include "storage/model/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace shardscope::control {

using FieldValue = std::variant<bool, std::int64_t, double, std::string>;

struct RunField {
    const char* key;       ///< in JSON and run files; the model's begin with "model."
    const char* flag;      ///< of `shardscope record`; empty: none
    const char* argument;  ///< its placeholder in --help; empty: the flag is a switch
    const char* help;
    FieldValue (*get)(const RunConfig& config);
    /// Refuses a value of the wrong type, out of the type's range, or an unknown word.
    Result<void> (*set)(RunConfig& config, const FieldValue& value);
};

/// In the order in which they are written.
[[nodiscard]] const std::vector<RunField>& runFields();
[[nodiscard]] const RunField* findRunField(std::string_view key);
[[nodiscard]] std::vector<std::string> modelPresetNames();

/// The field's value from the text after its flag.
Result<void> setFromText(const RunField& field, RunConfig& config, const std::string& text);

/// Replaces the model by a preset; an unknown name is kUsage, with a suggestion.
Result<void> setModelPreset(RunConfig& config, const std::string& name);

/// The command line that gives `config` where the run does not start from the defaults but from
/// `base`, as --resume starts from the settings of its checkpoint.
std::string toCommandLine(const RunConfig& config, const RunConfig& base);

}  // namespace shardscope::control
