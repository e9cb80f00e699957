// What `shardscope record --control stdio` says, one JSON object a line. Pure parsing.
#pragma once

#include "storage/model/result.h"
#include "storage/model/units.h"

#include <QByteArray>
#include <QString>
#include <cstdint>
#include <optional>
#include <variant>

namespace shardscope::desktop {

struct RunStarted {
    QString output;
    QString model;
    QString strategy;
    int ranks = 0;
    int steps = 0;
    std::int64_t parameters = 0;
};

struct StepProgress {
    int step = 0;
    int steps = 0;
    std::optional<double> loss;
    std::optional<double> tokensPerSecond;
    std::optional<double> learningRate;
    std::optional<double> gradientNorm;
    std::optional<double> memoryBytes;  ///< of the rank that holds most
    std::optional<double> blockedFraction;
    std::optional<double> secondsLeft;
    double timeSeconds = 0;
};

struct ValidationDone {
    int step = 0;
    double loss = 0;
};

struct RankChanged {
    int rank = 0;
    QString state;  ///< "starting" "running" "finished" "failed"
    std::int64_t pid = 0;
};

struct RecorderLog {
    QString level;  ///< "info" "warning" "error"
    QString text;
};

struct RunFinished {
    QString status;  ///< "finished" "stopped" "failed" "killed"
    QString output;
    int exitCode = 0;
    QString message;
};

using RecorderEvent =
    std::variant<RunStarted, StepProgress, ValidationDone, RankChanged, RecorderLog, RunFinished>;

/// One line without its newline. Unknown events of a newer recorder are nullopt; text that is
/// no such object is an error.
Result<std::optional<RecorderEvent>> parseRecorderEvent(const QByteArray& line);

}  // namespace shardscope::desktop
