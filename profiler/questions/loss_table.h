// Losses of two runs side by side, and a sentence on where they part.
#pragma once

#include "profiler/analysis/training_health.h"
#include "profiler/questions/answer.h"
#include "storage/model/recording.h"

#include <string>

namespace shardscope::questions {

/// Whether and from where on they differ; of curves that have steps.
[[nodiscard]] std::string lossSentence(const analysis::LossCurves& curves);

void addLossCurves(const RecordingSummary& first, const RecordingSummary& second, Answer& answer);

}  // namespace shardscope::questions
