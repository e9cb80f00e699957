#include "app/cli/record/step_tally.h"

#include "storage/model/quantity_text.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace shardscope::cli {
namespace {

/// Less than that is on its way on any link.
constexpr std::int64_t kWorthTelling = 4 << 20;

}  // namespace

void StepTally::add(const run::StepDone& done) {
    m_seen.insert(done.step.rank.value);
    // Of a rank that came late: the step was given out without it.
    if (m_ranks == 0 && done.step.step.value < m_nextStep) return;
    Pending& pending = m_pending[done.step.step.value];
    ++pending.ranksDone;
    if (done.memoryInUse.count > 0) {
        auto& memory = pending.progress.memory;
        memory = std::max(memory.value_or(Bytes{}), done.memoryInUse);
    }
    pending.wall += done.step.range().duration();
    pending.longest = std::max(pending.longest, done.step.range().duration());
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
    if (metric.step.value < m_nextStep || metric.step == kNoStep) return;
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

bool StepTally::isDone(const Pending& pending) const {
    const auto seen = static_cast<std::int32_t>(m_seen.size());
    return pending.ranksDone >= std::max(1, m_ranks > 0 ? m_ranks : seen);
}

/// Where ranks come and go, one may never do a step that others have done.
void StepTally::dropOvertaken() {
    constexpr std::size_t kMostBehind = 4;
    while (m_ranks == 0 && m_pending.size() > kMostBehind) {
        const auto first = m_pending.begin();
        if (isDone(first->second)) return;
        if (first->second.ranksDone == 0) {
            m_pending.erase(first);
        } else {
            first->second.ranksDone = static_cast<std::int32_t>(m_seen.size());
        }
    }
}

std::vector<StepProgress> StepTally::take(bool rest) {
    dropOvertaken();
    const auto allDone = [this](const auto& entry) { return isDone(entry.second); };
    const auto hasMetrics = [](const Pending& pending) {
        return pending.progress.loss && pending.progress.tokensPerSecond;
    };
    // Ranks that come and go may have left a later one to others.
    const auto overtakes = [&](const auto& entry) {
        return m_ranks == 0 ? entry.second.ranksDone > 0 : allDone(entry);
    };
    std::vector<StepProgress> ready;
    while (!m_pending.empty()) {
        const auto first = m_pending.begin();
        if (!allDone(*first)) break;
        const bool laterDone = std::any_of(std::next(first), m_pending.end(), overtakes);
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
    if (pending.longest.ns > 0) progress.stepSeconds = pending.longest.seconds();
    // Of a program it is not known while it runs.
    if (pending.wall.ns > 0 && m_ranks > 0)
        progress.blockedFraction = pending.exposed.seconds() / pending.wall.seconds();
    ++m_stepsDone;
    m_nextStep = std::max(m_nextStep, progress.step + 1);
    const std::int32_t left = m_steps - progress.step - 1;
    if (left < 0) return progress;  // how many there are is unknown
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
    if (activity.tensors.count > 0) figures.tensors = activity.tensors;
    if (activity.residentSet.count > 0) figures.residentSet = activity.residentSet;
    figures.cores = activity.cores;
    const auto found = m_last.find(rank.value);
    if (found == m_last.end()) return figures;
    std::int64_t tokens = 0;
    Duration time;
    for (const Step& step : found->second) {
        tokens += step.tokens;
        time += step.duration;
    }
    figures.stepsCounted = static_cast<std::int32_t>(found->second.size());
    if (time.ns > 0) figures.stepSeconds = time.seconds() / figures.stepsCounted;
    if (time.ns > 0 && tokens > 0)
        figures.tokensPerSecond = static_cast<double>(tokens) / time.seconds();
    return figures;
}

void HostBacklogs::note(std::int32_t number, const run::Backlog& held, bool fetching) {
    Host& host = m_hosts[number];
    host.last = held;
    if (held.bytes >= kWorthTelling && !std::exchange(host.saidSlow, true))
        m_progress.log("info",
                       fmt::format("{}: its link is slower than events come; they wait there, and "
                                   "are fetched after the last step",
                                   host.name));
    if (!fetching || (held.bytes == 0 && !host.toFetch)) return;
    if (!host.toFetch) host.toFetch = held.bytes;
    host.toFetch = std::max(*host.toFetch, held.bytes);
    const bool done = held.bytes == 0;
    m_progress.host({number, host.name, done ? "ready" : "fetching", done ? "" : "events",
                     Bytes{*host.toFetch - held.bytes}, Bytes{*host.toFetch}});
}

std::vector<Diagnostic> HostBacklogs::lost(Timestamp now) const {
    std::vector<Diagnostic> all;
    for (const auto& [number, host] : m_hosts) {
        if (host.last.givenUp == 0) continue;
        all.push_back({Severity::kWarning, "events-not-fetched",
                       fmt::format("{} of events of the ranks on {} were given up before they "
                                   "were fetched: the recording lacks them",
                                   sizeText(Bytes{host.last.givenUp}), host.name),
                       "Let the run end by itself, or record with --capture light.", std::nullopt,
                       now, 1});
    }
    return all;
}

}  // namespace shardscope::cli
