#include "profiler/planning/step_play.h"

#include <algorithm>
#include <array>

namespace shardscope::planning {
namespace {

class Player {
public:
    explicit Player(const StepCosts& costs) : m_costs(costs) {}

    PlayedStep play(const std::vector<StepTask>& tasks) {
        if (tasks.empty()) return {};
        m_pause = pauseOf(tasks);
        std::int32_t step = tasks.front().step;
        begin();
        for (const StepTask& task : tasks) {
            if (task.step != step) begin();
            step = task.step;
            take(task);
        }
        m_now.time = m_time - m_begin;
        return m_now;
    }

private:
    /// The rest of a step lies between the things it computes.
    [[nodiscard]] Duration pauseOf(const std::vector<StepTask>& tasks) const {
        const std::int32_t last = tasks.back().step;
        const auto count = std::count_if(tasks.begin(), tasks.end(), [last](const StepTask& task) {
            return task.step == last && task.kind == StepTask::Kind::kCompute;
        });
        return count == 0 ? Duration{} : Duration{m_costs.rest.ns / count};
    }

    void begin() {
        m_now = {};
        m_begin = m_time;
    }

    void take(const StepTask& task) {
        switch (task.kind) {
            case StepTask::Kind::kCompute: {
                const Duration time = m_costs.computing(task) + m_pause;
                m_now.computing += time;
                m_time = m_time + time;
                break;
            }
            case StepTask::Kind::kAsk:
                ask(task);
                break;
            case StepTask::Kind::kWait:
                wait(task);
        }
    }

    void ask(const StepTask& task) {
        const Duration time = m_costs.moving(task);
        Timestamp& free = m_links[static_cast<std::size_t>(task.among)];
        free = std::max(free, m_time) + time;
        m_now.moving += time;
        if (m_ends.size() <= task.collective) m_ends.resize(task.collective + 1);
        m_ends[task.collective] = free;
    }

    void wait(const StepTask& task) {
        const Timestamp end = m_ends[task.collective];
        if (end <= m_time) return;
        const Timestamp awake = end + m_costs.wake;
        m_now.waiting += awake - m_time;
        m_time = awake;
    }

    const StepCosts& m_costs;
    Duration m_pause;
    Timestamp m_time, m_begin;
    std::array<Timestamp, 2> m_links{};  ///< when each is free; by Among
    std::vector<Timestamp> m_ends;       ///< of collectives, by number
    PlayedStep m_now;
};

}  // namespace

PlayedStep playStep(const std::vector<StepTask>& tasks, const StepCosts& costs) {
    return Player(costs).play(tasks);
}

}  // namespace shardscope::planning
