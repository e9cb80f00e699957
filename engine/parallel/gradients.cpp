#include "engine/parallel/gradients.h"

#include "engine/kernels/operator_scope.h"
#include "engine/parallel/views.h"

#include <ATen/record_function.h>

#include <algorithm>

namespace shardscope::parallel {

using comm::SymmetricBuffer;
using comm::Work;

void GradientStore::add(const UnitReference& unit, const ShardLayout& layout) {
    m_units.push_back({unit, layout, {}, {}, 0, true});
}

void GradientStore::makeSlot(std::int64_t count, DataType dtype, LayerIndex layer) {
    Slot slot;
    slot.buffer = m_owner.allocate(count, dtype, MemoryCategory::kGradient, layer,
                                   m_keep == Keep::kAll ? "gradients" : "layer gradients");
    slot.flat = m_owner.asTensor(slot.buffer);
    m_slots.push_back(std::move(slot));
}

void GradientStore::finish() {
    if (m_keep == Keep::kAll) {
        for (Unit& unit : m_units) {
            unit.slot = m_slots.size();
            makeSlot(unit.layout.padded(), DataType::kFloat32, unit.reference.layer);
            // Its own part of this rank's buffer is read by no other rank.
            const Slice own{m_communicator.rank() * unit.layout.shard, unit.layout.shard};
            unit.shardBuffer = sliceOf(m_slots.back().buffer, own);
            unit.shard = m_slots.back().flat.narrow(0, own.begin, own.count);
        }
        return;
    }
    const DataType dtype = kernels::dataTypeOf(m_owner.placement().gradient);
    std::int64_t largest = 0;
    for (std::size_t i = 0; i < m_units.size(); ++i) {
        Unit& unit = m_units[i];
        if (i > 0) largest = std::max(largest, unit.layout.padded());
        if (m_shards == Shards::kShared) {
            unit.shardBuffer =
                m_owner.allocate(unit.layout.shard, DataType::kFloat32,
                                 MemoryCategory::kGradientShard, unit.reference.layer, "gradients");
            unit.shard = m_owner.asTensor(unit.shardBuffer);
        } else {
            unit.shard =
                zeros(MemoryCategory::kGradientShard, "gradients", unit.layout.shard,
                      offloads() ? m_owner.placement().host() : m_owner.placement().master());
        }
    }
    if (offloads()) {
        const std::int64_t shard =
            std::max(largest, m_units.front().layout.padded()) / m_units.front().layout.ranks;
        for (Arrival& arrival : m_arrivals)
            arrival.device = zeros(MemoryCategory::kCommunication, "arriving gradients", shard,
                                   m_owner.placement().master());
    }
    makeSlot(m_units.front().layout.padded(), dtype, kRootLayer);
    for (int i = 0; i < 2; ++i) makeSlot(largest, dtype, kNoLayer);
}

void GradientStore::beginStep() {
    for (Unit& unit : m_units) unit.fresh = true;
}

/// Where a larger unit's gradients were; what is summed there counts in the norm.
void GradientStore::clearPadding(const Slot& slot, const ShardLayout& layout) {
    if (layout.used == layout.padded()) return;
    const at::DisableRecordFunctionGuard bookkeeping;
    slot.flat.narrow(0, layout.used, layout.padded() - layout.used).zero_();
}

void GradientStore::begin(std::size_t index) {
    Unit& unit = m_units[index];
    // By use, not by unit: what follows never waits for the slot before it.
    if (m_keep == Keep::kSlots && index > 0) unit.slot = m_turn = 3 - m_turn;
    Slot& slot = m_slots[unit.slot];
    if (slot.reduction.valid()) {
        const control::PhaseScope scope(m_owner.phaseObserver(), Phase::kWaitReduction,
                                        unit.reference.layer);
        m_communicator.waitPeers(slot.reduction);
        slot.reduction = {};
    }
    if (m_keep == Keep::kSlots) clearPadding(slot, unit.layout);
    const bool accumulate = m_keep == Keep::kAll && !unit.fresh;
    bindGradients(unit.reference.parameters, unit.layout, slot.flat, accumulate);
    if (m_keep == Keep::kAll) unit.fresh = false;
}

Work GradientStore::reduce(std::size_t index, std::int32_t step) {
    Unit& unit = m_units[index];
    if (m_keep == Keep::kAll && !m_lastMicroStep) return {};
    Slot& slot = m_slots[unit.slot];
    const bool add = m_keep == Keep::kSlots && !unit.fresh;
    unit.fresh = false;
    const SymmetricBuffer whole = sliceOf(slot.buffer, {0, unit.layout.padded()});
    if (offloads()) {
        slot.reduction = reduceToHost(index, whole, add, step);
    } else {
        slot.reduction =
            m_communicator.reduceScatter(whole, unit.shard.mutable_data_ptr<float>(),
                                         add ? comm::Accumulate::kYes : comm::Accumulate::kNo,
                                         {Cause::kGradient, unit.reference.layer, step});
    }
    return slot.reduction;
}

Work GradientStore::reduceToHost(std::size_t index, const SymmetricBuffer& whole, bool add,
                                 std::int32_t step) {
    Arrival& arrival = m_arrivals[m_arriving];
    m_arriving = 1 - m_arriving;
    bringOver(arrival);
    arrival.unit = index;
    arrival.add = add;
    arrival.work = m_communicator.reduceScatter(
        whole, arrival.device.mutable_data_ptr<float>(), comm::Accumulate::kNo,
        {Cause::kGradient, m_units[index].reference.layer, step});
    return arrival.work;
}

void GradientStore::bringOver(Arrival& arrival) {
    if (!arrival.work.valid()) return;
    const Unit& unit = m_units[arrival.unit];
    m_owner.block(arrival.work, Phase::kWaitReduction, unit.reference.layer);
    arrival.work = {};
    const at::Tensor arrived =
        kernels::inHostMemory(arrival.device.narrow(0, 0, unit.layout.shard));
    arrival.add ? unit.shard.add_(arrived) : unit.shard.copy_(arrived);
}

void GradientStore::finishStep() {
    // In the order in which they were reduced.
    bringOver(m_arrivals[m_arriving]);
    bringOver(m_arrivals[1 - m_arriving]);
}

std::int64_t GradientStore::stateBytes() const {
    std::int64_t bytes = 0;
    for (const Unit& unit : m_units)
        bytes += 4 * (m_keep == Keep::kAll ? unit.layout.padded() : unit.layout.shard);
    return bytes;
}

}  // namespace shardscope::parallel
