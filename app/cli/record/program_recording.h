// What all ways to record a program have in common: its configuration, its recording, its end.
#pragma once

#include "app/cli/record/record_options.h"
#include "app/cli/record/run_progress.h"
#include "app/cli/record/run_recorder.h"
#include "engine/launch/program/program_supervisor.h"
#include "engine/run/config/run_config.h"
#include "storage/model/result.h"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace shardscope::cli {

/// Of the options that say something about a program that we know nothing of; kUsage where another
/// one was given, `also` apart.
Result<run::RunConfig> programConfig(const RecordOptions& options,
                                     std::span<const std::string_view> also = {});
/// Variables that are the program's alone.
[[nodiscard]] std::map<std::string, std::string> programVariables(const RecordOptions& options);
/// As a shell's: its own, or 128 + the signal.
[[nodiscard]] int statusOf(const launch::ProcessEnd& end);

class ProgramRecording {
public:
    /// Its clock starts when this returns; `config` is programConfig()'s.
    static Result<ProgramRecording> open(const run::RunConfig& config, const RecordOptions& options,
                                         RunProgress& progress);

    [[nodiscard]] RunRecorder& recorder() { return *m_recorder; }
    [[nodiscard]] std::int64_t originNs() const { return m_originNs; }
    /// For those who ask something of the run while it goes on.
    void attach(launch::RunControl& run, const RecordOptions& options);
    /// What became of the program, as rows; the end.
    RunEnd conclude(const launch::ProgramOutcome& outcome);

private:
    ProgramRecording(const run::RunConfig& config, RunFacts facts, std::int64_t originNs,
                     RunProgress& progress)
        : m_config(config),
          m_facts(std::move(facts)),
          m_originNs(originNs),
          m_progress(&progress) {}
    void describe(const launch::ProgramOutcome& outcome);

    run::RunConfig m_config;
    RunFacts m_facts;
    std::int64_t m_originNs;
    RunProgress* m_progress;
    bool m_saysEnd = false;  ///< a front end has no shell that says how the program ended
    std::unique_ptr<RunRecorder> m_recorder;
};

}  // namespace shardscope::cli
