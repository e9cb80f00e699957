// Distributed data parallel: everything whole on every rank, gradients summed by all-reduce.
//
// Gradients of all units lie in one buffer in the order in which backward completes them (last
// block first, the root last), so that whatever is complete is a prefix of it. The four forms
// differ only in how that buffer is cut and when a piece is sent.
#include "engine/kernels/operator_scope.h"
#include "engine/parallel/distributed.h"
#include "engine/parallel/replicated.h"
#include "engine/parallel/views.h"
#include "engine/run/theory/working_sizes.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/topk.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace shardscope::parallel {
namespace {

using comm::CollectiveTag;
using comm::SymmetricBuffer;
using comm::Work;

at::Tensor part(const at::Tensor& flat, Slice slice) {
    return flat.narrow(0, slice.begin, slice.count);
}

/// Lossy forms of gradients on their way to other ranks. What a piece leaves out is kept and added
/// to the same piece of the next step (error feedback: Seide et al., Interspeech 2014; Stich et
/// al., arXiv 1809.07599).
///
/// bf16: the gradient rounded to bf16, summed in fp32, the sum rounded once. Top-k: of each piece
/// the k elements of largest magnitude as pairs of index and value; all ranks gather all pairs and
/// sum them in rank order.
class Compressor {
public:
    /// For the flat fp32 `gradients`.
    Compressor(Distributed& owner, run::Compression kind, double keptFraction,
               at::Tensor gradients);

    /// Starts sending a piece; its gradients are not to be touched until finish().
    Work send(Slice slice, CollectiveTag tag);
    /// After all sent pieces are there: the sums replace the gradients.
    void finish();
    /// Bytes kept from step to step.
    [[nodiscard]] std::int64_t stateBytes() const { return 4 * m_residual.numel(); }

private:
    struct Piece {
        Slice slice;
        std::int64_t kept = 0;  ///< top-k: pairs of a rank
        at::Tensor gathered;    ///< top-k: (ranks, 2, kept)
    };

    Work sendNarrow(Slice slice, CollectiveTag tag);
    Work sendLargest(Slice slice, CollectiveTag tag);
    void takeNarrow(const Piece& piece);
    void takeLargest(const Piece& piece);

