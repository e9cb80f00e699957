// How parameters, gradients and optimizer state are spread over ranks: the schedule's verbs.
//
// The step loop spells out every move: fetch (start gathering a unit), wait (until it is
// there), release (free it), beginGradients (bind where its gradients are written), reduce
// (its gradients are complete: start reducing them). Implementations know units as flat
// buffers only, nothing of attention. Lives on the step thread; reports the time it blocks as
// phases and its buffers to the observer.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/control/observer.h"
#include "engine/kernels/parameter.h"
#include "engine/kernels/step_update.h"
#include "engine/run/config/run_config.h"

#include <c10/core/ScalarType.h>
#include <c10/core/TensorOptions.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace shardscope::parallel {

/// A unit of the model; `parameters` outlives the partitioning.
struct UnitReference {
    LayerIndex layer = kNoLayer;
    std::span<kernels::Parameter> parameters;
};

/// Where tensors live and what they are computed in. Master parameters, moments and the reduced
/// gradients are fp32 always.
struct Placement {
    at::Device device = at::kCPU;
    at::ScalarType compute = at::kFloat;   ///< parameters in use, activations: fp32 or narrower
    at::ScalarType gradient = at::kFloat;  ///< a unit's full gradients before reduction
    run::Offload offload = run::Offload::kNone;
    /// Whether this rank answers for what is whole on each rank of its tensor group.
    bool answers = true;

    /// fp32 on the device.
    [[nodiscard]] at::TensorOptions master() const {
        return at::TensorOptions().device(device).dtype(at::kFloat);
    }
    /// fp32 in host memory that a device copies from and to at full speed.
    [[nodiscard]] at::TensorOptions host() const {
        return at::TensorOptions().dtype(at::kFloat).pinned_memory(!device.is_cpu());
    }
    /// Where master parameters and moments are, and the optimizer runs.
    [[nodiscard]] at::TensorOptions optimizer() const { return offloads() ? host() : master(); }
    [[nodiscard]] bool offloads() const { return offload != run::Offload::kNone; }
    [[nodiscard]] bool offloadsGradients() const { return offload == run::Offload::kGradients; }
    /// Whether a copy of the parameters is kept beside the fp32 master.
    [[nodiscard]] bool copies() const { return compute != at::kFloat || offloads(); }
    /// State of a rank in bytes per parameter of its shard, wherever it lies.
    [[nodiscard]] std::int64_t stateBytesEach() const {
        return copies() ? 16 + static_cast<std::int64_t>(c10::elementSize(compute)) : 16;
    }
};

/// What a unit was needed for when it is released.
enum class After : std::uint8_t { kForward, kBackward, kEvaluation };

/// Whether a unit gets gradients once more in the same micro-step: those of a tied table in pieces
/// come from the head first and from the embedding at last.
enum class Contribution : bool { kLast = false, kEarlier = true };

/// A run of elements of one parameter in its flat order, with what this rank keeps of it: fp32
/// views of (count) into its state.
struct StatePiece {
    const kernels::Parameter& parameter;
    std::int64_t begin = 0;  ///< in the whole tensor of that name
    at::Tensor values, firstMoment, secondMoment;
};
using PieceVisitor = std::function<void(const StatePiece&)>;
enum class Pieces : std::uint8_t {
    kHeld,      ///< all that this rank keeps
    kAnswered,  ///< of that what it writes to a checkpoint: over all ranks every element once
};

/// Hands out the whole tensor of that name.
using ValueSource = std::function<at::Tensor(const kernels::Parameter&)>;
using ValueSink = std::function<void(const kernels::Parameter&, const at::Tensor&)>;

class Partitioning {
public:
    virtual ~Partitioning() = default;

    /// Sets every parameter; all ranks pass the same values, each keeps its part.
    virtual void load(const ValueSource& source) = 0;
    /// Hands out every parameter whole, as it is computed with, unit by unit; a collective.
    virtual void visit(const ValueSink& sink) = 0;

    /// Hands out this rank's state in pieces; no collective.
    virtual void visitPieces(Pieces which, const PieceVisitor& visitor) = 0;
    /// After visitPieces() wrote to what it was handed; a collective.
    virtual void piecesChanged() = 0;

