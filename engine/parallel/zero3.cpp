#include "engine/parallel/partitioning.h"
#include "engine/parallel/shard_layout.h"
#include "engine/parallel/views.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <array>

namespace shardscope::parallel {
namespace {

using comm::CollectiveTag;
using comm::SymmetricBuffer;
using comm::Work;

at::Tensor asTensor(const SymmetricBuffer& buffer) {
    return at::from_blob(buffer.local, {static_cast<std::int64_t>(buffer.floats)}, at::kFloat);
}

/// Full gradients of one unit, where peers read them while the next unit writes another slot.
struct GradientSlot {
    SymmetricBuffer buffer;
    at::Tensor flat;
    Work reduction;  ///< last one that peers read this slot for
};

struct UnitState {
    UnitReference reference;
    ShardLayout layout;
    SymmetricBuffer shard;                            // parameters, (shard)
    at::Tensor shardValues;                           // the same memory
    at::Tensor gradients, firstMoment, secondMoment;  // (shard)
    at::Tensor gathered;                              // (padded) while fetched
    Work gather;
    bool bound = false;  ///< gathered and waited for
    GradientSlot* slot = nullptr;
    bool fresh = true;  ///< nothing reduced in this step yet
};

class Zero3 final : public Partitioning {
public:
    Zero3(std::vector<UnitReference> units, comm::Communicator& communicator,
          control::Observer* observer)
        : m_communicator(communicator), m_observer(observer), m_phaseObserver(observer) {
        std::int64_t largestBlock = 0;
        for (const UnitReference& reference : units) {
            addUnit(reference);
            if (m_units.size() > 1) {
                largestBlock = std::max(largestBlock, m_units.back().layout.padded());
            }
        }
        makeSlot(m_rootSlot, m_units.front().layout.padded(), kRootLayer);
        for (GradientSlot& slot : m_blockSlots) makeSlot(slot, largestBlock, kNoLayer);
    }

    void load(const ValueSource& source) override {
        for (UnitState& unit : m_units) {
            const at::Tensor flat = at::empty({unit.layout.padded()}).zero_();
            const auto& parameters = unit.reference.parameters;
            for (std::size_t i = 0; i < parameters.size(); ++i) {
                flat.narrow(0, unit.layout.offsets[i], parameters[i].count())
                    .copy_(source(parameters[i]).reshape({-1}));
            }
            unit.shardValues.copy_(
                flat.narrow(0, m_communicator.rank() * unit.layout.shard, unit.layout.shard));
        }
        m_communicator.barrier({Cause::kStart}).wait();
    }

    void visit(const ValueSink& sink) override {
        for (std::size_t i = 0; i < m_units.size(); ++i) {
            fetch(i, Cause::kStart);
            wait(i);
            for (const kernels::Parameter& p : m_units[i].reference.parameters) sink(p, p.value);
            release(i);
        }
    }

    void beginStep(std::int32_t step) override {
        m_step = step;
        for (UnitState& unit : m_units) unit.fresh = true;
    }

    void fetch(std::size_t index, Cause cause) override {
        UnitState& unit = m_units[index];
        if (unit.gathered.defined()) return;
        const control::MemoryScope scope(MemoryCategory::kGatheredParameter, "gathered parameters");
        unit.gathered = at::empty({unit.layout.padded()});
        unit.gather = m_communicator.allGather(unit.shard, unit.gathered.mutable_data_ptr<float>(),
                                               {cause, unit.reference.layer, m_step});
    }

    void wait(std::size_t index) override {
        UnitState& unit = m_units[index];
        if (unit.bound) return;
        block(unit.gather, Phase::kWaitGather, unit.reference.layer);
        bindValues(unit.reference.parameters, unit.layout, unit.gathered);
        unit.bound = true;
    }

    void release(std::size_t index) override {
        UnitState& unit = m_units[index];
        unbindValues(unit.reference.parameters);
        unit.gathered = at::Tensor();
        unit.bound = false;
    }

