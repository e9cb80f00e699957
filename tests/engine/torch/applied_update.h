// An update that applies, as the optimizer meets it on the host.
#pragma once

#include "engine/kernels/step_update.h"

namespace shardscope::test {

[[nodiscard]] inline kernels::StepUpdate appliedUpdate(const kernels::AdamWStep& step) {
    kernels::StepUpdate update;
    update.applied = 1;
    update.constants = kernels::adamWConstants(step);
    return update;
}

}  // namespace shardscope::test
