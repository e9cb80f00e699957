// How the engine tells what it does. Torch-free, allocation-free for the caller.
//
// The engine holds an `Observer*` that may be null: then reporting costs one branch. All
// times are host CLOCK_MONOTONIC nanoseconds (hostNow()); the worker's observer moves
// them onto the recording's clock. Step-thread calls: step, phase, idle, metric, memory scopes.
// collective() comes from the communication thread; buffer events from any thread.
#pragma once

#include "engine/control/graph_recorder.h"
#include "storage/model/events.h"
#include "storage/model/host_clock.h"
#include "storage/model/words.h"

#include <cstdint>
#include <ctime>
#include <optional>
#include <span>
#include <utility>

namespace shardscope::control {

struct PhaseReport {
    Phase phase = Phase::kNone;
    LayerIndex layer = kNoLayer;
    Cause cause = Cause::kNone;
    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
};

/// What a collective of ranks on several hosts is doing at a time.
enum class Level : std::uint8_t { kInsideHost, kBetweenHosts };
constexpr auto wordsOf(Level) {
    return wordList<Word<Level>>(
        {{Level::kInsideHost, "inside the host"}, {Level::kBetweenHosts, "between hosts"}});
}
struct LevelReport {
    Level level = Level::kInsideHost;
    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
};

struct CollectiveReport {
    CollectiveOp operation = CollectiveOp::kBarrier;
    DataType dtype = DataType::kFloat32;
    Cause cause = Cause::kNone;
    LayerIndex layer = kNoLayer;
    std::int32_t step = -1;
    std::uint32_t group = 0;
    std::uint64_t sequence = 0;
    /// Of a graph's replay: the number it had while it was captured; 0: it was queued by itself.
    std::uint64_t captured = 0;
    std::int64_t sizeBytes = 0;
    const char* algorithm = "";  ///< static strings
    const char* protocol = "";
    std::int64_t issueNs = 0;
    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
    std::span<const std::int64_t> arrivalsNs;  ///< by rank; valid during the call
    /// From startNs to endNs without gaps; empty where ranks share a host. Valid during the call.
    std::span<const LevelReport> levels;
};

/// A buffer the engine manages outside the tensor allocator (shared memory).
struct BufferReport {
    const void* address = nullptr;
    std::int64_t sizeBytes = 0;
    MemoryAction action = MemoryAction::kAllocate;
    MemoryCategory category = MemoryCategory::kOther;
    LayerIndex layer = kNoLayer;
    const char* owner = "";  ///< static string
    std::int64_t timeNs = 0;
};

enum class Metric : std::uint8_t {
    kLoss,
    kValidationLoss,
    kLearningRate,
    kGradientNorm,
    kTokensPerSecond,
    kValidationPerplexity,
    kLossScale,
};
constexpr auto wordsOf(Metric) {
    return wordList<Word<Metric>>({{Metric::kLoss, "loss"},
                                   {Metric::kValidationLoss, "validation_loss"},
                                   {Metric::kLearningRate, "learning_rate"},
                                   {Metric::kGradientNorm, "gradient_norm"},
                                   {Metric::kTokensPerSecond, "tokens_per_s"},
                                   {Metric::kValidationPerplexity, "validation_perplexity"},
                                   {Metric::kLossScale, "loss_scale"}});
}

struct StepReport {
    std::int32_t step = 0;
    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
    std::int64_t tokens = 0;  ///< processed by this rank
    bool skipped = false;     ///< without an update and its collectives
};

class PhaseScope;

class Observer {
public:
    virtual ~Observer() = default;
    virtual void stepBegin(std::int32_t step) = 0;
    virtual void stepEnd(const StepReport& report) = 0;
    /// Before the phase's work: sets what operators and allocations are attributed to.
    virtual void phaseBegin(Phase phase, LayerIndex layer) = 0;
    virtual void phaseEnd(const PhaseReport& report) = 0;
    /// Whether a moment at which the device has nothing to do is worth waiting for.
    [[nodiscard]] virtual bool wantsIdle() { return false; }
    /// The step thread has waited for all that it had queued: such a moment.
    virtual void deviceIdle() {}
    virtual void collective(const CollectiveReport& report) = 0;
    virtual void buffer(const BufferReport& report) = 0;
    virtual void metric(Metric metric, std::int32_t step, double value) = 0;
    /// Reports phases inside device graphs; null: they are not reported. Belongs to the observer.
    [[nodiscard]] virtual GraphRecorder* graphs() { return nullptr; }

private:
    friend class PhaseScope;
    friend class PhaseBreak;
    PhaseScope* m_open = nullptr;  ///< the innermost phase of the step thread
};

/// What allocations of this thread are booked under; read by the allocator wrapper.
struct MemoryUse {
    MemoryCategory category = MemoryCategory::kOther;
    const char* owner = nullptr;  ///< static string; null: the operator that allocates
};
MemoryUse& threadMemoryUse();

class MemoryScope {
public:
    explicit MemoryScope(MemoryCategory category, const char* owner = nullptr)
        : m_previous(std::exchange(threadMemoryUse(), {category, owner})) {}
    ~MemoryScope() { threadMemoryUse() = m_previous; }
    MemoryScope(const MemoryScope&) = delete;
    MemoryScope& operator=(const MemoryScope&) = delete;

private:
    MemoryUse m_previous;
};

/// Reports one phase from construction to destruction; nothing when observer is null.
class PhaseScope {
public:
    PhaseScope(Observer* observer, Phase phase, LayerIndex layer, Cause cause = Cause::kNone);
    ~PhaseScope();
    PhaseScope(const PhaseScope&) = delete;
    PhaseScope& operator=(const PhaseScope&) = delete;

private:
    friend class PhaseBreak;
    void begin();
    void end();

    Observer* m_observer;
    PhaseScope* m_outer = nullptr;
    PhaseReport m_report;
};

/// What happens meanwhile is a phase of its own: the one that is open ends before it and goes on
/// behind it.
class PhaseBreak {
public:
    PhaseBreak(Observer* observer, Phase phase, LayerIndex layer);
    ~PhaseBreak();
    PhaseBreak(const PhaseBreak&) = delete;
    PhaseBreak& operator=(const PhaseBreak&) = delete;

private:
    PhaseScope* m_around = nullptr;
    std::optional<PhaseScope> m_meanwhile;
};

}  // namespace shardscope::control