    /// A new step: gradients start from nothing.
    virtual void beginStep(std::int32_t step) = 0;
    /// Before the backward of a micro-step. Gradients need not be summed over ranks before the
    /// last one where they are kept whole until then.
    virtual void beginMicroStep(bool last) = 0;

    virtual void fetch(std::size_t unit, Cause cause) = 0;
    virtual void wait(std::size_t unit) = 0;
    virtual void release(std::size_t unit, After use) = 0;
    virtual void beginGradients(std::size_t unit) = 0;
    virtual void reduce(std::size_t unit, Contribution more) = 0;

    /// Blocks until all gradients of the step are reduced.
    virtual void finishReductions() = 0;
    /// total += sum of squares of this rank's part of the gradients; total is () float64 on the
    /// device. Waits for nothing.
    virtual void addSquaredNorm(const at::Tensor& total) const = 0;
    /// AdamW on this rank's part, as `update` says, which lies where the optimizer's state does.
    /// `another`: a training step follows at once, so that what it needs first may be gathered
    /// behind the rest of the update.
    virtual void update(const kernels::StepUpdate* update, bool another) = 0;

    /// Bytes of parameter shards, gradient shards and moments held by this rank.
    [[nodiscard]] virtual std::int64_t stateBytes() const = 0;
    /// Whether blocked time is reported as phases (not inside an evaluation).
    virtual void reportPhases(bool report) = 0;
};

/// One rank, everything whole.
std::unique_ptr<Partitioning> makeSingle(const std::vector<UnitReference>& units,
                                         const Placement& placement);

/// How DDP sends gradients; --strategy ddp-naive, ddp-flat, ddp-overlap, ddp-bucket.
enum class GradientExchange : std::uint8_t {
    kNaive,       ///< each parameter by itself, after backward, one after the other
    kFlat,        ///< all of them at once, after backward
    kOverlapped,  ///< each parameter by itself, as soon as its unit is complete
    kBucketed,    ///< in pieces of a size, as soon as one is complete
};
struct DdpOptions {
    GradientExchange exchange = GradientExchange::kBucketed;
    std::int64_t bucketElements = 0;  ///< of fp32; kBucketed only, at least 1
    run::Compression compression = run::Compression::kNone;
    double keptFraction = 1;  ///< of a piece's elements that kTopK sends, (0, 1]
};

/// Distributed data parallel: everything whole on every rank, gradients all-reduced in fp32.
std::unique_ptr<Partitioning> makeDdp(const std::vector<UnitReference>& units,
                                      const Placement& placement, comm::Communicator& communicator,
                                      control::Observer* observer, const DdpOptions& options);

/// ZeRO stage 1: the optimizer's state is sharded. Gradients are reduce-scattered in the last
/// micro-step, updated parameters gathered.
std::unique_ptr<Partitioning> makeZero1(const std::vector<UnitReference>& units,
                                        const Placement& placement,
                                        comm::Communicator& communicator,
                                        control::Observer* observer);

/// ZeRO stage 2: gradients too; they are reduce-scattered in every micro-step.
std::unique_ptr<Partitioning> makeZero2(const std::vector<UnitReference>& units,
                                        const Placement& placement,
                                        comm::Communicator& communicator,
                                        control::Observer* observer);

struct Zero3Options {
    /// Units gathered ahead of use, behind the update too; they come in the order of their use.
    std::int32_t prefetch = 1;
    bool reshardAfterForward = true;  ///< free units after forward, gather them again
    bool keepGathered = false;        ///< gather once a step; gradients are kept whole as well
    bool keepGradients = false;       ///< whole gradients, reduced in the last micro-step only
    /// Ranks that share one copy of the state, a divisor of all; shards of gradients are
    /// all-reduced across such groups in the last micro-step (hybrid sharding; Zhao et al., arXiv
    /// 2304.11277). 0: all.
    int shardRanks = 0;
};

/// ZeRO stage 3 (Rajbhandari et al., arXiv 1910.02054): parameters, gradients and moments
/// sharded evenly; a unit is gathered for use, its gradients are reduce-scattered behind the
/// rest of backward. `communicator` and `observer` (may be null) outlive it.
std::unique_ptr<Partitioning> makeZero3(const std::vector<UnitReference>& units,
                                        const Placement& placement,
                                        comm::Communicator& communicator,
                                        control::Observer* observer, const Zero3Options& options);

}  // namespace shardscope::parallel
