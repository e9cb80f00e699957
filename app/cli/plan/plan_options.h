// What `shardscope plan` is asked, and what of it goes into a plan.
#pragma once

#include "app/cli/options.h"
#include "app/cli/plan/plan_tables.h"
#include "app/cli/record/run_flags.h"
#include "profiler/planning/compute_times.h"
#include "profiler/planning/model_parallel.h"
#include "profiler/planning/model_plan.h"
#include "profiler/planning/parameter_plan.h"
#include "storage/model/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope::cli {

struct PlanOptions {
    std::string parameters;
    std::string model;
    std::int64_t ranks = 8;
    std::string stateBytes = planning::textOf(planning::kMixedAdam);
    std::string memory;
    std::vector<std::string> from;  ///< recordings
    std::int32_t ranksPerHost = 0;  ///< 0: as recorded, or as many as a host has devices, 8
    double utilisation = planning::kUsualUtilisation.expected;
    Option givenState, givenRanks, givenUtilisation;
    planning::Division division;  ///< --tensor and --pipeline; the rest divides data
    std::int64_t microBatch = 1, microBatches = 8;
    std::string kept = toWord(planning::Kept::kNoScores);
    bool dropout = false;
    Option givenTensor, givenPipeline, givenKept, givenMicroBatch, givenMicroBatches;
    Option givenSequence, givenDropout;
    RunFlags flags;
    PlanTexts texts;
    bool json = false;
    bool parallelisms = false;

    void addTo(CLI::App& app);
    /// An option of divisions, which means --divide.
    [[nodiscard]] bool givesDivision() const;
};

/// By --parameters, or by a model that others have published. Errors are kUsage.
Result<ParameterPlan> parameterPlan(const PlanOptions& options, const planning::KnownModel* known);
/// By a model's shape or a recording. Errors are kUsage, and those of recordings.
Result<ModelPlan> modelPlan(const PlanOptions& options);

}  // namespace shardscope::cli
