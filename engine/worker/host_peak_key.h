// Under which name a peak of this host is kept (host_peak.h): the processor, how its products are
// made, and how many threads make them.
#pragma once

#include "engine/run/config/run_words.h"

#include <string>

namespace shardscope::worker {

/// By the matrix library in use.
[[nodiscard]] std::string hostPeakKey(run::Precision precision, int threads);

}  // namespace shardscope::worker
