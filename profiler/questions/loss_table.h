// Losses of two runs side by side, and a sentence on where they part. Internal to
// profiler/questions.
#pragma once

#include "profiler/questions/answer.h"
#include "storage/model/recording.h"

namespace shardscope::questions {

void addLossCurves(const RecordingSummary& first, const RecordingSummary& second, Answer& answer);

}  // namespace shardscope::questions
