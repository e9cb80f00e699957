#include "engine/kernels/shard_update.h"
#include "engine/parallel/partitioning.h"
#include "engine/parallel/shard_layout.h"
#include "engine/parallel/views.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include <array>

namespace shardscope::parallel {
namespace {

using comm::CollectiveTag;
using comm::SymmetricBuffer;
using comm::Work;

DataType dtypeOf(at::ScalarType type) {
    return type == at::kBFloat16 ? DataType::kBFloat16 : DataType::kFloat32;
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
    SymmetricBuffer master;     // parameters in fp32, (shard)
    SymmetricBuffer shard;      // as they are gathered, (shard): the master or a bf16 copy
    kernels::ShardState state;  // the same memory as tensors; gradients and moments
    at::Tensor gathered;        // (padded) while fetched
    Work gather;
    bool bound = false;  ///< gathered and waited for
    GradientSlot* slot = nullptr;
    bool fresh = true;  ///< nothing reduced in this step yet
};

class Zero3 final : public Partitioning {
public:
    Zero3(std::vector<UnitReference> units, const Placement& placement,
          comm::Communicator& communicator, control::Observer* observer)
        : m_placement(placement),
          m_communicator(communicator),
          m_observer(observer),
          m_phaseObserver(observer) {
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
            const at::Tensor flat = at::zeros({unit.layout.padded()});
            const auto& parameters = unit.reference.parameters;
            for (std::size_t i = 0; i < parameters.size(); ++i) {
                flat.narrow(0, unit.layout.offsets[i], parameters[i].count())
                    .copy_(source(parameters[i]).reshape({-1}));
            }
            unit.state.parameter.copy_(
                flat.narrow(0, m_communicator.rank() * unit.layout.shard, unit.layout.shard));
            if (m_placement.copies()) unit.state.compute.copy_(unit.state.parameter);
        }
        m_communicator.barrier({Cause::kStart}).wait();
    }

    void visit(const ValueSink& sink) override {
        for (const UnitState& unit : m_units) {
            const at::Tensor whole = at::empty({unit.layout.padded()}, m_placement.master());
            m_communicator
                .allGather(unit.master, whole.mutable_data_ptr(),
                           {Cause::kStart, unit.reference.layer, m_step})
                .wait();
            visitValues(unit.reference.parameters, unit.layout, whole, sink);
        }
    }

    void beginStep(std::int32_t step) override {
        m_step = step;
        for (UnitState& unit : m_units) unit.fresh = true;
    }

    void beginMicroStep(bool) override {}  // reduces in every one

    void fetch(std::size_t index, Cause cause) override {
        UnitState& unit = m_units[index];
        if (unit.gathered.defined()) return;
        const control::MemoryScope scope(MemoryCategory::kGatheredParameter, "gathered parameters");
        unit.gathered =
            at::empty({unit.layout.padded()}, m_placement.master().dtype(m_placement.compute));
        unit.gather = m_communicator.allGather(unit.shard, unit.gathered.mutable_data_ptr(),
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
        // On a device the memory is reused in the order of the current stream: it may only go
        // back once that stream has waited for the gather that writes it.
        if (unit.gathered.defined() && !unit.bound) unit.gather.wait();
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
        part.count = static_cast<std::size_t>(unit.layout.padded());
        unit.slot->reduction = m_communicator.reduceScatter(
            part, unit.state.gradient.mutable_data_ptr<float>(),
            unit.fresh ? comm::Accumulate::kNo : comm::Accumulate::kYes,
            {Cause::kGradient, unit.reference.layer, m_step});
        m_lastReduction = unit.slot->reduction;
        unit.fresh = false;
    }

    void finishReductions() override {
        // In order: when the last one is done, all are.
        if (m_lastReduction.valid()) block(m_lastReduction, Phase::kWaitReduction, kRootLayer);
    }

    void addSquaredNorm(const at::Tensor& total) const override {
        for (const UnitState& unit : m_units) kernels::addSquaredNorm(unit.state.gradient, total);
    }

    void update(const kernels::AdamWStep& step) override {
        for (UnitState& unit : m_units) {
            kernels::updateShard(step, unit.layout.decayingInShard(m_communicator.rank()),
                                 unit.state);
        }
    }

    std::int64_t stateBytes() const override {
        std::int64_t bytes = 0;
        for (const UnitState& unit : m_units)
            bytes += m_placement.stateBytesEach() * unit.layout.shard;
        return bytes;
    }

    void reportPhases(bool report) override { m_phaseObserver = report ? m_observer : nullptr; }

private:
    void addUnit(const UnitReference& reference) {
        UnitState unit;
        unit.reference = reference;
        unit.layout = layOut(reference.parameters, m_communicator.size());
        const std::int64_t n = unit.layout.shard;
        const auto own = [&](DataType dtype, const char* owner) {
            return allocate(n, dtype, MemoryCategory::kParameterShard, reference.layer, owner);
        };
        unit.master = own(DataType::kFloat32, "parameter shard");
        unit.shard =
            m_placement.copies() ? own(dtypeOf(m_placement.compute), "bf16 copy") : unit.master;
        unit.state.parameter = asTensor(unit.master);
        unit.state.compute = m_placement.copies() ? asTensor(unit.shard) : unit.state.parameter;
        const at::TensorOptions options = m_placement.master();
        unit.state.gradient = zeros(MemoryCategory::kGradientShard, "gradients", n, options);
        unit.state.firstMoment = zeros(MemoryCategory::kOptimizerState, "first moment", n, options);
        unit.state.secondMoment =
            zeros(MemoryCategory::kOptimizerState, "second moment", n, options);
        m_units.push_back(std::move(unit));
    }

    at::Tensor asTensor(const SymmetricBuffer& buffer) const {
        const auto type = buffer.dtype == DataType::kBFloat16 ? at::kBFloat16 : at::kFloat;
        return at::from_blob(buffer.local, {static_cast<std::int64_t>(buffer.count)},
                             m_placement.master().dtype(type));
    }

    void makeSlot(GradientSlot& slot, std::int64_t n, LayerIndex layer) {
        slot.buffer = allocate(n, dtypeOf(m_placement.gradient), MemoryCategory::kGradient, layer,
                               "layer gradients");
        slot.flat = asTensor(slot.buffer);
    }

    SymmetricBuffer allocate(std::int64_t n, DataType dtype, MemoryCategory category,
                             LayerIndex layer, const char* owner) {
        const control::MemoryScope scope(category, owner);
        const SymmetricBuffer buffer = m_communicator.allocate(static_cast<std::size_t>(n), dtype);
        // Device memory comes from the tensor allocator, which reports it itself.
        if (m_observer != nullptr && m_placement.device.is_cpu()) {
            m_observer->buffer({buffer.local, static_cast<std::int64_t>(buffer.bytes()),
                                MemoryAction::kAllocate, category, layer, owner, control::now()});
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

    const Placement m_placement;
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
                                        const Placement& placement,
                                        comm::Communicator& communicator,
                                        control::Observer* observer) {
    return std::make_unique<Zero3>(std::move(units), placement, communicator, observer);
}

}  // namespace shardscope::parallel
