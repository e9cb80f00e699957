// Measuring from the first step to the last (run/config/measurement_plan.h): what the machine does,
// then collectives, and what is reported of both. Step thread.
#pragma once

#include "engine/run/config/measurement_plan.h"
#include "engine/worker/measuring/collective_sweep.h"
#include "engine/worker/training_run.h"
#include "storage/model/result.h"

#include <cstdint>

namespace shardscope::worker {

class MeasuringRun {
public:
    explicit MeasuringRun(const RunParts& parts) : m_parts(parts), m_config(parts.start.config) {}

    /// What failed has been posted when this returns an error.
    Result<void> run();

private:
    void measureMachine(const run::MeasurementPlan& plan);
    void onThisMachine(const run::MeasurementPlan& plan);
    [[nodiscard]] std::int64_t freeBytes() const;
    void tell(const SweepOutcome& outcome);

    const RunParts m_parts;
    const run::RunConfig& m_config;
};

}  // namespace shardscope::worker
