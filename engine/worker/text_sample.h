// Text that the model writes after a validation pass (--sample).
#pragma once

#include "engine/run/config/run_config.h"
#include "engine/training/sampler.h"
#include "storage/model/result.h"

#include <functional>
#include <string>

namespace shardscope::worker {

/// A collective. The prompt and what follows it, as text; whatever is no UTF-8 is written \xNN.
/// Errors of the tokenizer's file, of the prompt, and of training::sample().
Result<std::string> sampleText(const run::RunConfig& config, gpt::Gpt& model, at::Device device,
                               parallel::Partitioning& partitioning,
                               comm::Communicator& communicator, std::int32_t step,
                               const std::function<bool()>& stopWanted);

}  // namespace shardscope::worker
