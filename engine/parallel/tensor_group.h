// A tensor group over a communicator. Sums and gathers are collectives of it, which the thread that
// computes waits for: what follows needs them at once.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/control/observer.h"
#include "engine/kernels/tensor_group.h"

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <memory>

namespace shardscope::parallel {

struct TensorGroupOptions {
    bool sequence = false;
    std::int64_t rows = 0;    ///< N, at most
    std::int64_t hidden = 0;  ///< C
    at::ScalarType compute = at::kFloat;
    at::Device device = at::kCPU;
};

class TensorRanks : public kernels::TensorGroup {
public:
    /// What its collectives are for, until the next call.
    virtual void setPlace(const comm::CollectiveTag& tag) = 0;
    /// Whether waits are reported as phases (not inside an evaluation).
    virtual void reportPhases(bool report) = 0;
};

/// A collective of its ranks: takes memory of the communicator, 2 N (C + 3) elements, with sequence
/// 2 N C / T more. `communicator` and `observer` (may be null) outlive it.
[[nodiscard]] std::unique_ptr<TensorRanks> makeTensorGroup(comm::Communicator& communicator,
                                                           control::Observer* observer,
                                                           const TensorGroupOptions& options);

}  // namespace shardscope::parallel
