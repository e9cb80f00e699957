#include "profiler/planning/step_schedule.h"

#include "engine/run/config/model_tensors.h"
#include "profiler/planning/partition_schedule.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>

namespace shardscope::planning {
namespace {

using run::RunConfig;

/// Trainer and OuterLayers of the engine.
class Schedule {
public:
    explicit Schedule(const RunConfig& config)
        : m_config(config),
          m_layers(config.model.layers),
          m_partition(partitionOf(config, m_script)) {
        using Part = run::ModelUnit::Part;
        const auto units = run::modelUnits(config);
        for (std::size_t i = 0; i < units.size(); ++i) {
            if (units[i].part == Part::kTokens) m_tokens.push_back(i);
            if (units[i].part == Part::kHead) m_heads.push_back(i);
            if (units[i].part == Part::kBlock && m_firstBlock == 0) m_firstBlock = i;
        }
        m_pieces = m_heads.size() > 1 || (m_heads.empty() && m_tokens.size() > 1);
        if (m_tokens.empty()) m_tokens.push_back(kRoot);
        if (m_heads.empty()) m_heads = m_tokens;
    }

    std::vector<StepTask> of(std::int32_t steps) {
        for (m_script.step = 0; m_script.step < steps; ++m_script.step) step();
        return m_script.take();
    }

private:
    static constexpr std::size_t kRoot = 0;

    [[nodiscard]] std::size_t unitOf(std::int64_t block) const {
        return m_firstBlock + static_cast<std::size_t>(block);
    }
    static LayerIndex layerOf(std::int64_t block) { return {static_cast<std::int16_t>(block)}; }

    void step() {
        m_partition->beginStep();
        for (std::int32_t i = 0; i < m_config.accumulate; ++i) {
            m_script.compute(Phase::kData, kNoLayer);
            m_partition->beginMicroStep(i + 1 == m_config.accumulate);
            forward();
            m_pieces ? headInPieces() : wholeHead();
            backward();
        }
        m_partition->finishReductions();
        m_script.compute(Phase::kClip, kNoLayer, m_partition->ownElements());
        agree();
        m_partition->update();
    }

    /// Norm, loss and what is agreed on: a few numbers.
    void agree() {
        constexpr std::int64_t kBytes = 4 * 8;
        if (m_config.ranks == 1) return;
        const auto work =
            m_script.ask(CollectiveOp::kAllReduce, Among::kShard, kBytes, Cause::kNorm, kNoLayer);
        m_script.wait(work, Phase::kWaitOther, kNoLayer);
    }

    void fetchAhead(std::size_t unit) {
        const std::size_t blocks = unitOf(m_layers);
        const std::size_t end =
            std::min(blocks, unit + 1 + static_cast<std::size_t>(m_config.prefetch));
        for (std::size_t next = unit + 1; next < end; ++next)
            m_partition->fetch(next, Cause::kPrefetch);
    }

    void embed() {
        m_partition->fetch(kRoot, Cause::kDemand);
        for (std::size_t piece = 0; piece < m_tokens.size(); ++piece) {
            m_partition->fetch(m_tokens[piece], Cause::kDemand);
            fetchAhead(m_tokens[piece]);
            if (piece == 0) m_partition->wait(kRoot);
            m_partition->wait(m_tokens[piece]);
            m_script.compute(Phase::kForward, kRootLayer);
            m_partition->release(m_tokens[piece], After::kForward);
            if (piece == 0 && m_tokens[0] != kRoot) m_partition->release(kRoot, After::kForward);
        }
    }

    void forward() {
        embed();
        for (std::int64_t i = 0; i < m_layers; ++i) {
            m_partition->fetch(unitOf(i), Cause::kDemand);
            const std::int64_t last = std::min(m_layers - 1, i + m_config.prefetch);
            for (std::int64_t j = i + 1; j <= last; ++j)
                m_partition->fetch(unitOf(j), Cause::kPrefetch);
            if (i + 1 == m_layers) {
                m_partition->fetch(kRoot, Cause::kPrefetch);
                m_partition->fetch(m_heads.front(), Cause::kPrefetch);
            }
            m_partition->wait(unitOf(i));
            m_script.compute(Phase::kForward, layerOf(i));
            if (i + 1 < m_layers) m_partition->release(unitOf(i), After::kForward);
        }
    }

