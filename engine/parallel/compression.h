// Lossy forms of gradients on their way to other ranks. What a piece leaves out is kept and added
// to the same piece of the next step (error feedback: Seide et al., Interspeech 2014; Stich et
// al., arXiv 1809.07599). Internal to engine/parallel; step thread.
//
// bf16: the gradient rounded to bf16, summed in fp32, the sum rounded once. Top-k: of each piece
// the k elements of largest magnitude as pairs of index and value; all ranks gather all pairs and
// sum them in rank order.
#pragma once

#include "engine/parallel/distributed.h"

#include <vector>

namespace shardscope::parallel {

class Compressor {
public:
    /// For the flat fp32 `gradients`.
    Compressor(Distributed& owner, GradientCompression kind, double keptFraction,
               at::Tensor gradients);

    /// Starts sending a piece; its gradients are not to be touched until finish().
    comm::Work send(Slice slice, comm::CollectiveTag tag);
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

    comm::Work sendNarrow(Slice slice, comm::CollectiveTag tag);
    comm::Work sendLargest(Slice slice, comm::CollectiveTag tag);
    void takeNarrow(const Piece& piece);
    void takeLargest(const Piece& piece);

    Distributed& m_owner;
    const GradientCompression m_kind;
    const double m_keptFraction;
    at::Tensor m_gradients;
    at::Tensor m_residual;         ///< what earlier steps left out
    comm::SymmetricBuffer m_wire;  ///< what is sent, at the pieces' places
    std::vector<Piece> m_pieces;
};

}  // namespace shardscope::parallel
