// How much of a step of a recorded program lies outside of its operators.
//
//   outside = of [step start, step end) what no operator of any thread of the rank covers, and
//             neither a wait, data loading nor a collective of the rank
//   share   = outside / the step's wall time
//
// It goes into Python, into PyTorch's way to the next operator, or into anything else that the
// program does; recording operators takes a part of it, below 1 us each. Operators are what PyTorch
// says of itself, with nodes of the backward pass and compiled graphs. The ranges around them
// (record_function, `Optimizer.step#...`, DataLoader, FSDP) are none: of an optimizer that loops in
// Python what lies between its operators is outside. Pure.
#pragma once

#include "profiler/analysis/intervals.h"
#include "storage/model/recording.h"
#include "storage/model/step_facts.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace shardscope::analysis {

/// From here on it is no way to an operator: the program does something else.
inline constexpr Duration kLongGap{1'000'000};

/// Of a rank in a step.
struct OperatorTime {
    RankId rank;
    StepIndex step = kNoStep;
    Duration wall;
    Duration outside;
    Duration inLongGaps;         ///< of outside, in pieces of kLongGap or more
    std::int64_t operators = 0;  ///< outermost of each thread, that begin in the step
    Duration inOperators;        ///< sum over these
    [[nodiscard]] double share() const {
        return wall.ns > 0 ? static_cast<double>(outside.ns) / static_cast<double>(wall.ns) : 0;
    }
    OperatorTime& operator+=(const OperatorTime& other);
};

/// Whether a span of a host thread is an operator and no range: ranges have neither shapes nor a
/// number of autograd's, nor a name of the form `aten::mm`. One that is called so counts as an
/// operator.
[[nodiscard]] bool isOperator(std::string_view name, const SpanEvent& span);

/// Collects the operators of one rank in one step.
class OperatorCover {
public:
    explicit OperatorCover(const StepFacts& step) : m_step(step) {}
    void beginThread() { m_until = {INT64_MIN}; }
    /// Operators of the thread, in the order of their starts, outer ones first.
    void add(const SpanEvent& span);
    /// `events`: of the rank, what touches the step, with its waits (seen_waits.h).
    [[nodiscard]] OperatorTime timeOf(const RankEvents& events) const;

private:
    StepFacts m_step;
    Timestamp m_until{INT64_MIN};  ///< end of the operator that covers what follows
    std::vector<TimeRange> m_operators;
};

}  // namespace shardscope::analysis
