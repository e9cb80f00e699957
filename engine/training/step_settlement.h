// Norm, loss and votes of steps: summed over ranks and decided on where the optimizer runs, and
// brought to the host. On a GPU the host does not wait for that: it queues the next step meanwhile.
//
// In this order, step after step: begin(), the step's sums, sum(), decide(), send() before or
// behind the update, receive(); one step later where it runs ahead. Lives on the step thread; the
// methods throw.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/control/device_runtime.h"
#include "engine/kernels/shard_update.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace shardscope::training {

/// Where the optimizer's state is.
enum class OptimizerPlace : std::uint8_t { kDevice, kHost };

class StepSettlement {
public:
    /// `runtime` null: the host waits for each step. Both references outlive this. An optimizer on
    /// the host beside a device waits as well.
    StepSettlement(at::Device device, OptimizerPlace optimizer, comm::Communicator& communicator,
                   control::DeviceRuntime* runtime);
    ~StepSettlement();
    StepSettlement(const StepSettlement&) = delete;
    StepSettlement& operator=(const StepSettlement&) = delete;

    /// Whether a step's outcome is received while the next one is queued.
    [[nodiscard]] bool runsAhead() const { return m_runtime != nullptr; }

    /// Updates made before the first step.
    void setUpdates(std::int64_t updates);
    /// What this rank asks for; sums start from nothing.
    void begin(bool stop, bool change);
    /// () float64 on the device, to be added to.
    [[nodiscard]] at::Tensor squaredNorm() const;
    [[nodiscard]] at::Tensor loss() const;
    /// Over all ranks; what follows sees the sums.
    void sum(const comm::CollectiveTag& tag);
    void decide(const kernels::UpdateRule& rule);
    /// To the host, behind what is queued.
    void send();
    /// What the optimizer goes by, in its memory: on the host once it was received.
    [[nodiscard]] const kernels::StepUpdate* update() const;

    /// Of the oldest step that was sent and not received; waits for it. At most two are.
    [[nodiscard]] kernels::StepUpdate receive();

private:
    struct Arrival {
        at::Tensor values;           ///< on the host
        control::DeviceEvent there;  ///< where it runs ahead
    };
    static constexpr std::size_t kArrivals = 2;

    const OptimizerPlace m_optimizer;
    comm::Communicator& m_communicator;
    control::DeviceRuntime* const m_runtime;
    const at::Tensor m_values;  ///< a StepUpdate
    std::array<Arrival, kArrivals> m_arrivals;
    std::size_t m_sent = 0, m_received = 0;
};

// Dynamic loss scale of fp16 training (Micikevicius et al., arXiv 1710.03740; the constants of
// torch.amp.GradScaler): halved when a gradient is not finite, doubled after a while without.

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
