// What the New run page computes while one types: prediction, command line, the reason why a
// run cannot start. Pure functions of a RunConfig.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "engine/control/run_config.h"

#include <QString>
#include <vector>

namespace shardscope::desktop {

/// The machine a run would be started on.
struct MachineFacts {
    int cores = 1;
    Bytes freeMemory;
    Bytes totalMemory;
};
[[nodiscard]] MachineFacts thisMachine();

/// As people call it: "ZeRO-3", "DDP, buckets".
[[nodiscard]] QString strategyName(control::Strategy strategy);
/// What it does, in a few words.
[[nodiscard]] QString strategyNote(control::Strategy strategy);

/// Which fields of a run mean something, and why the others do not (empty: they do).
struct FieldReasons {
    QString shareDevice;
    QString deviceCapture;
    QString reduceIn;
    QString bucket;
    QString shardRanks;
    QString prefetch;
};
[[nodiscard]] FieldReasons fieldReasons(const control::RunConfig& config);

struct RunPrediction {
    QString problem;  ///< why it cannot start, in words; empty: it can
    QString warning;  ///< it can, but
    QString headline;
    QString parameters;  ///< "10,774,272 parameters"
    QString tokensPerStep;
    std::vector<StackedBar> memory;  ///< one a strategy, the chosen one emphasised
    std::vector<LegendEntry> legend;
    std::vector<std::pair<QString, QString>> traffic;  ///< name and value
    QString commandLine;
};

[[nodiscard]] RunPrediction predict(const control::RunConfig& config, const MachineFacts& machine);
/// The command line for reading: one flag a line, continued with backslashes.
[[nodiscard]] QString wrappedCommand(const QString& commandLine);
/// A name for the recording that says what it holds: "shakespeare-zero3x2-20260102-1530.sscope".
[[nodiscard]] QString suggestedRecordingName(const control::RunConfig& config,
                                             const QString& moment);
/// Words on a data path: "1.90 MB text file", or why it cannot be used.
struct DataCheck {
    QString text;
    bool usable = true;
};
[[nodiscard]] DataCheck checkData(const QString& path);

}  // namespace shardscope::desktop
