#include "app/cli/step_tally.h"

#include <algorithm>

namespace shardscope::cli {

void StepTally::add(const run::StepDone& done) {
    Pending& pending = m_pending[done.step.step.value];
    ++pending.ranksDone;
    Bytes& memory =
        pending.progress.memory ? *pending.progress.memory : pending.progress.memory.emplace();
    memory = std::max(memory, done.memoryInUse);
    pending.wall += done.step.range().duration();
    pending.exposed += done.exposedCommunication;
    pending.end = std::max(pending.end, done.step.end);
}

void StepTally::add(const MetricPoint& metric) {
    const bool loss = metric.name == "loss";
    const bool tokens = metric.name == "tokens_per_s";
    const bool rate = metric.name == "learning_rate";
    if (!loss && !tokens && !rate && metric.name != "gradient_norm") return;
    if (loss && !m_lossFirst) m_lossFirst = metric.value;
    if (loss) m_lossLast = metric.value;
    // What comes after its step was given out would wait for ranks for ever.
    if (metric.step.value < m_nextStep) return;
    StepProgress& progress = m_pending[metric.step.value].progress;
    if (loss) {
        progress.loss = metric.value;
    } else if (tokens) {
        progress.tokensPerSecond = metric.value;
    } else if (rate) {
        progress.learningRate = metric.value;
    } else {
        progress.gradientNorm = metric.value;
    }
}

std::vector<StepProgress> StepTally::take() {
    return take(false);
}

std::vector<StepProgress> StepTally::takeRest() {
    return take(true);
}

std::vector<StepProgress> StepTally::take(bool rest) {
    const auto allDone = [this](const auto& entry) { return entry.second.ranksDone >= m_ranks; };
    const auto hasMetrics = [](const Pending& pending) {
        return pending.progress.loss && pending.progress.tokensPerSecond;
    };
    std::vector<StepProgress> ready;
    while (!m_pending.empty()) {
        const auto first = m_pending.begin();
        if (!allDone(*first)) break;
        const bool laterDone = std::any_of(std::next(first), m_pending.end(), allDone);
        if (!hasMetrics(first->second) && !laterDone && !rest) break;
        first->second.progress.step = first->first;
        ready.push_back(complete(first->second));
        m_pending.erase(first);
    }
    return ready;
}

StepProgress StepTally::complete(const Pending& pending) {
    StepProgress progress = pending.progress;
    progress.steps = m_steps;
    progress.timeSeconds = pending.end.seconds();
    if (pending.wall.ns > 0)
        progress.blockedFraction = pending.exposed.seconds() / pending.wall.seconds();
    ++m_stepsDone;
    m_nextStep = std::max(m_nextStep, progress.step + 1);
    const std::int32_t left = m_steps - progress.step - 1;
    if (!m_firstEnd) {
        m_firstEnd = pending.end;
        m_firstStep = progress.step;
        progress.secondsLeft = pending.wall.seconds() / std::max(1, m_ranks) * left;
    } else if (progress.step > m_firstStep) {
        progress.secondsLeft =
            (pending.end - *m_firstEnd).seconds() / (progress.step - m_firstStep) * left;
    }
    return progress;
}

}  // namespace shardscope::cli
