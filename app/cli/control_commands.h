// What a run that is going on can be asked for, as JSON objects (docs/control_protocol.md),
// whoever asks: a program on standard input, or `shardscope control`.
#pragma once

#include "engine/launch/run_supervisor.h"
#include "engine/run/config/run_config.h"
#include "storage/model/result.h"

#include <string>
#include <string_view>
#include <utility>

namespace shardscope::cli {

class ControlCommands {
public:
    /// `run` outlives it.
    ControlCommands(launch::RunSupervisor& run, run::RunConfig config)
        : m_run(run), m_config(std::move(config)) {}

    /// Does what the line asks for; says what that comes to, or why it changes nothing (kUsage).
    Result<std::string> apply(std::string_view line) const;

private:
    launch::RunSupervisor& m_run;
    const run::RunConfig m_config;
};

}  // namespace shardscope::cli
