// Dynamic loss scale of fp16 training (Micikevicius et al., arXiv 1710.03740; the constants of
// torch.amp.GradScaler): halved when a gradient is not finite, doubled after a while without.
#pragma once

#include <algorithm>
#include <cstdint>

namespace shardscope::training {

struct LossScale {
    static constexpr std::int32_t kGrowthInterval = 2000;  ///< finite steps until it doubles
    static constexpr double kLeast = 1.0;

    double value = 1.0;
    std::int32_t finiteSteps = 0;  ///< since it last changed

    /// After a step that was computed with `used`: more than `value` where it was queued before the
    /// step ahead of it was found to overflow.
    void accept(bool finite, double used) {
        if (!finite) {
            if (used <= value) value = std::max(kLeast, value / 2);
            finiteSteps = 0;
        } else if (++finiteSteps == kGrowthInterval) {
            value *= 2;
            finiteSteps = 0;
        }
    }
    /// Nothing is left to halve: what is not finite is not the scale's fault.
    [[nodiscard]] bool exhausted() const { return value <= kLeast; }
};

}  // namespace shardscope::training
