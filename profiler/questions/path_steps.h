// Reads a recording step by step as its critical path needs it. Internal to profiler/questions.
#pragma once

#include "profiler/analysis/graph/step_activities.h"
#include "profiler/questions/question.h"

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace shardscope::questions {

class PathSteps {
public:
    /// All of them outlive this.
    PathSteps(const Asked& asked, const std::vector<RankEvents>& ranks, analysis::PathNames& names);

    /// What each rank did in a step; ranks without that step are left out. The spans of a few
    /// steps are in memory at a time; fastest step by step.
    [[nodiscard]] Result<std::vector<analysis::RankStep>> of(StepIndex step, TimeRange range);
    /// Whether a launch of a kernel was met in the steps read so far.
    [[nodiscard]] bool sawLaunch() const { return m_sawLaunch; }

private:
    /// What was read of a lane last: of several steps at once, since chunks are decoded whole.
    struct Window {
        TimeRange range;
        std::vector<SpanEvent> spans;
    };

    Result<std::vector<SpanEvent>> spansOf(const LaneFacts& lane, TimeRange range);
    void takeEvents(const RankEvents& events, TimeRange range, analysis::RankStep& step) const;
    Result<void> takeSpans(TimeRange range, analysis::RankStep& step);
    Result<void> takeCalls(const LaneFacts& lane, TimeRange range, analysis::RankStep& step);
    [[nodiscard]] std::uint32_t nameOf(RankId rank, StringId name);

    const Asked& m_asked;
    const std::vector<RankEvents>& m_ranks;
    analysis::PathNames& m_names;
    std::map<RankId, std::vector<const CollectiveEvent*>> m_byStart;
    std::map<std::pair<RankId, StringId>, std::uint32_t> m_known;
    std::map<std::pair<RankId, StepIndex>, TimeRange> m_steps;
    std::map<std::pair<RankId, LaneId>, Window> m_windows;
    bool m_sawLaunch = false;
};

}  // namespace shardscope::questions
