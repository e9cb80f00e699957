#include "profiler/inject/step_marks.h"

#include "profiler/collectors/host/process_usage.h"
#include "profiler/inject/inject_api.h"
#include "storage/model/host_clock.h"
#include "storage/model/lanes.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace shardscope::inject {
namespace {

/// Lowest first.
constexpr const char* kSources[] = {"optimizer", "range", "ProfilerStep", "shardscope.step"};

constexpr int kProfilerRank = 2;

int rankOf(std::string_view source) {
    const auto* found = std::find(std::begin(kSources), std::end(kSources), source);
    return found == std::end(kSources) ? -1 : static_cast<int>(found - std::begin(kSources));
}

/// Its address is the calling thread's own.
std::uint64_t ownThread() {
    thread_local char here = 0;
    return reinterpret_cast<std::uint64_t>(&here);
}

std::optional<Phase> phaseOf(NameUse use) {
    switch (use) {
        case NameUse::kData:
            return Phase::kData;
        case NameUse::kOptimizer:
            return Phase::kOptimizer;
        case NameUse::kZeroGrad:
            return Phase::kOther;
        default:
            return std::nullopt;
    }
}

}  // namespace

StepMarks::StepMarks(capture::CaptureSession& session, CaptureSchedule schedule, Done done)
    : m_session(session),
      m_done(std::move(done)),
      m_level(schedule.levelOf(0)),
      m_schedule(std::move(schedule)) {
    m_stepLevel = m_level;
    m_stepName = session.intern("step");
    for (const Phase phase : kAll<Phase>)
        m_phaseNames[static_cast<std::size_t>(phase)] = session.intern(toWord(phase));
    session.declareLane(lanes::kSteps);
    session.declareLane(lanes::kPhases);
}

void StepMarks::change(CaptureSchedule schedule) {
    const MutexLock lock(m_mutex);
    m_schedule = std::move(schedule);
}

void StepMarks::onLevel(void (*set)(std::int32_t level)) {
    m_onLevel = set;
    if (set != nullptr) set(static_cast<std::int32_t>(level()));
}

void StepMarks::setLevel(CaptureLevel level) {
    if (m_level.exchange(level) == level) return;
    if (auto* set = m_onLevel.load()) set(static_cast<std::int32_t>(level));
}

void StepMarks::stop() {
    if (auto* set = m_onLevel.exchange(nullptr)) set(SHARDSCOPE_OFF);
}

/// The first thread that does what only training does is the thread of the steps.
bool StepMarks::isStepThread() {
    std::uint64_t thread = 0;
    return m_thread.compare_exchange_strong(thread, ownThread()) || thread == ownThread();
}

void StepMarks::beginStep(std::int64_t nowNs, std::int64_t cpuNs) {
    m_stepBeginNs = nowNs;
    m_cursorNs = std::max(m_cursorNs, nowNs);
    m_forwardNs.reset();
    enter(Phase::kForward);
    m_cpuNs = cpuNs;
}

void StepMarks::firstForward(std::int64_t nowNs) {
    if (!isStepThread()) return;
    const MutexLock lock(m_state);
    beginFirst(nowNs);
}

void StepMarks::beginFirst(std::int64_t nowNs) {
    if (m_stepBeginNs) return;
    m_step.store(0);
    m_hostCores.skip(nowNs);
    m_coreWait.emplace();
    m_waitedNs = m_coreWait->read();
    beginStep(nowNs, collectors::processUsage().cpuTimeNs);
}

bool StepMarks::stepEnds(std::string_view source, std::int64_t nowNs) {
    const MutexLock lock(m_state);
    return endStep(source, nowNs);
}

