// Micro-steps as device graphs: each kind of them is captured once and from then on launched as
// one.
//
// A first step runs as it is queued, so that libraries have their workspaces, connections and
// plans. Then each kind is captured when it is needed for the first time, and launched at once.
// What a kind computes with lies where it lay at its capture: batches come in two buffers, and each
// has graphs of its own, which therefore take turns.
//
// Lives on the step thread; the methods throw.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/control/captured_graph.h"
#include "engine/control/device_runtime.h"
#include "engine/control/observer.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace shardscope::training {

/// Micro-steps that queue the same work on the same memory.
struct MicroStepKind {
    bool first = false;      ///< of its step: gradients start from nothing
    bool last = false;       ///< of its step: its gradients are summed over ranks
    std::size_t buffer = 0;  ///< of its batch, 0 or 1
};

class MicroStepGraphs {
public:
    /// All outlive this; `observer` may be null. Throws std::runtime_error where operations of the
    /// communicator cannot be part of a graph.
    MicroStepGraphs(control::DeviceRuntime& runtime, comm::Communicator& communicator,
                    control::Observer* observer);
    /// Graphs that may still run are left to the end of the process.
    ~MicroStepGraphs();
    MicroStepGraphs(const MicroStepGraphs&) = delete;
    MicroStepGraphs& operator=(const MicroStepGraphs&) = delete;

    /// Queues a micro-step: calls `work`, which does, or launches what it queued before. What
    /// `work` leaves on the host has to be of no use later. `constant` is part of the captured
    /// work: where it changes everything is captured anew. When a capture fails, on whichever rank,
    /// the run cannot go on: ranks and communicators do not agree on what was queued.
    void run(std::int32_t step, const MicroStepKind& kind, double constant,
             const std::function<void()>& work);

private:
    static constexpr std::size_t kKinds = 8;
    using Graph = std::unique_ptr<control::CapturedGraph>;

    [[nodiscard]] Graph capture(const MicroStepKind& kind, const std::function<void()>& work);
    void forget();
    [[nodiscard]] bool passed() const noexcept;

    control::DeviceRuntime& m_runtime;
    std::vector<control::GraphRecorder*> m_recorders;
    const control::DeviceEvent m_end;  ///< behind the last launch
    std::array<Graph, kKinds> m_graphs;
    std::optional<std::int32_t> m_firstStep;
    std::optional<double> m_constant;  ///< that graphs were captured with
};

}  // namespace shardscope::training
