// Whether two recordings can be compared, and what is to be kept in mind if they are.
#pragma once

#include "storage/model/recording.h"

#include <string>
#include <vector>

namespace shardscope::analysis {

struct Comparability {
    std::vector<std::string> refusals;  ///< sentences: a verdict would be of different work
    std::vector<std::string> warnings;  ///< sentences: what else differs
};

/// Models, options, devices, capture, versions. `first` and `second` are what the recordings are
/// called in sentences.
[[nodiscard]] Comparability comparabilityOf(const RecordingSummary& first,
                                            const RecordingSummary& second);

}  // namespace shardscope::analysis
