// ZeRO stages 1 and 2 (Rajbhandari et al., arXiv 1910.02054): parameters whole on every rank, the
// optimizer's state sharded; stage 2 shards the gradients as well. Each rank updates its part of
// every unit, then parts are gathered; the next forward waits for a unit when it needs it.
#include "engine/parallel/replicated.h"
#include "engine/parallel/views.h"

#include <algorithm>
#include <array>

namespace shardscope::parallel {
namespace {

using comm::SymmetricBuffer;
using comm::Work;

/// Gathers of updated parameters; shared by both stages.
class ShardedOptimizer : public Replicated {
public:
    ShardedOptimizer(std::vector<UnitReference> units, const Placement& placement,
                     comm::Communicator& communicator, control::Observer* observer)
        : Replicated(std::move(units), placement, communicator, observer, Optimizer::kSharded),
          m_gathers(m_units.size()) {}

    void wait(std::size_t index) override {
        block(m_gathers[index], Phase::kWaitGather, m_units[index].reference.layer);
        m_gathers[index] = {};
    }

    void finishReductions() override {
        for (const Work& work : m_reductions) block(work, Phase::kWaitReduction, kRootLayer);
        m_reductions.clear();
    }

    void update(const kernels::AdamWStep& step) override {
        // In the order in which the next forward needs them: each gather runs behind the update
        // of the units after it.
        for (std::size_t i = 0; i < m_units.size(); ++i) {
            Unit& unit = m_units[i];
            kernels::updateShard(step, unit.layout.decayingInShard(rank()), unit.state);
            m_gathers[i] = m_communicator.allGatherInPlace(
                unit.whole, {Cause::kUpdate, unit.reference.layer, m_step});
        }
    }

protected:
    void reduceScatter(const SymmetricBuffer& full, float* out, comm::Accumulate accumulate,
                       const Unit& unit) {
        m_reductions.push_back(m_communicator.reduceScatter(
            full, out, accumulate, {Cause::kGradient, unit.reference.layer, m_step}));
    }
    at::Tensor shareOfGradient(const Unit& unit) const override { return unit.state.gradient; }

    std::vector<Work> m_reductions;

private:
    std::vector<Work> m_gathers;
};

/// Gradients whole on every rank until the last micro-step, then summed into each rank's part.
class Zero1 final : public ShardedOptimizer {
public:
    Zero1(std::vector<UnitReference> units, const Placement& placement,
          comm::Communicator& communicator, control::Observer* observer)
        : ShardedOptimizer(std::move(units), placement, communicator, observer) {
        for (Unit& unit : m_units) {
            m_gradients.push_back(allocate(unit.layout.padded(), DataType::kFloat32,
                                           MemoryCategory::kGradient, unit.reference.layer,
                                           "gradients"));
            const at::Tensor flat = asTensor(m_gradients.back());
            const Slice own = share(unit);
            unit.state.gradient = flat.narrow(0, own.begin, own.count);
            bindGradients(unit.reference.parameters, unit.layout, flat, false);
        }
    }

    void beginGradients(std::size_t index) override {
        Unit& unit = m_units[index];
        for (kernels::Parameter& p : unit.reference.parameters) p.accumulate = !unit.fresh;
        unit.fresh = false;
    }

    void reduce(std::size_t index) override {
        if (!m_lastMicroStep) return;
        // In place: of this rank's buffer nobody else reads its own part.
        Unit& unit = m_units[index];
        reduceScatter(m_gradients[index], unit.state.gradient.mutable_data_ptr<float>(),
                      comm::Accumulate::kNo, unit);
    }

protected:
    std::int64_t gradientBytes() const override {
        std::int64_t bytes = 0;
        for (const Unit& unit : m_units) bytes += 4 * unit.layout.padded();
        return bytes;
    }

private:
    std::vector<SymmetricBuffer> m_gradients;
};

/// Full gradients of two blocks and the root at a time; each is summed into its owner's part as
/// soon as it is complete, in every micro-step.
class Zero2 final : public ShardedOptimizer {
public:
    Zero2(std::vector<UnitReference> units, const Placement& placement,
          comm::Communicator& communicator, control::Observer* observer)
        : ShardedOptimizer(std::move(units), placement, communicator, observer),
          m_slotOf(m_units.size(), nullptr) {
        std::int64_t largestBlock = 0;
        for (std::size_t i = 0; i < m_units.size(); ++i) {
            Unit& unit = m_units[i];
            unit.state.gradient = zeros(MemoryCategory::kGradientShard, "gradients",
                                        unit.layout.shard, m_placement.master());
            if (i > 0) largestBlock = std::max(largestBlock, unit.layout.padded());
        }
        makeSlot(m_rootSlot, m_units.front().layout.padded(), kRootLayer);
        for (Slot& slot : m_blockSlots) makeSlot(slot, largestBlock, kNoLayer);
    }

    void beginGradients(std::size_t index) override {
        Unit& unit = m_units[index];
        Slot& slot = index == 0 ? m_rootSlot : m_blockSlots[index % m_blockSlots.size()];
        m_slotOf[index] = &slot;
        if (slot.reduction.valid()) {
            const control::PhaseScope scope(m_phaseObserver, Phase::kWaitReduction,
                                            unit.reference.layer);
            m_communicator.waitPeers(slot.reduction);
        }
        bindGradients(unit.reference.parameters, unit.layout, slot.flat, false);
    }

    void reduce(std::size_t index) override {
        Unit& unit = m_units[index];
        Slot& slot = *m_slotOf[index];
        reduceScatter(sliceOf(slot.buffer, {0, unit.layout.padded()}),
                      unit.state.gradient.mutable_data_ptr<float>(),
                      unit.fresh ? comm::Accumulate::kNo : comm::Accumulate::kYes, unit);
        slot.reduction = m_reductions.back();
        unit.fresh = false;
    }

protected:
    std::int64_t gradientBytes() const override {
        std::int64_t bytes = 0;
        for (const Unit& unit : m_units) bytes += 4 * unit.layout.shard;
        return bytes;
    }

private:
    struct Slot {
        SymmetricBuffer buffer;
        at::Tensor flat;
        Work reduction;  ///< last one that peers read this slot for
    };

    void makeSlot(Slot& slot, std::int64_t count, LayerIndex layer) {
        const bool narrow = m_placement.gradient == at::kBFloat16;
        slot.buffer = allocate(count, narrow ? DataType::kBFloat16 : DataType::kFloat32,
                               MemoryCategory::kGradient, layer, "layer gradients");
        slot.flat = asTensor(slot.buffer);
    }

    Slot m_rootSlot;
    std::array<Slot, 2> m_blockSlots;
    std::vector<Slot*> m_slotOf;
};

}  // namespace

std::unique_ptr<Partitioning> makeZero1(std::vector<UnitReference> units,
                                        const Placement& placement,
                                        comm::Communicator& communicator,
                                        control::Observer* observer) {
    return std::make_unique<Zero1>(std::move(units), placement, communicator, observer);
}

std::unique_ptr<Partitioning> makeZero2(std::vector<UnitReference> units,
                                        const Placement& placement,
                                        comm::Communicator& communicator,
                                        control::Observer* observer) {
    return std::make_unique<Zero2>(std::move(units), placement, communicator, observer);
}

}  // namespace shardscope::parallel
