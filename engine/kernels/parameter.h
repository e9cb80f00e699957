// A parameter as operators see it: where its value lies now and where its gradient goes.
//
// The autograd graph does not hold parameters. Operators keep a pointer to the Parameter and
// look the value up again in backward, so that a gathered value may be freed after forward and
// come back elsewhere. Lives on the step thread.
#pragma once

#include "engine/run/config/model_tensors.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
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
    std::int64_t firstRow = 0;    ///< as run::ModelTensor has these, of a piece
    std::int64_t wholeRows = 0;
    std::int64_t rowGroups = 1;
    std::int64_t firstColumn = 0;
    std::int64_t wholeColumns = 0;
    bool divided = false;  ///< other ranks of a tensor group have the rest of it

    [[nodiscard]] std::int64_t count() const {
        std::int64_t n = 1;
        for (std::int64_t extent : shape) n *= extent;
        return n;
    }
    /// Of the tensor of that name.
    [[nodiscard]] std::vector<std::int64_t> wholeShape() const {
        std::vector<std::int64_t> whole = shape;
        if (wholeRows > 0) whole[0] = wholeRows;
        if (wholeColumns > 0) whole[1] = wholeColumns;
        return whole;
    }
    /// This piece of `whole`, a tensor of wholeShape(). Contiguous where it is no view of it.
    [[nodiscard]] at::Tensor pieceOf(const at::Tensor& whole) const {
        if (wholeColumns > 0) return whole.narrow(1, firstColumn, shape[1]);
        if (wholeRows == 0) return whole;
        if (rowGroups == 1) return whole.narrow(0, firstRow, shape[0]);
        return whole.view({rowGroups, wholeRows / rowGroups, -1})
            .narrow(1, firstRow, shape[0] / rowGroups)
            .reshape(shape);
    }
    /// Calls visit(begin in the tensor of that name, begin in this piece, count) for runs of the
    /// elements [begin, begin + count) of this piece, both in their flat order.
    template <class Visit>
    void forEachRun(std::int64_t begin, std::int64_t count, const Visit& visit) const;
    /// Weight decay applies to matrices and embeddings only (nanoGPT's rule).
    [[nodiscard]] bool decays() const { return shape.size() >= 2; }
    /// The same with a run's choice for embeddings and for vectors.
    [[nodiscard]] bool decays(bool embeddings, bool vectors) const {
        if (group == run::ParameterGroup::kEmbedding) return embeddings;
        return group == run::ParameterGroup::kMatrix || vectors;
    }
};

template <class Visit>
void Parameter::forEachRun(std::int64_t begin, std::int64_t count, const Visit& visit) const {
    const std::int64_t width = shape.size() > 1 ? shape[1] : 1;
    const std::int64_t wholeWidth = wholeColumns > 0 ? wholeColumns : width;
    const std::int64_t rows = shape[0] / rowGroups;
    const std::int64_t apart = wholeRows > 0 ? wholeRows / rowGroups : rows;
    const std::int64_t run = wholeColumns > 0 ? width : rows * width;  // without gaps
    for (const std::int64_t end = begin + count; begin < end;) {
        const std::int64_t n = std::min(end, (begin / run + 1) * run) - begin;
        const std::int64_t row = begin / width;
        const std::int64_t wholeRow = row / rows * apart + firstRow + row % rows;
        visit(wholeRow * wholeWidth + firstColumn + begin % width, begin, n);
        begin += n;
    }
}

}  // namespace shardscope::kernels
