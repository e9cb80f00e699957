#include "engine/parallel/replicated.h"

#include "engine/kernels/operator_scope.h"
#include "engine/parallel/views.h"

#include <ATen/ops/zeros.h>

namespace shardscope::parallel {

Replicated::Replicated(const std::vector<UnitReference>& units, const Placement& placement,
                       comm::Communicator& communicator, control::Observer* observer,
                       Optimizer optimizer)
    : Distributed(placement, communicator, observer), m_optimizer(optimizer) {
    for (const UnitReference& reference : units) addUnit(reference);
}

Slice Replicated::share(const Unit& unit) const {
    return {rank() * unit.layout.shard, unit.layout.shard};
}

Slice Replicated::ownPart(const Unit& unit) const {
    return m_optimizer == Optimizer::kSharded ? share(unit) : Slice{0, unit.layout.padded()};
}

void Replicated::addUnit(const UnitReference& reference) {
    Unit unit;
    unit.reference = reference;
    unit.layout = layOut(reference.parameters, m_communicator.size(), m_placement.answers);
    const bool copies = m_placement.copies();
    unit.whole = allocate(unit.layout.padded(), kernels::dataTypeOf(m_placement.compute),
                          MemoryCategory::kParameterShard, reference.layer, "parameters");
    unit.values = asTensor(unit.whole);
    const Slice own = ownPart(unit);
    const auto make = [&](MemoryCategory category, const char* owner) {
        return zeros(category, owner, own.count, m_placement.optimizer());
    };
    unit.state.compute = unit.values.narrow(0, own.begin, own.count);
    unit.state.parameter =
        copies ? make(MemoryCategory::kParameterShard, "fp32 master") : unit.state.compute;
    unit.state.firstMoment = make(MemoryCategory::kOptimizerState, "first moment");
    unit.state.secondMoment = make(MemoryCategory::kOptimizerState, "second moment");
    bindValues(reference.parameters, unit.layout, unit.values);
    m_units.push_back(std::move(unit));
}

void Replicated::load(const ValueSource& source) {
    for (Unit& unit : m_units) {
        // Where values are kept as they come: a second copy of the token table would be the peak of
        // a small run.
        const bool direct = unit.values.is_cpu() && unit.values.scalar_type() == at::kFloat;
        const at::Tensor flat = direct ? unit.values.zero_() : at::zeros({unit.layout.padded()});
        const auto& parameters = unit.reference.parameters;
        for (std::size_t i = 0; i < parameters.size(); ++i)
            flat.narrow(0, unit.layout.offsets[i], parameters[i].count())
                .copy_(parameters[i].pieceOf(source(parameters[i])).reshape({-1}));
        const Slice own = ownPart(unit);
        if (!direct) unit.values.copy_(flat);
        if (m_placement.copies()) unit.state.parameter.copy_(flat.narrow(0, own.begin, own.count));
    }
    m_communicator.barrier({Cause::kStart}).wait();
}

void Replicated::visit(const ValueSink& sink) {
    for (std::size_t i = 0; i < m_units.size(); ++i) {
        wait(i);
        const Unit& unit = m_units[i];
        if (!m_placement.copies()) {
            visitValues(unit.reference.parameters, unit.layout, unit.values, sink);
        } else if (m_optimizer == Optimizer::kWhole) {
            visitValues(unit.reference.parameters, unit.layout, unit.state.parameter, sink);
        } else {
            const at::Tensor whole = gatherMaster(m_communicator, unit.state.parameter,
                                                  {Cause::kStart, unit.reference.layer, m_step});
            visitValues(unit.reference.parameters, unit.layout, whole, sink);
        }
    }
}

void Replicated::visitPieces(Pieces which, const PieceVisitor& visitor) {
    for (const Unit& unit : m_units) {
        const Slice held = ownPart(unit);
        visitPiecesOf(unit.reference, unit.layout, unit.state, held.begin,
                      which == Pieces::kHeld ? held : share(unit), which == Pieces::kAnswered,
                      visitor);
    }
}

void Replicated::piecesChanged() {
    for (Unit& unit : m_units) {
        if (m_placement.copies()) unit.state.compute.copy_(unit.state.parameter);
        if (m_optimizer == Optimizer::kWhole) continue;
        m_communicator.allGatherInPlace(unit.whole, {Cause::kStart, unit.reference.layer, m_step})
            .wait();
    }
}

void Replicated::beginStep(std::int32_t step) {
    m_step = step;
    for (Unit& unit : m_units) unit.fresh = true;
}

void Replicated::addSquaredNorm(const at::Tensor& total) const {
    // Reduced gradients are the same everywhere: each rank answers for its share.
    for (const Unit& unit : m_units)
        kernels::addSquaredNorm(
            shareOfGradient(unit).narrow(0, 0, unit.layout.countedInShard(rank())), total);
}

std::int64_t Replicated::stateBytes() const {
    std::int64_t bytes = gradientBytes();
    for (const Unit& unit : m_units) {
        const std::int64_t own = ownPart(unit).count;
        const std::int64_t moments = 8 * own;
        const std::int64_t values =
            m_placement.copies()
                ? (m_placement.stateBytesEach() - 16) * unit.layout.padded() + 4 * own
                : 4 * unit.layout.padded();
        bytes += moments + values;
    }
    return bytes;
}

}  // namespace shardscope::parallel
