// A step's tasks under construction. Internal to profiler/planning.
#pragma once

#include "profiler/planning/step_schedule.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace shardscope::planning {

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

}  // namespace shardscope::planning
