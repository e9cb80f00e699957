// A parameter as operators see it: where its value lies now and where its gradient goes.
//
// The autograd graph does not hold parameters. Operators keep a pointer to the Parameter and
// look the value up again in backward, so that a gathered value may be freed after forward and
// come back elsewhere. Lives on the step thread.
#pragma once

#include "engine/run/config/model_tensors.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::kernels {

struct Parameter {
    std::string name;
    std::vector<std::int64_t> shape;
    at::Tensor value;         ///< defined while gathered
    at::Tensor gradient;      ///< defined while gradients of its unit are being computed
    bool accumulate = false;  ///< add to `gradient` instead of overwriting it
    run::ParameterGroup group = run::ParameterGroup::kMatrix;
    std::optional<bool> decayed;  ///< the run's choice; without one decays()
    std::int64_t firstRow = 0;    ///< of a piece: where it begins in the tensor of that name
    std::int64_t wholeRows = 0;   ///< of that tensor; 0: this is all of it

    [[nodiscard]] std::int64_t count() const {
        std::int64_t n = 1;
        for (std::int64_t extent : shape) n *= extent;
        return n;
    }
    /// Of the tensor of that name.
    [[nodiscard]] std::vector<std::int64_t> wholeShape() const {
        std::vector<std::int64_t> whole = shape;
        if (wholeRows > 0) whole[0] = wholeRows;
        return whole;
    }
    /// Elements of it before this piece.
    [[nodiscard]] std::int64_t firstElement() const {
        return firstRow == 0 ? 0 : firstRow * (count() / shape[0]);
    }
    /// This piece of `whole`, a tensor of wholeShape().
    [[nodiscard]] at::Tensor pieceOf(const at::Tensor& whole) const {
        return wholeRows == 0 ? whole : whole.narrow(0, firstRow, shape[0]);
    }
    /// Weight decay applies to matrices and embeddings only (nanoGPT's rule).
    [[nodiscard]] bool decays() const { return shape.size() >= 2; }
    /// The same with a run's choice for embeddings and for vectors.
    [[nodiscard]] bool decays(bool embeddings, bool vectors) const {
        if (group == run::ParameterGroup::kEmbedding) return embeddings;
        return group == run::ParameterGroup::kMatrix || vectors;
    }
};

}  // namespace shardscope::kernels
