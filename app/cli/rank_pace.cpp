#include "app/cli/rank_pace.h"

namespace shardscope::cli {

void RankPace::add(const StepFacts& step) {
    std::deque<Step>& last = m_last[step.rank.value];
    last.push_back({step.tokens, step.range().duration()});
    if (last.size() > kSteps) last.pop_front();
}

run::RankFigures RankPace::figures(RankId rank, const run::RankActivity& activity) const {
    run::RankFigures figures;
    figures.rank = static_cast<std::int32_t>(rank.value);
    if (activity.step != kNoStep) figures.step = activity.step.value;
    if (activity.phase != Phase::kNone) {
        figures.phase = toWord(activity.phase);
        figures.phaseSeconds = activity.inPhase.seconds();
        if (activity.layer != kNoLayer) figures.layer = activity.layer.value;
    }
    figures.waits = isWait(activity.phase);
    figures.queues = activity.queues;
    figures.tensors = activity.tensors;
    figures.residentSet = activity.residentSet;
    const auto found = m_last.find(rank.value);
    if (found == m_last.end()) return figures;
    std::int64_t tokens = 0;
    Duration time;
    for (const Step& step : found->second) {
        tokens += step.tokens;
        time += step.duration;
    }
    if (time.ns > 0) figures.tokensPerSecond = static_cast<double>(tokens) / time.seconds();
    figures.stepsCounted = static_cast<std::int32_t>(found->second.size());
    return figures;
}

}  // namespace shardscope::cli
