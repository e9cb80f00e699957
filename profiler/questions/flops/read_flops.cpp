#include "profiler/questions/flops/read_flops.h"

#include "profiler/questions/flops/operator_inputs.h"
#include "profiler/questions/read_pieces.h"
#include "storage/model/rank_facts.h"
#include "storage/model/run_facts.h"
#include "storage/model/step_facts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shardscope::questions {
namespace {

using analysis::FlopRule;
using analysis::OperatorFlops;
using analysis::StepFlops;

/// As PyTorch's profiler names what is around each node of the backward pass.
constexpr std::string_view kNode = "autograd::engine::evaluate_function";

/// Of one rank, whose strings are its own.
class RankReading {
public:
    RankReading(storage::RecordingReader& reader, RankId rank) : m_reader(reader), m_rank(rank) {}

    Result<void> add(LaneId lane, const StepFacts& step, StepFlops& sum,
                     analysis::OperatorCover& cover) {
        auto spans = m_reader.spans(m_rank, lane, step.range());
        if (!spans) return failure(spans);
        std::sort(spans->begin(), spans->end(), [](const SpanEvent& a, const SpanEvent& b) {
            return std::pair(a.start, a.depth) < std::pair(b.start, b.depth);
        });
        analysis::ThreadFlops thread(sum);
        cover.beginThread();
        for (const SpanEvent& span : *spans) {
            Name& name = nameOf(span.name);
            if (analysis::isOperator(name.text, span)) cover.add(span);
            if (isOf(span, step)) add(span, name, thread, sum);
        }
        return {};
    }

private:
    /// By its number, else by its start.
    static bool isOf(const SpanEvent& span, const StepFacts& step) {
        return span.step != kNoStep ? span.step == step.step : step.range().contains(span.start);
    }

    struct Name {
        std::string text;
        FlopRule rule = FlopRule::kNone;
        bool isNode = false;
        std::unordered_map<std::uint32_t, std::optional<OperatorFlops>> byArguments;
    };

    void add(const SpanEvent& span, Name& name, analysis::ThreadFlops& thread, StepFlops& sum) {
        if (name.isNode) thread.addNode(span);
        if (name.rule == FlopRule::kCompiled) sum.compiled = true;
        const bool counts = name.rule == FlopRule::kCounted || name.rule == FlopRule::kUnknown;
        if (!counts || thread.covers(span)) return;
        thread.add(span, name.rule == FlopRule::kCounted ? flopsOf(name, span) : std::nullopt);
    }

    Name& nameOf(StringId id) {
        const auto [found, fresh] = m_names.try_emplace(id.value);
        if (fresh) {
            found->second.text = m_reader.text(m_rank, id);
            found->second.rule = analysis::flopRuleOf(found->second.text);
            found->second.isNode = found->second.text.starts_with(kNode);
        }
        return found->second;
    }
    std::optional<OperatorFlops> flopsOf(Name& name, const SpanEvent& span) {
        auto& known = name.byArguments;
        const auto [found, fresh] = known.try_emplace(span.arguments.value);
        if (fresh)
            found->second =
                analysis::flopsOf(name.text, operatorInputs(m_reader.text(m_rank, span.arguments)));
        return found->second;
    }

    storage::RecordingReader& m_reader;
    RankId m_rank;
    std::unordered_map<std::uint32_t, Name> m_names;
};

/// Of recorded programs: what other traces have of waits and collectives is not the same.
Result<void> addTime(storage::RecordingReader& reader, const RecordingSummary& summary,
                     const StepFacts& step, const analysis::OperatorCover& cover,
                     analysis::CountedSteps& counted) {
    if (sourceOf(summary.run) != RecordingSource::kProgram) return {};
    const auto events = readRank(reader, summary, step.rank, step.range());
    if (!events) return failure(events);
    const analysis::OperatorTime time = cover.timeOf(*events);
    if (time.operators > 0) counted.times.push_back(time);
    return {};
}

Result<void> addStep(storage::RecordingReader& reader, const RecordingSummary& summary,
                     const StepFacts& step, RankReading& reading, analysis::CountedSteps& counted) {
    StepFlops sum;
    sum.rank = step.rank;
    sum.step = step.step;
    analysis::OperatorCover cover(step);
    for (const LaneFacts& lane : summary.lanes) {
        if (lane.rank != step.rank || lane.role != LaneRole::kHost) continue;
        if (auto done = reading.add(lane.lane, step, sum, cover); !done) return done;
    }
    counted.flops.push_back(sum);
    return addTime(reader, summary, step, cover, counted);
}

/// By rank, step.
template <class Each>
void sort(std::vector<Each>& found) {
    std::sort(found.begin(), found.end(), [](const Each& a, const Each& b) {
        return std::pair(a.rank, a.step) < std::pair(b.rank, b.step);
    });
}

}  // namespace

Result<analysis::CountedSteps> readFlops(storage::RecordingReader& reader,
                                         const RecordingSummary& summary,
                                         const analysis::SteadySteps& steady,
                                         analysis::CountWhich which) {
    analysis::CountedSteps counted;
    const auto wanted = analysis::stepsToCount(summary, steady, which);
    const std::set<StepIndex> steps(wanted.begin(), wanted.end());
    std::map<RankId, RankReading> readings;
    for (const StepFacts& step : summary.steps) {
        if (!steps.contains(step.step)) continue;
        RankReading& reading = readings.try_emplace(step.rank, reader, step.rank).first->second;
        if (auto done = addStep(reader, summary, step, reading, counted); !done)
            return failure(done);
    }
    sort(counted.flops);
    sort(counted.times);
    return counted;
}

}  // namespace shardscope::questions
