#include "app/desktop/session/recorder_event.h"

#include <QJsonDocument>
#include <QJsonObject>
#include <cmath>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// A number; nullopt for null and for what is missing.
std::optional<double> number(const QJsonObject& object, QLatin1StringView key) {
    const QJsonValue value = object.value(key);
    if (!value.isDouble() || !std::isfinite(value.toDouble())) return std::nullopt;
    return value.toDouble();
}

RunStarted startedOf(const QJsonObject& object) {
    return {object.value("output"_L1).toString(),   object.value("model"_L1).toString(),
            object.value("strategy"_L1).toString(), object.value("ranks"_L1).toInt(),
            object.value("steps"_L1).toInt(),       object.value("parameters"_L1).toInteger()};
}

StepProgress stepOf(const QJsonObject& object) {
    StepProgress step;
    step.step = object.value("step"_L1).toInt();
    step.steps = object.value("steps"_L1).toInt();
    step.loss = number(object, "loss"_L1);
    step.tokensPerSecond = number(object, "tokens_per_s"_L1);
    step.learningRate = number(object, "learning_rate"_L1);
    step.gradientNorm = number(object, "gradient_norm"_L1);
    step.memoryBytes = number(object, "memory_bytes"_L1);
    step.blockedFraction = number(object, "blocked_fraction"_L1);
    step.secondsLeft = number(object, "eta_s"_L1);
    step.timeSeconds = number(object, "time_s"_L1).value_or(0);
    return step;
}

RunFinished finishedOf(const QJsonObject& object) {
    return {object.value("status"_L1).toString(), object.value("output"_L1).toString(),
            object.value("exit_code"_L1).toInt(), object.value("message"_L1).toString()};
}

}  // namespace

Result<std::optional<RecorderEvent>> parseRecorderEvent(const QByteArray& line) {
    const QJsonDocument document = QJsonDocument::fromJson(line);
    const QString event = document.object().value("event"_L1).toString();
    if (event.isEmpty()) {
        return failure(ErrorCode::kFailure, "the recorder said something that is not an event: " +
                                                line.left(120).toStdString());
    }
    const QJsonObject object = document.object();
    if (event == "started"_L1) return std::optional<RecorderEvent>(startedOf(object));
    if (event == "step"_L1) return std::optional<RecorderEvent>(stepOf(object));
    if (event == "validation"_L1) {
        return std::optional<RecorderEvent>(
            ValidationDone{object.value("step"_L1).toInt(), object.value("loss"_L1).toDouble()});
    }
    if (event == "rank"_L1) {
        return std::optional<RecorderEvent>(RankChanged{object.value("rank"_L1).toInt(),
                                                        object.value("state"_L1).toString(),
                                                        object.value("pid"_L1).toInteger()});
    }
    if (event == "log"_L1) {
        return std::optional<RecorderEvent>(
            RecorderLog{object.value("level"_L1).toString(), object.value("text"_L1).toString()});
    }
    if (event == "finished"_L1) return std::optional<RecorderEvent>(finishedOf(object));
    return std::optional<RecorderEvent>();
}

}  // namespace shardscope::desktop
