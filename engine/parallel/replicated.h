// What DDP and ZeRO 1 and 2 share: parameters that are whole on every rank. Internal to
// engine/parallel.
#pragma once

#include "engine/parallel/distributed.h"

#include <cstdint>
#include <vector>

namespace shardscope::parallel {

class Replicated : public Distributed {
public:
    void load(const ValueSource& source) override;
    void visit(const ValueSink& sink) override;
    void visitPieces(Pieces which, const PieceVisitor& visitor) override;
    void piecesChanged() override;
    void beginStep(std::int32_t step) override;
    void beginMicroStep(bool last) override { m_lastMicroStep = last; }
    void fetch(std::size_t, Cause) override {}
    void wait(std::size_t) override {}
    void release(std::size_t, After) override {}
    void addSquaredNorm(const at::Tensor& total) const override;
    [[nodiscard]] std::int64_t stateBytes() const override;

protected:
    /// Whether each rank updates its own part of the parameters only.
    enum class Optimizer : bool { kWhole = false, kSharded = true };

    struct Unit {
        UnitReference reference;
        ShardLayout layout;
        comm::SymmetricBuffer whole;  ///< parameters as they are computed with, (padded)
        kernels::ShardState state;    ///< of the part that this rank updates
        at::Tensor values;            ///< `whole` as a tensor
        bool fresh = true;            ///< no gradient of this step yet
    };

    Replicated(const std::vector<UnitReference>& units, const Placement& placement,
               comm::Communicator& communicator, control::Observer* observer, Optimizer optimizer);

    [[nodiscard]] std::int64_t rank() const { return m_communicator.rank(); }
    /// The part of a unit that this rank updates.
    [[nodiscard]] Slice ownPart(const Unit& unit) const;
    /// This rank's W-th of the unit, whichever rank updates it.
    [[nodiscard]] Slice share(const Unit& unit) const;
    /// Elements of a unit's reduced gradient that this rank answers for in the norm.
    [[nodiscard]] virtual at::Tensor shareOfGradient(const Unit& unit) const = 0;
    /// Bytes of gradients held from step to step.
    [[nodiscard]] virtual std::int64_t gradientBytes() const = 0;

    const Optimizer m_optimizer;
    std::vector<Unit> m_units;
    std::int32_t m_step = -1;
    bool m_lastMicroStep = true;

private:
    void addUnit(const UnitReference& reference);
};

}  // namespace shardscope::parallel
