#include "tests/profiler/planning/played_recording.h"

#include "engine/run/config/model_tensors.h"
#include "engine/run/theory/theory.h"
#include "profiler/planning/step_schedule.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <algorithm>
#include <map>

namespace shardscope::test {
namespace {

using planning::Among;
using planning::StepTask;

class Player {
public:
    Player(const run::RunConfig& config, const Pace& pace, const theory::LinkModel& link)
        : m_config(config), m_pace(pace), m_link(link) {}

    PlayedRecording play(std::int32_t steps, std::int32_t cores) {
        StepFacts facts;
        for (const StepTask& task : planning::stepTasks(m_config, steps)) {
            if (facts.step.value != task.step) end(facts, task.step);
            take(task);
        }
        end(facts, steps);
        return spread(cores);
    }

private:
    void end(StepFacts& facts, std::int32_t next) {
        facts.end = m_time;
        facts.tokens = theory::tokensPerStep(m_config) / m_config.ranks;
        if (facts.step.value >= 0) m_steps.push_back(facts);
        facts.step = {next};
        facts.start = m_time;
    }

    void take(const StepTask& task) {
        if (task.kind == StepTask::Kind::kCompute) {
            span(task, {timeOf(task)});
            m_time = m_time + Duration{m_pace.after};
        } else if (task.kind == StepTask::Kind::kAsk) {
            ask(task);
        } else if (m_ends[task.collective] > m_time) {
            span(task, m_ends[task.collective] - m_time + Duration{m_pace.wake});
        }
    }

    void span(const StepTask& task, Duration duration) {
        SpanEvent span;
        span.start = m_time;
        span.duration = duration;
        span.step = {task.step};
        span.layer = task.layer;
        span.phase = task.phase;
        m_events.phases.push_back(span);
        m_time = m_time + duration;
    }

    [[nodiscard]] std::int64_t timeOf(const StepTask& task) const {
        const bool root = task.layer == kRootLayer;
        switch (task.phase) {
            case Phase::kData:
                return m_pace.data;
            case Phase::kForward:
                return root ? m_pace.embed : m_pace.block;
            case Phase::kRecompute:
                return m_pace.block;
            case Phase::kHead:
                return m_pace.head;
            case Phase::kBackward:
                return root ? m_pace.embedBackward : m_pace.blockBackward;
            case Phase::kClip:
                return m_pace.clipElement * task.elements;
            default:
                return m_pace.optimizerElement * task.elements;
        }
    }

    void ask(const StepTask& task) {
        const std::int32_t shard = theory::shardRanks(m_config);
        const std::int32_t members = task.among == Among::kShard ? shard : m_config.ranks / shard;
        CollectiveEvent event;
        event.operation = task.operation;
        event.cause = task.cause;
        event.layer = task.layer;
        event.step = {task.step};
        event.group = task.among == Among::kShard ? 0 : 1;
        event.sequence = ++m_sequence;
        event.size = task.size;
        event.issue = m_time;
        event.start = std::max(m_time, m_free[task.among]);
        event.end = event.start +
                    Duration{theory::modelledNs(m_link, task.operation, members, task.size.count)};
        m_free[task.among] = event.end;
        m_ends[task.collective] = event.end;
        m_events.collectives.push_back(event);
    }

    /// Every rank did the same.
    PlayedRecording spread(std::int32_t cores) {
        PlayedRecording made;
        made.step = m_steps.back().range().duration();
        made.summary.run.configJson = run::toJson(m_config);
        made.summary.run.worldSize = m_config.ranks;
        made.summary.hosts.resize(1);
        made.summary.hosts.front().cores = cores;
        for (std::int32_t i = 0; i < m_config.ranks; ++i) {
            const RankId rank{static_cast<std::uint32_t>(i)};
            m_events.rank = rank;
            made.ranks.push_back(m_events);
            RankFacts facts;
            facts.rank = rank;
            made.summary.ranks.push_back(facts);
            for (StepFacts& step : m_steps) step.rank = rank;
            for (const StepFacts& step : m_steps) made.summary.steps.push_back(step);
        }
        return made;
    }

    const run::RunConfig& m_config;
    const Pace& m_pace;
    const theory::LinkModel& m_link;
    Timestamp m_time;
    std::map<Among, Timestamp> m_free;
    std::map<std::uint32_t, Timestamp> m_ends;
    std::uint64_t m_sequence = 0;
    RankEvents m_events;
    std::vector<StepFacts> m_steps;
};

}  // namespace

PlayedRecording playRecording(const run::RunConfig& config, const Pace& pace,
                              const theory::LinkModel& link, std::int32_t steps,
                              std::int32_t cores) {
    return Player(config, pace, link).play(steps, cores);
}

}  // namespace shardscope::test
