// Puts the parts of one rank's training together: model, partitioning, batches.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/data/dataset.h"
#include "engine/gpt/gpt.h"
#include "engine/parallel/partitioning.h"
#include "engine/parallel/tensor_group.h"
#include "engine/run/config/run_config.h"
#include "engine/training/trainer.h"

#include <memory>

namespace shardscope::training {

/// What a rank shares with whom, where layers are divided; a collective of all ranks. Goes before
/// `world`.
class RankGroups {
public:
    /// `observer` may be null and outlives it.
    RankGroups(const run::RunConfig& config, at::Device device, comm::Communicator& world,
               control::Observer* observer);

    /// Ranks that have the same part of the model.
    [[nodiscard]] comm::Communicator& data() const { return m_data ? *m_data : m_world; }
    /// Null where layers are whole.
    [[nodiscard]] parallel::TensorRanks* tensor() const { return m_tensor.get(); }

private:
    comm::Communicator& m_world;
    std::unique_ptr<comm::Communicator> m_data, m_layers;
    std::unique_ptr<parallel::TensorRanks> m_tensor;
};

/// `device`: where the run's tensors go; `rank`: of the run.
[[nodiscard]] parallel::Placement placementOf(const run::RunConfig& config, at::Device device,
                                              int rank = 0);

/// `communicator`: RankGroups::data().
std::unique_ptr<parallel::Partitioning> makePartitioning(const run::RunConfig& config,
                                                         const parallel::Placement& placement,
                                                         gpt::Gpt& model,
                                                         comm::Communicator& communicator,
                                                         control::Observer* observer);

/// Training text for one rank; `dataset` outlives the source.
BatchSource textBatches(const run::RunConfig& config, const data::Dataset& dataset, int rank);

}  // namespace shardscope::training
