// FLOP/s and utilisation of a program that is not ours, or of an imported trace: of its operators
// where their shapes are recorded (operator_flops.h), else of 6 FLOPs a parameter and token.
//
// MFU is what forward and backward need / peak of all ranks, HFU what they execute / the same: what
// is computed again in the backward pass (checkpointed blocks, attention's scores) is in HFU alone.
// Of a step: FLOPs of all ranks / its time from the first rank's beginning to the last one's end;
// the figure is the median over the steps that were looked at. Pure.
#pragma once

#include "profiler/analysis/device/operator_flops.h"
#include "profiler/analysis/findings.h"
#include "profiler/analysis/steps/operator_time.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::analysis {

/// What was read of a recording's operators.
struct CountedSteps {
    std::vector<StepFlops> flops;  ///< by rank, step: of some steady steps, every rank's
    /// Of the same of a recorded program that have operators, by rank, step.
    std::vector<OperatorTime> times;
};

/// Which of the steps that can be counted are.
enum class CountWhich : std::uint8_t {
    kSome,  ///< at most so many that they are soon read, spread evenly
    kAll,
};
/// Of the steady steps those whose operators all ranks recorded. None of a run of ours, which has
/// its model.
[[nodiscard]] std::vector<StepIndex> stepsToCount(const RecordingSummary& summary,
                                                  const SteadySteps& steady,
                                                  CountWhich which = CountWhich::kSome);

/// A step over all ranks, by its operators.
struct StepUse {
    StepIndex step = kNoStep;
    double seconds = 0;
    std::optional<double> needed, executed;  ///< FLOPs of all ranks
    std::string why;                         ///< they are unknown; no capital, no stop
};
/// Of each of the steady steps, in their order.
[[nodiscard]] std::vector<StepUse> usesOfSteps(const RecordingSummary& summary,
                                               const SteadySteps& steady,
                                               const CountedSteps& counted);

/// By one way to count.
struct FlopRate {
    const char* variant = "";        ///< "operators", "6N"
    double perSecond = 0;            ///< needed, of all ranks
    std::optional<double> perStep;   ///< likewise, median
    std::optional<double> executed;  ///< a second, of all ranks: with what is computed again
    ProductType type = ProductType::kUnknown;  ///< of most of them
};
inline constexpr const char* kOperatorsVariant = "operators";

struct ProgramRates {
    std::vector<FlopRate> rates;       ///< the first is to be used; none: nothing is known
    std::vector<StepUse> steps;        ///< by operators; those that are known
    std::vector<std::string> missing;  ///< why each other way is not there; no capital, no stop
};
[[nodiscard]] ProgramRates programRates(const RecordingSummary& summary, const SteadySteps& steady,
                                        const Throughput& throughput, const CountedSteps& counted);

[[nodiscard]] Mfu programUtilisation(const RecordingSummary& summary, const ProgramRates& rates);

}  // namespace shardscope::analysis
