// What a step's update follows from, kept where the optimizer runs, so that a device clips, skips
// and updates without the host: sums over ranks, what is decided from them, AdamW's constants.
//
// torch.nn.utils.clip_grad_norm_: never scales up, 1e-6 against division by zero.
#pragma once

#include "engine/kernels/adamw.h"
#include "engine/kernels/everywhere.h"

#include <cmath>
#include <cstdint>

namespace shardscope::kernels {

/// Over all ranks once they have been reduced.
struct StepSums {
    double squaredNorm = 0;  ///< of gradients, loss scale and all
    double loss = 0;         ///< nats, of all tokens
    double stop = 0;         ///< ranks that ask to end
    double change = 0;       ///< ranks that ask for a change between two steps
};

/// What the host knows of a step when it queues it.
struct UpdateRule {
    AdamWStep adamW;       ///< `step` and `gradientScale` are decided
    double clip = 0;       ///< largest norm of the gradients; 0: any
    double lossScale = 1;  ///< that the gradients carry
    bool maySkip = false;  ///< fp16: gradients that are not finite skip this step only
};

/// In memory of the optimizer's device. Plain numbers, copied as doubles.
struct StepUpdate {
    StepSums sums;
    double updates = 0;  ///< made so far
    double halted = 0;   ///< 1: loss or gradients were not finite; nothing is updated any more
    double applied = 0;  ///< 1: this step updates
    AdamWConstants constants{};  ///< of this step, if applied
};
static_assert(sizeof(StepUpdate) % sizeof(double) == 0);

/// After the sums over ranks, before the optimizer.
SHARDSCOPE_EVERYWHERE inline void decideUpdate(const UpdateRule& rule, StepUpdate& update) {
    const double norm = std::sqrt(update.sums.squaredNorm) / rule.lossScale;
    const bool lossFinite = std::isfinite(update.sums.loss);
    const bool finite = lossFinite && std::isfinite(norm);
    if (!finite && !(rule.maySkip && lossFinite)) update.halted = 1;
    update.applied = finite && update.halted == 0 ? 1 : 0;
    if (update.applied == 0) return;
    update.updates += 1;
    AdamWStep step = rule.adamW;
    step.step = static_cast<std::int64_t>(update.updates);
    const double clipped = rule.clip / (norm + 1e-6);
    step.gradientScale = (rule.clip > 0 && clipped < 1 ? clipped : 1.0) / rule.lossScale;
    update.constants = adamWConstants(step);
}

}  // namespace shardscope::kernels
