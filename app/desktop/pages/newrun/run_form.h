// What the New run page computes while one types: prediction, command line, the reason why a
// run cannot start. Pure functions of a RunConfig.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/models/machine_facts.h"
#include "engine/run/config/run_option.h"

#include <QString>
#include <QStringList>
#include <string_view>
#include <vector>

namespace shardscope::desktop {

/// What a choice of an option is or does, in a few words; empty: nothing to say.
[[nodiscard]] QString choiceNote(const run::RunOption& option, const run::RunConfig& config);

struct RunPrediction {
    QString problem;  ///< why it cannot start, in the words of the form; empty: it can
    std::vector<std::string_view> wrongFields;  ///< keys of those that the problem names
    QString warning;                            ///< it can, but
    QString headline;
    QString parameters;  ///< "10,774,272 parameters"
    QString tokensPerStep;
    std::vector<StackedBar> memory;  ///< one a strategy, the chosen one emphasised
    std::vector<LegendEntry> legend;
    std::vector<std::pair<QString, QString>> traffic;  ///< name and value
    QString commandLine;                               ///< for people
    QStringList arguments;  ///< the same after `shardscope record`, for a process
};

/// `start`: settings of the checkpoint that the run resumes; null: none, or not known yet.
[[nodiscard]] RunPrediction predict(const run::RunConfig& config, const MachineFacts& machine,
                                    const run::RunConfig* start = nullptr);
/// Why a run cannot be called so; empty: it can, or has no name.
[[nodiscard]] QString nameProblem(const QString& name);
/// Adds what the user calls the run to both command lines; nothing where it is empty.
void addName(const QString& name, RunPrediction& prediction);
/// The command line for reading: one flag a line, continued with backslashes.
[[nodiscard]] QString wrappedCommand(const QString& commandLine);
/// A name for the recording that says what it holds: "shakespeare-zero3x2-20260102-1530.sscope".
[[nodiscard]] QString suggestedRecordingName(const run::RunConfig& config, const QString& moment);

}  // namespace shardscope::desktop
