// When a strategy gathers and reduces: engine/parallel without its tensors. Internal to
// profiler/planning.
#pragma once

#include "engine/run/config/run_config.h"
#include "profiler/planning/step_schedule.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace shardscope::planning {

// A step's tasks under construction. Internal to profiler/planning.

/// Number of a collective; none: nothing was asked for.
using Collective = std::optional<std::uint32_t>;

class Script {
public:
    std::int32_t step = 0;

    void compute(Phase phase, LayerIndex layer, std::int64_t elements = 0, bool continues = false) {
        StepTask task;
        task.phase = phase;
        task.layer = layer;
        task.elements = elements;
        task.continues = continues;
        add(task);
    }
    Collective ask(CollectiveOp operation, Among among, std::int64_t bytes, Cause cause,
                   LayerIndex layer) {
        StepTask task;
        task.kind = StepTask::Kind::kAsk;
        task.operation = operation;
        task.among = among;
        task.size = {bytes};
        task.cause = cause;
        task.layer = layer;
        task.collective = m_collectives++;
        add(task);
        return task.collective;
    }
    /// Nothing where nothing was asked for.
    void wait(const Collective& collective, Phase phase, LayerIndex layer) {
        if (!collective) return;
        StepTask task;
        task.kind = StepTask::Kind::kWait;
        task.phase = phase;
        task.layer = layer;
        task.collective = *collective;
        add(task);
    }
    [[nodiscard]] std::vector<StepTask> take() { return std::move(m_tasks); }

private:
    void add(StepTask task) {
        task.step = step;
        m_tasks.push_back(task);
    }
    std::vector<StepTask> m_tasks;
    std::uint32_t m_collectives = 0;
};

/// What is gathered and released together.
struct Unit {
    LayerIndex layer = kRootLayer;
    std::int64_t padded = 0;
    std::vector<std::int64_t> tensors;
};

enum class After : std::uint8_t { kForward, kBackward };

/// The part of parallel::Partitioning that decides what is sent when.
class Partition {
public:
    Partition(const run::RunConfig& config, Script& script);
    virtual ~Partition() = default;
    virtual void beginStep() {}
    virtual void beginMicroStep(bool last) { m_last = last; }
    virtual void fetch(std::size_t, Cause) {}
    virtual void wait(std::size_t) {}
    virtual void release(std::size_t, After) {}
    virtual void beginGradients(std::size_t) {}
    virtual void reduce(std::size_t, bool) {}
    virtual void finishReductions() {}
    /// Elements of which this rank adds up the squares.
    [[nodiscard]] virtual std::int64_t ownElements() const;
    virtual void update();

    [[nodiscard]] const std::vector<Unit>& units() const { return m_units; }

protected:
    [[nodiscard]] std::int64_t shardOf(const Unit& unit) const;
    [[nodiscard]] std::int64_t wholeElements() const;

    const run::RunConfig& m_config;
    Script& m_script;
    std::vector<Unit> m_units;
    bool m_last = true;  ///< micro-step
};

/// Both outlive it.
[[nodiscard]] std::unique_ptr<Partition> partitionOf(const run::RunConfig& config, Script& script);

}  // namespace shardscope::planning
