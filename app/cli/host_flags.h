// Flags that choose among the hosts of a run, and what hosts make of its other settings.
#pragma once

#include "app/cli/command.h"
#include "engine/run/config/run_config.h"
#include "storage/model/result.h"

#include <string>

namespace shardscope::cli {

/// A host file's text; what names no file stands for itself.
[[nodiscard]] Result<std::string> hostText(const std::string& fileOrList);

class HostFlags {
public:
    /// *this outlives the app's parsing.
    void addTo(CLI::App& app);

    /// Reads the host file, takes the chosen hosts, and fills in what they decide: the number of
    /// ranks unless it was given, and how many ranks share a model with hsdp.
    Result<void> settle(run::RunConfig& config, bool ranksGiven) const;

private:
    [[nodiscard]] Result<void> choose(run::RunConfig& config) const;

    std::string m_include, m_exclude;
};

}  // namespace shardscope::cli