/// Of two sources that end the same step one after the other the second one begins to count. The
/// last ProfilerStep of a program is what lies between its last step and the profiler's end.
bool StepMarks::counts(std::string_view source) {
    const int rank = rankOf(source);
    const bool isProfiler = source == kSources[kProfilerRank];
    if (m_sourceRank == kProfilerRank && !m_inProfilerStep) m_sourceRank = -1;
    if (rank < 0) return false;
    const bool trained = std::exchange(m_trained, rank < m_sourceRank);
    if (rank < m_sourceRank) return false;
    const bool isNext = rank > m_sourceRank && m_sourceRank >= 0;
    m_source = source;
    m_sourceRank = rank;
    if (!trained && (isNext || (isProfiler && m_profilerTrained))) return false;
    m_profilerTrained = m_profilerTrained || (isProfiler && trained);
    return true;
}

bool StepMarks::endStep(std::string_view source, std::int64_t nowNs) {
    if (!counts(source)) return false;
    m_thread.store(ownThread());
    // Nothing came before that could be its beginning.
    beginFirst(nowNs);
    close(nowNs);
    const StepIndex step = this->step();
    const collectors::ProcessUsage usage = collectors::processUsage();
    capture::StepEnded ended;
    ended.capture = m_stepLevel;
    ended.reason = m_stepReason;
    ended.source = m_source;
    StepFacts& facts = ended.step;
    facts.step = step;
    facts.start = m_session.at(*m_stepBeginNs);
    facts.end = m_session.at(nowNs);
    facts.cpuTimeNs = usage.cpuTimeNs - m_cpuNs;
    facts.residentSet = usage.residentSet;
    const auto waited = m_coreWait ? m_coreWait->read() : std::nullopt;
    if (waited && m_waitedNs) facts.coreWaitNs = *waited - *m_waitedNs;
    m_waitedNs = waited;
    if (const auto cores = m_hostCores.take(nowNs)) {
        facts.stolenNs = cores->stolen;
        facts.busyNs = cores->used;
    }
    if (m_stepLevel >= CaptureLevel::kLight) {
        SpanEvent span;
        span.start = facts.start;
        span.duration = facts.end - facts.start;
        span.lane = lanes::kSteps.id;
        span.name = m_stepName;
        span.step = step;
        m_session.threadQueue().push(span);
    }
    facts.emitted = m_session.emitted();
    facts.dropped = m_session.dropped();
    m_done(std::move(ended));
    m_step.store(step.value + 1);
    {
        const MutexLock lock(m_mutex);
        m_stepLevel = m_schedule.levelOf(step.value + 1);
        m_stepReason = m_schedule.reason();
    }
    beginStep(nowNs, usage.cpuTimeNs);
    setLevel(m_stepLevel);
    return true;
}

void StepMarks::emit(Phase phase, std::int64_t beginNs, std::int64_t endNs) {
    const auto end = std::find_if(m_waits.begin(), m_waits.end(),
                                  [endNs](const Wait& each) { return each.beginNs >= endNs; });
    for (auto wait = m_waits.begin(); wait != end; ++wait) {
        emitPiece(phase, beginNs, wait->beginNs);
        emitPiece(Phase::kWaitOther, wait->beginNs, wait->endNs);
    }
    m_waits.erase(m_waits.begin(), end);
    emitPiece(phase, beginNs, endNs);
}

/// From where the last one ended.
void StepMarks::emitPiece(Phase phase, std::int64_t beginNs, std::int64_t endNs) {
    const std::int64_t begin = std::max(beginNs, m_cursorNs);
    if (endNs <= begin) return;
    m_cursorNs = endNs;
    if (m_stepLevel < CaptureLevel::kLight) return;
    SpanEvent span;
    span.start = m_session.at(begin);
    span.duration = m_session.at(endNs) - span.start;
    span.lane = lanes::kPhases.id;
    span.name = m_phaseNames[static_cast<std::size_t>(phase)];
    span.step = step();
    span.phase = phase;
    m_session.threadQueue().push(span);
}

void StepMarks::closeBackward(std::int64_t nowNs) {
    if (!m_backwardNs) return;
    const std::int64_t begin = *std::exchange(m_backwardNs, std::nullopt);
    // Its nodes ran where this level sees none: then it lasted until now at most.
    const std::int64_t last = m_nodeEndNs.load(std::memory_order_relaxed);
    emit(Phase::kBackward, begin, last > begin ? std::min(last, nowNs) : nowNs);
    // What lies before the optimizer's own work goes on may be a wait for the last collectives.
    if (m_open && m_resumedNs) m_cursorNs = std::max(m_cursorNs, *m_resumedNs);
    m_resumedNs.reset();
}

