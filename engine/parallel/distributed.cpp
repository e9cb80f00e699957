#include "engine/parallel/distributed.h"

#include "storage/model/host_clock.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/record_function.h>

namespace shardscope::parallel {

using comm::SymmetricBuffer;

SymmetricBuffer sliceOf(const SymmetricBuffer& buffer, Slice slice) {
    const std::size_t skipped =
        static_cast<std::size_t>(slice.begin) * comm::elementBytes(buffer.dtype);
    SymmetricBuffer part = buffer;
    part.offset += skipped;
    part.count = static_cast<std::size_t>(slice.count);
    part.local = static_cast<std::byte*>(buffer.local) + skipped;
    return part;
}

namespace {

at::ScalarType scalarOf(DataType dtype) {
    if (dtype == DataType::kBFloat16) return at::kBFloat16;
    return dtype == DataType::kFloat16 ? at::kHalf : at::kFloat;
}

}  // namespace

SymmetricBuffer allocate(comm::Communicator& communicator, control::Observer* observer,
                         at::Device device, std::int64_t count, DataType dtype,
                         MemoryCategory category, LayerIndex layer, const char* owner) {
    const control::MemoryScope scope(category, owner);
    const SymmetricBuffer buffer = communicator.allocate(static_cast<std::size_t>(count), dtype);
    // Device memory comes from the tensor allocator, which reports it itself.
    if (observer != nullptr && device.is_cpu())
        observer->buffer({buffer.local, static_cast<std::int64_t>(buffer.bytes()),
                          MemoryAction::kAllocate, category, layer, owner, hostNow()});
    return buffer;
}

SymmetricBuffer Distributed::allocate(std::int64_t count, DataType dtype, MemoryCategory category,
                                      LayerIndex layer, const char* owner) {
    return parallel::allocate(m_communicator, m_observer, m_placement.device, count, dtype,
                              category, layer, owner);
}

at::Tensor Distributed::asTensor(const SymmetricBuffer& buffer) const {
    return at::from_blob(buffer.local, {static_cast<std::int64_t>(buffer.count)},
                         m_placement.master().dtype(scalarOf(buffer.dtype)));
}

at::Tensor Distributed::gatherMaster(comm::Communicator& communicator, const at::Tensor& part,
                                     const comm::CollectiveTag& tag) {
    const SymmetricBuffer shared =
        allocate(part.numel(), DataType::kFloat32, MemoryCategory::kTemporary, tag.layer,
                 "master to hand out");
    asTensor(shared).copy_(part);
    const at::Tensor whole = at::empty({part.numel() * communicator.size()}, m_placement.master());
    communicator.allGather(shared, whole.mutable_data_ptr(), tag).wait();
    return whole;
}

void Distributed::block(const comm::Work& work, Phase phase, LayerIndex layer) {
    if (!work.valid()) return;
    if (work.ready()) return work.wait();  // rethrows
    const control::PhaseScope scope(m_phaseObserver, phase, layer);
    work.wait();
}

void Distributed::settle(const comm::Work& work) noexcept {
    try {
        if (work.valid()) work.wait();
    } catch (...) {  // NOLINT(bugprone-empty-catch)
    }
}

void visitPiecesOf(const UnitReference& unit, const ShardLayout& layout,
                   const kernels::ShardState& state, std::int64_t stateBegin, Slice part,
                   bool counted, const PieceVisitor& visitor) {
    const at::DisableRecordFunctionGuard bookkeeping;
    forEachOverlap(unit.parameters, layout, part.begin, part.count,
                   [&](std::size_t i, std::int64_t begin, std::int64_t at, std::int64_t count) {
                       if (counted && layout.offsets[i] >= layout.counted) return;
                       const kernels::Parameter& parameter = unit.parameters[i];
                       parameter.forEachRun(
                           begin, count, [&](std::int64_t whole, std::int64_t own, std::int64_t n) {
                               const auto view = [&](const at::Tensor& flat) {
                                   return flat.narrow(0, part.begin - stateBegin + at + own - begin,
                                                      n);
                               };
                               visitor({parameter, whole, view(state.parameter),
                                        view(state.firstMoment), view(state.secondMoment)});
                           });
                   });
}

}  // namespace shardscope::parallel
