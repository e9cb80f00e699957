// Whether two recordings can be compared, and what is to be kept in mind if they are.
#pragma once

#include "profiler/analysis/compare/grounds.h"
#include "storage/model/recording.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardscope::analysis {

struct Comparability {
    std::vector<std::string> refusals;  ///< sentences: a verdict would be of different work
    std::vector<std::string> warnings;  ///< sentences: what else differs
};

/// Models, options, devices, capture, versions.
[[nodiscard]] Comparability comparabilityOf(const RecordingSummary& first,
                                            const RecordingSummary& second,
                                            const SideNames& names = {});

/// Of recordings with different numbers of ranks, which are to be of the same model, precision and
/// devices. How many ranks and how large their batches may differ; what else does is said. `name`
/// is what the other is called in sentences: "recording 3", against "recording 1".
[[nodiscard]] Comparability scalingComparabilityOf(const RecordingSummary& first,
                                                   const RecordingSummary& other,
                                                   std::string_view name);

}  // namespace shardscope::analysis
