// The flags that set fields of a RunConfig, for every verb that starts ranks.
#pragma once

#include "app/cli/options.h"
#include "engine/run/config/run_config.h"
#include "engine/run/config/run_option.h"
#include "storage/model/result.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace shardscope::cli {

class RunFlags {
public:
    using Filter = std::function<bool(const run::RunOption&)>;

    /// Adds the fields that `wanted` lets through. *this outlives the app's parsing.
    void addTo(CLI::App& app, const Filter& wanted);

    /// Sets what was given on the command line, nothing else.
    Result<void> apply(run::RunConfig& config) const;

    /// Of what was given only the switches.
    Result<void> applySwitches(run::RunConfig& config) const;
    /// Keys that were given, but for switches, in the order of run::runOptions().
    [[nodiscard]] std::vector<std::string> givenTexts() const;

    [[nodiscard]] bool given(const std::string& key) const;
    /// What followed the flag; empty when it was not given.
    [[nodiscard]] std::string text(const std::string& key) const;

private:
    std::map<std::string, std::string> m_texts;  ///< by key, what followed the flag
    std::map<std::string, bool> m_switches;      ///< by key, whether it is turned from its default
    std::map<std::string, Option> m_options;
};

}  // namespace shardscope::cli
