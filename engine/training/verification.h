// Follows a numeric reference: same weights, same tokens, and how far the run strays from what
// PyTorch computed.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/data/reference.h"
#include "engine/run/config/run_config.h"
#include "engine/run/protocol/messages.h"
#include "storage/model/result.h"

namespace shardscope::training {

/// Runs all steps of the reference on this rank; `config` is Reference::apply()'s. A
/// collective of all ranks, each of which gets the same answer.
Result<run::VerifyResult> verify(const data::Reference& reference, const run::RunConfig& config,
                                 at::Device device, comm::Communicator& communicator,
                                 control::Observer* observer);

}  // namespace shardscope::training
