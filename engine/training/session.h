// Puts the parts of one rank's training together: model, partitioning, batches.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/data/dataset.h"
#include "engine/gpt/gpt.h"
#include "engine/parallel/partitioning.h"
#include "engine/run/config/run_config.h"
#include "engine/training/trainer.h"

#include <memory>

namespace shardscope::training {

/// `device`: where the run's tensors go.
[[nodiscard]] parallel::Placement placementOf(const run::RunConfig& config, at::Device device);

std::unique_ptr<parallel::Partitioning> makePartitioning(const run::RunConfig& config,
                                                         const parallel::Placement& placement,
                                                         gpt::Gpt& model,
                                                         comm::Communicator& communicator,
                                                         control::Observer* observer);

/// Training text for one rank; `dataset` outlives the source.
BatchSource textBatches(const run::RunConfig& config, const data::Dataset& dataset, int rank);

}  // namespace shardscope::training
