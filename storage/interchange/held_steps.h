// The steps that lie whole within a part of a recording: half a one would be taken for a fast one.
// What carries a step's number and lies on no lane goes with its step, whenever it was written.
#pragma once

#include "storage/model/recording.h"

#include <functional>
#include <map>
#include <set>
#include <vector>

namespace shardscope::interchange {

class HeldSteps {
public:
    /// `part`: the time that the part has on a rank. `ranks`: those that are in it.
    HeldSteps(const RecordingSummary& summary, const std::vector<RankId>& ranks,
              const std::function<TimeRange(RankId)>& part);

    [[nodiscard]] bool has(const StepFacts& step) const;
    /// Of a step that the recording has: with the step. Of any other: within the time `otherwise`.
    [[nodiscard]] bool has(const MetricPoint& metric, TimeRange otherwise) const;

private:
    std::map<RankId, TimeRange> m_parts;
    std::set<StepIndex> m_known;  ///< of the recording
    std::set<StepIndex> m_held;   ///< of those, by some rank of the part
};

}  // namespace shardscope::interchange
