#include "engine/parallel/compression.h"

#include "engine/kernels/operator_scope.h"
#include "engine/parallel/views.h"
#include "engine/run/theory/gradient_pieces.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/topk.h>

namespace shardscope::parallel {

using comm::CollectiveTag;
using comm::Work;

namespace {

at::Tensor part(const at::Tensor& flat, Slice slice) {
    return flat.narrow(0, slice.begin, slice.count);
}

}  // namespace

Compressor::Compressor(Distributed& owner, GradientCompression kind, double keptFraction,
                       at::Tensor gradients)
    : m_owner(owner),
      m_kind(kind),
      m_keptFraction(keptFraction),
      m_gradients(std::move(gradients)),
      m_residual(zeros(MemoryCategory::kGradient, "left out of gradients", m_gradients.numel(),
                       m_gradients.options())) {
    // Pairs take two floats an element at most, where all of them are kept.
    const bool narrow = kind == GradientCompression::kBFloat16;
    m_wire = owner.allocate((narrow ? 1 : 2) * m_gradients.numel(),
                            narrow ? DataType::kBFloat16 : DataType::kFloat32,
                            MemoryCategory::kCommunication, kNoLayer, "compressed gradients");
}

Work Compressor::send(Slice slice, CollectiveTag tag) {
    part(m_residual, slice).add_(part(m_gradients, slice));
    return m_kind == GradientCompression::kBFloat16 ? sendNarrow(slice, tag)
                                                    : sendLargest(slice, tag);
}

Work Compressor::sendNarrow(Slice slice, CollectiveTag tag) {
    const kernels::OperatorScope scope("compress_bf16");
    const comm::SymmetricBuffer buffer = sliceOf(m_wire, slice);
    const at::Tensor wire = m_owner.asTensor(buffer);
    const at::Tensor wanted = part(m_residual, slice);
    wire.copy_(wanted);
    wanted.sub_(wire);
    m_pieces.push_back({slice, 0, {}});
    tag.algorithm = "lossy bf16";
    return m_owner.communicator().allReduce(buffer, tag);
}

Work Compressor::sendLargest(Slice slice, CollectiveTag tag) {
    const kernels::OperatorScope scope("compress_topk");
    const at::Tensor wanted = part(m_residual, slice);
    const std::int64_t kept = theory::keptElements(m_keptFraction, slice.count);
    const at::Tensor indices = std::get<1>(at::topk(wanted.abs(), kept, 0, true, false));
    const comm::SymmetricBuffer buffer = sliceOf(m_wire, {2 * slice.begin, 2 * kept});
    const at::Tensor wire = m_owner.asTensor(buffer).view({2, kept});
    wire[0].view(at::kInt).copy_(indices);
    wire[1].copy_(wanted.index_select(0, indices));
    wanted.index_fill_(0, indices, 0);
    const std::int64_t ranks = m_owner.communicator().size();
    m_pieces.push_back({slice, kept, at::empty({ranks, 2, kept}, m_gradients.options())});
    tag.algorithm = "lossy top-k";
    return m_owner.communicator().allGather(buffer, m_pieces.back().gathered.mutable_data_ptr(),
                                            tag);
}

void Compressor::finish() {
    const kernels::OperatorScope scope("decompress");
    for (const Piece& piece : m_pieces)
        m_kind == GradientCompression::kBFloat16 ? takeNarrow(piece) : takeLargest(piece);
    m_pieces.clear();
}

void Compressor::takeNarrow(const Piece& piece) {
    part(m_gradients, piece.slice).copy_(m_owner.asTensor(sliceOf(m_wire, piece.slice)));
}

void Compressor::takeLargest(const Piece& piece) {
    const at::Tensor gradients = part(m_gradients, piece.slice);
    gradients.zero_();
    for (std::int64_t rank = 0; rank < piece.gathered.size(0); ++rank) {
        const at::Tensor pairs = piece.gathered[rank];
        // Within a rank's pairs no index comes twice, so that the order of sums is that of ranks.
        gradients.index_add_(0, pairs[0].view(at::kInt), pairs[1]);
    }
}

}  // namespace shardscope::parallel