    void beginGradients(std::size_t index) override {
        UnitState& unit = m_units[index];
        unit.slot = index == 0 ? &m_rootSlot : &m_blockSlots[index % m_blockSlots.size()];
        if (unit.slot->reduction.valid()) {
            const control::PhaseScope scope(m_phaseObserver, Phase::kWaitReduction,
                                            unit.reference.layer);
            m_communicator.waitPeers(unit.slot->reduction);
        }
        bindGradients(unit.reference.parameters, unit.layout, unit.slot->flat, false);
    }

    void reduce(std::size_t index) override {
        UnitState& unit = m_units[index];
        SymmetricBuffer part = unit.slot->buffer;
        part.floats = static_cast<std::size_t>(unit.layout.padded());
        unit.slot->reduction = m_communicator.reduceScatter(
            part, unit.gradients.mutable_data_ptr<float>(),
            unit.fresh ? comm::Accumulate::kNo : comm::Accumulate::kYes,
            {Cause::kGradient, unit.reference.layer, m_step});
        m_lastReduction = unit.slot->reduction;
        unit.fresh = false;
    }

    void finishReductions() override {
        // In order: when the last one is done, all are.
        if (m_lastReduction.valid()) block(m_lastReduction, Phase::kWaitReduction, kRootLayer);
    }

    double squaredNorm() const override {
        double sum = 0;
        for (const UnitState& unit : m_units)
            sum += kernels::sumOfSquares(constFloats(unit.gradients));
        return sum;
    }

    void update(const kernels::AdamWStep& step) override {
        for (UnitState& unit : m_units) {
            updateShard(step, unit.layout.decayingInShard(m_communicator.rank()),
                        floats(unit.shardValues), constFloats(unit.gradients),
                        floats(unit.firstMoment), floats(unit.secondMoment));
        }
    }

    std::int64_t stateBytes() const override {
        std::int64_t bytes = 0;
        for (const UnitState& unit : m_units) bytes += 16 * unit.layout.shard;
        return bytes;
    }

    void reportPhases(bool report) override { m_phaseObserver = report ? m_observer : nullptr; }

private:
    void addUnit(const UnitReference& reference) {
        UnitState unit;
        unit.reference = reference;
        unit.layout = layOut(reference.parameters, m_communicator.size());
        unit.shard = allocate(unit.layout.shard, MemoryCategory::kParameterShard, reference.layer,
                              "parameter shard");
        unit.shardValues = asTensor(unit.shard);
        unit.gradients = zeros(MemoryCategory::kGradientShard, "gradients", unit.layout.shard);
        unit.firstMoment =
            zeros(MemoryCategory::kOptimizerState, "first moment", unit.layout.shard);
        unit.secondMoment =
            zeros(MemoryCategory::kOptimizerState, "second moment", unit.layout.shard);
        m_units.push_back(std::move(unit));
    }

    void makeSlot(GradientSlot& slot, std::int64_t n, LayerIndex layer) {
        slot.buffer = allocate(n, MemoryCategory::kGradient, layer, "layer gradients");
        slot.flat = asTensor(slot.buffer);
    }

    SymmetricBuffer allocate(std::int64_t n, MemoryCategory category, LayerIndex layer,
                             const char* owner) {
        const SymmetricBuffer buffer = m_communicator.allocate(static_cast<std::size_t>(n));
        if (m_observer != nullptr) {
            m_observer->buffer({buffer.local, 4 * n, MemoryAction::kAllocate, category, layer,
                                owner, control::now()});
        }
        return buffer;
    }

    void block(const Work& work, Phase phase, LayerIndex layer) {
        if (work.ready()) {
            work.wait();  // rethrows
            return;
        }
        const control::PhaseScope scope(m_phaseObserver, phase, layer);
        work.wait();
    }

    comm::Communicator& m_communicator;
    control::Observer* const m_observer;
    control::Observer* m_phaseObserver;
    std::vector<UnitState> m_units;
    GradientSlot m_rootSlot;
    std::array<GradientSlot, 2> m_blockSlots;
    Work m_lastReduction;
    std::int32_t m_step = -1;
};

}  // namespace

std::unique_ptr<Partitioning> makeZero3(std::vector<UnitReference> units,
                                        comm::Communicator& communicator,
                                        control::Observer* observer) {
    return std::make_unique<Zero3>(std::move(units), communicator, observer);
}

}  // namespace shardscope::parallel
