// Text from the model: one token after another, each drawn from what the model says of the last
// context of them. All ranks take part in every token, so that sharded parameters can be gathered.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/gpt/gpt.h"
#include "engine/parallel/partitioning.h"
#include "storage/model/result.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace shardscope::training {

struct Sampling {
    std::int64_t tokens = 0;   ///< to write after the prompt
    double temperature = 0.8;  ///< logits are divided by it; 0: the likeliest token always
    std::uint64_t seed = 1337;
    std::function<bool()> stopWanted{};  ///< on any rank; may be empty
};

/// Index of a token of `logits` at `uniform` in [0, 1): the first whose share of
/// softmax(logits / temperature), summed up from index 0 on, goes beyond it. Temperature 0: the
/// largest logit, the first of equals. Double precision.
[[nodiscard]] std::int64_t drawToken(std::span<const float> logits, double temperature,
                                     double uniform);

/// Prompt and the tokens written after it. A collective: all ranks pass the same, and get the same
/// whatever their number and strategy, for rank 0 decides. `device` is the partitioning's. Phases
/// are not reported. Outside any step, on the step thread.
///
/// kUsage: empty prompt, or a token that is not of the vocabulary. kRank: logits that are not
/// finite, or a lost peer. kCancelled: a rank was asked to stop.
[[nodiscard]] Result<std::vector<std::int64_t>> sample(gpt::Gpt& model, at::Device device,
                                                       parallel::Partitioning& partitioning,
                                                       comm::Communicator& communicator,
                                                       std::span<const std::int64_t> prompt,
                                                       const Sampling& sampling);

}  // namespace shardscope::training
