// A training run's state to and from checkpoints (engine/checkpoint). Collective: every rank
// calls these, and when one fails, all do, each saying what it knows. Step thread.
#pragma once

#include "engine/checkpoint/checkpoint.h"
#include "engine/comm/communicator.h"
#include "engine/gpt/gpt.h"
#include "engine/parallel/partitioning.h"
#include "engine/training/trainer.h"

#include <string>

namespace shardscope::training {

/// Writes config.checkpoint's next checkpoint; returns its path.
Result<std::string> writeCheckpoint(const run::RunConfig& config, const Progress& progress,
                                    gpt::Gpt& model, parallel::Partitioning& partitioning,
                                    comm::Communicator& communicator);

/// Fills the partitioning from `checkpoint`, whatever ranks and strategy wrote it.
Result<Progress> readCheckpoint(const checkpoint::Checkpoint& checkpoint,
                                parallel::Partitioning& partitioning,
                                comm::Communicator& communicator);

}  // namespace shardscope::training