    void wholeHead() {
        const std::size_t unit = m_heads.front();
        m_partition->fetch(unit, Cause::kDemand);
        m_partition->wait(kRoot);
        m_partition->wait(unit);
        m_partition->beginGradients(kRoot);
        if (unit != kRoot) m_partition->beginGradients(unit);
        m_script.compute(Phase::kHead, kRootLayer);
        if (unit != kRoot) {
            m_partition->release(unit, After::kBackward);
            m_partition->reduce(unit, true);
        }
        m_partition->release(kRoot, After::kBackward);
    }

    void headInPieces() {
        m_partition->wait(kRoot);
        for (std::size_t piece = 0; piece < m_heads.size(); ++piece) {
            const bool last = piece + 1 == m_heads.size();
            m_partition->fetch(m_heads[piece], Cause::kDemand);
            if (!last) m_partition->fetch(m_heads[piece + 1], Cause::kPrefetch);
            m_partition->wait(m_heads[piece]);
            m_script.compute(Phase::kHead, kRootLayer);
            if (!last) m_partition->release(m_heads[piece], After::kForward);
        }
        m_partition->beginGradients(kRoot);
        for (std::size_t piece = m_heads.size(); piece-- > 0;) {
            m_partition->fetch(m_heads[piece], Cause::kDemand);
            if (piece > 0) m_partition->fetch(m_heads[piece - 1], Cause::kPrefetch);
            m_partition->wait(m_heads[piece]);
            m_partition->beginGradients(m_heads[piece]);
            m_script.compute(Phase::kHead, kRootLayer);
            m_partition->release(m_heads[piece], After::kBackward);
            m_partition->reduce(m_heads[piece], !m_config.model.tieHead);
        }
        m_partition->release(kRoot, After::kBackward);
    }

    void backward() {
        for (std::int64_t i = m_layers - 1; i >= 0; --i) {
            m_partition->fetch(unitOf(i), Cause::kDemand);
            for (std::int64_t j = i - 1; j >= std::max<std::int64_t>(0, i - m_config.prefetch); --j)
                m_partition->fetch(unitOf(j), Cause::kPrefetch);
            m_partition->wait(unitOf(i));
            m_partition->beginGradients(unitOf(i));
            if (m_config.recomputeEvery > 0 && i % m_config.recomputeEvery == 0)
                m_script.compute(Phase::kRecompute, layerOf(i));
            m_script.compute(Phase::kBackward, layerOf(i));
            m_partition->release(unitOf(i), After::kBackward);
            m_partition->reduce(unitOf(i), true);
        }
        embedBackward();
    }

    void embedBackward() {
        for (const std::size_t unit : m_tokens) {
            if (unit != kRoot) m_partition->beginGradients(unit);
            m_script.compute(Phase::kBackward, kRootLayer);
            if (unit != kRoot) m_partition->reduce(unit, true);
        }
        m_partition->reduce(kRoot, true);
    }

    const RunConfig& m_config;
    const std::int64_t m_layers;
    Script m_script;
    std::unique_ptr<Partition> m_partition;
    std::vector<std::size_t> m_tokens, m_heads;
    std::size_t m_firstBlock = 0;
    bool m_pieces = false;
};

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
                const Duration own = m_costs.computing(task), time = own + m_pause;
                if (task.phase == Phase::kClip || task.phase == Phase::kOptimizer)
                    m_now.updating += own;
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

std::vector<StepTask> stepTasks(const RunConfig& config, std::int32_t steps) {
    return Schedule(config).of(steps);
}

PlayedStep playStep(const std::vector<StepTask>& tasks, const StepCosts& costs) {
    return Player(costs).play(tasks);
}

}  // namespace shardscope::planning