void StepMarks::close(std::int64_t nowNs) {
    closeBackward(nowNs);
    if (m_open) emit(m_open->phase, m_open->beginNs, nowNs);
    m_open.reset();
    emit(Phase::kNone, nowNs, nowNs);  // what was waited for behind the last phase
}

void StepMarks::begins(NameUse use, std::int64_t nowNs) {
    if (use == NameUse::kProfilerStep) {
        const MutexLock lock(m_state);
        m_inProfilerStep = true;
        return;
    }
    if (!isStepThread()) return;
    const MutexLock lock(m_state);
    m_trained = m_trained || (use != NameUse::kZeroGrad && use != NameUse::kStepRange);
    if (use == NameUse::kForward) {
        closeBackward(nowNs);
        if (!m_forwardNs) m_forwardNs = nowNs;
        enter(Phase::kForward);
    } else if (const auto phase = phaseOf(use); phase && !m_open) {
        closeBackward(nowNs);
        m_open = {*phase, nowNs};
        enter(*phase);
    }
}

void StepMarks::waited(std::int64_t beginNs, std::int64_t nowNs) {
    if (m_thread != ownThread() || nowNs - beginNs < kShortestWaitNs) return;
    const MutexLock lock(m_state);
    if (!m_stepBeginNs || m_stepLevel < CaptureLevel::kLight) return;
    // Those within this one.
    while (!m_waits.empty() && m_waits.back().beginNs >= beginNs) m_waits.pop_back();
    if (m_waits.size() < kMostWaits) m_waits.push_back({beginNs, nowNs});
}

void StepMarks::operatorBegins(std::int64_t sequence, std::int64_t nowNs) {
    const Phase phase = this->phase();
    const bool isBackward = phase == Phase::kBackward;
    if (!isBackward && (phase != Phase::kOptimizer || sequence < 0)) return;
    if (m_thread != ownThread()) return;
    const MutexLock lock(m_state);
    if (m_open && !isClosure()) return;
    if (isBackward && !m_resumedNs) m_resumedNs = nowNs;
    if (isBackward ? sequence > m_firstNode : m_open.has_value()) enter(Phase::kForward);
}

void StepMarks::nodeBegins(std::int64_t sequence, std::int64_t nowNs) {
    if (!isStepThread()) return;
    const MutexLock lock(m_state);
    if (m_backwardNs && (sequence < m_firstNode || m_firstNode < 0 || sequence < 0)) {
        m_firstNode = std::max(m_firstNode, sequence);
        m_resumedNs.reset();
        enter(Phase::kBackward);
        return;
    }
    closeBackward(nowNs);
    m_trained = true;
    if (m_stepBeginNs && (!m_open || isClosure()))
        emit(Phase::kForward, m_forwardNs.value_or(m_open ? m_open->beginNs : *m_stepBeginNs),
             nowNs);
    m_forwardNs.reset();
    m_firstNode = sequence;
    m_backwardNs = nowNs;
    enter(Phase::kBackward);
}

void StepMarks::ends(NameUse use, std::int64_t nowNs) {
    if (use == NameUse::kProfilerStep) {
        const MutexLock lock(m_state);
        endStep(kSources[kProfilerRank], nowNs);
        m_inProfilerStep = false;
    } else if (use == NameUse::kStepRange) {
        stepEnds("range", nowNs);
    } else if (const auto phase = phaseOf(use); phase && isStepThread()) {
        const MutexLock lock(m_state);
        // Of an optimizer whose step has ended within it, nothing is open any more.
        if (!m_open || m_open->phase != *phase) return;
        closeBackward(nowNs);
        emit(*phase, m_open->beginNs, nowNs);
        m_open.reset();
        enter(*phase == Phase::kOptimizer ? Phase::kNone : Phase::kForward);
    }
}

}  // namespace shardscope::inject