    Distributed& m_owner;
    const run::Compression m_kind;
    const double m_keptFraction;
    at::Tensor m_gradients;
    at::Tensor m_residual;   ///< what earlier steps left out
    SymmetricBuffer m_wire;  ///< what is sent, at the pieces' places
    std::vector<Piece> m_pieces;
};

Compressor::Compressor(Distributed& owner, run::Compression kind, double keptFraction,
                       at::Tensor gradients)
    : m_owner(owner),
      m_kind(kind),
      m_keptFraction(keptFraction),
      m_gradients(std::move(gradients)),
      m_residual(zeros(MemoryCategory::kGradient, "left out of gradients", m_gradients.numel(),
                       m_gradients.options())) {
    // Pairs take two floats an element at most, where all of them are kept.
    const bool narrow = kind == run::Compression::kBFloat16;
    m_wire = owner.allocate((narrow ? 1 : 2) * m_gradients.numel(),
                            narrow ? DataType::kBFloat16 : DataType::kFloat32,
                            MemoryCategory::kCommunication, kNoLayer, "compressed gradients");
}

Work Compressor::send(Slice slice, CollectiveTag tag) {
    part(m_residual, slice).add_(part(m_gradients, slice));
    return m_kind == run::Compression::kBFloat16 ? sendNarrow(slice, tag) : sendLargest(slice, tag);
}

Work Compressor::sendNarrow(Slice slice, CollectiveTag tag) {
    const kernels::OperatorScope scope("compress_bf16");
    const SymmetricBuffer buffer = sliceOf(m_wire, slice);
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
    const SymmetricBuffer buffer = sliceOf(m_wire, {2 * slice.begin, 2 * kept});
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
        m_kind == run::Compression::kBFloat16 ? takeNarrow(piece) : takeLargest(piece);
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

class Ddp final : public Replicated {
public:
    Ddp(const std::vector<UnitReference>& units, const Placement& placement,
        comm::Communicator& communicator, control::Observer* observer, const DdpOptions& options)
        : Replicated(units, placement, communicator, observer, Optimizer::kWhole),
          m_options(options),
          m_begins(m_units.size()) {
        for (std::size_t i = 1; i <= m_units.size(); ++i) {
            // Blocks from the last to the first, then the root, which is unit 0.
            const std::size_t index = m_units.size() - i;
            m_begins[index] = m_total;
            m_total += m_units[index].layout.padded();
        }
        m_buffer =
            allocate(m_total, DataType::kFloat32, MemoryCategory::kGradient, kNoLayer, "gradients");
        m_gradients = asTensor(m_buffer);
        if (options.compression != run::Compression::kNone)
            m_compressor.emplace(*this, options.compression, options.keptFraction, m_gradients);
        for (std::size_t i = 0; i < m_units.size(); ++i) {
            Unit& unit = m_units[i];
            unit.state.gradient = gradientOf(i);
            bindGradients(unit.reference.parameters, unit.layout, unit.state.gradient, false);
        }
    }

    ~Ddp() override {
        for (const Work& work : m_works) settle(work);
    }

    void beginStep(std::int32_t step) override {
        Replicated::beginStep(step);
        m_complete = m_sent = 0;
        m_works.clear();
    }

    void beginGradients(std::size_t index) override {
        Unit& unit = m_units[index];
        for (kernels::Parameter& p : unit.reference.parameters) p.accumulate = !unit.fresh;
        unit.fresh = false;
    }

    void reduce(std::size_t index, Contribution) override {
        if (!m_lastMicroStep) return;  // not summed over ranks until all micro-steps are in
        m_complete = m_begins[index] + m_units[index].layout.padded();
        if (m_options.exchange == GradientExchange::kOverlapped) sendParameters(index);
        if (m_options.exchange == GradientExchange::kBucketed) sendBuckets();
    }

    void finishReductions() override {
        if (m_options.exchange == GradientExchange::kNaive) sendOneByOne();
        if (m_options.exchange == GradientExchange::kFlat) send({0, m_total}, kNoLayer);
        if (m_options.exchange == GradientExchange::kBucketed)
            send({m_sent, m_total - m_sent}, kNoLayer);
        for (const Work& work : m_works) block(work, Phase::kWaitReduction, kRootLayer);
        if (m_compressor) m_compressor->finish();
    }

    void update(const kernels::StepUpdate* update, bool) override {
        for (const Unit& unit : m_units)
            kernels::updateShard(update, unit.layout.decaying, unit.state);
    }

protected:
    at::Tensor shareOfGradient(const Unit& unit) const override {
        const Slice own = share(unit);
        return unit.state.gradient.narrow(0, own.begin, own.count);
    }
    std::int64_t gradientBytes() const override {
        return 4 * m_total + (m_compressor ? m_compressor->stateBytes() : 0);
    }

private:
    at::Tensor gradientOf(std::size_t index) const {
        return m_gradients.narrow(0, m_begins[index], m_units[index].layout.padded());
    }
    Slice parameterSlice(std::size_t unit, std::size_t parameter) const {
        return {m_begins[unit] + m_units[unit].layout.offsets[parameter],
                m_units[unit].reference.parameters[parameter].count()};
    }

    Work send(Slice slice, LayerIndex layer) {
        if (slice.count == 0) return {};
        const comm::CollectiveTag tag{Cause::kGradient, layer, m_step};
        const Work work = m_compressor ? m_compressor->send(slice, tag)
                                       : m_communicator.allReduce(sliceOf(m_buffer, slice), tag);
        m_works.push_back(work);
        return work;
    }

    void sendParameters(std::size_t index) {
        const Unit& unit = m_units[index];
        for (std::size_t p = 0; p < unit.reference.parameters.size(); ++p)
            send(parameterSlice(index, p), unit.reference.layer);
    }

    void sendBuckets() {
        while (m_complete - m_sent >= m_options.bucketElements) {
            send({m_sent, m_options.bucketElements}, kNoLayer);
            m_sent += m_options.bucketElements;
        }
    }

    /// One parameter after the other, each waited for: nothing computes meanwhile.
    void sendOneByOne() {
        for (std::size_t i = m_units.size(); i-- > 0;)
            for (std::size_t p = 0; p < m_units[i].reference.parameters.size(); ++p)
                block(send(parameterSlice(i, p), m_units[i].reference.layer), Phase::kWaitReduction,
                      m_units[i].reference.layer);
    }

    const DdpOptions m_options;
    std::vector<std::int64_t> m_begins;  ///< of each unit in the buffer
    std::int64_t m_total = 0;
    SymmetricBuffer m_buffer;
    at::Tensor m_gradients;
    std::int64_t m_complete = 0;  ///< elements that backward is done with
    std::int64_t m_sent = 0;
    std::vector<Work> m_works;
    std::optional<Compressor> m_compressor;
};

}  // namespace

std::unique_ptr<Partitioning> makeDdp(const std::vector<UnitReference>& units,
                                      const Placement& placement, comm::Communicator& communicator,
                                      control::Observer* observer, const DdpOptions& options) {
    return std::make_unique<Ddp>(units, placement, communicator, observer, options);
}

}  // namespace shardscope::parallel
