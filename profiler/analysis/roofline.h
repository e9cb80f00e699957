// Matrix products against a device's roofs, from the shapes of their inputs.
//
// A product of batch x (M x K)(K x N) takes 2 x batch x M x N x K FLOPs, a multiplication and an
// addition each, as theory counts them (engine/run/theory/model_theory.h). It moves at least its
// two inputs once in and its output once out: batch x (M x K + K x N + M x N) elements. Caches,
// transposes and an addend (addmm) make that more, so that the intensity, FLOPs / bytes, is an
// upper bound and estimated. What a device can reach at an intensity is the lower of its peak and
// intensity x memory bandwidth.
//
// Source: Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009. Pure.
#pragma once

#include "profiler/analysis/tensor_cores.h"
#include "storage/model/units.h"

#include <optional>

namespace shardscope::analysis {

/// Bytes of an element; none: not known.
[[nodiscard]] std::optional<std::int64_t> elementSize(ProductType type);

/// None of convolutions, whose shapes here leave out what they slide over.
[[nodiscard]] std::optional<double> flopsOf(const Product& product);
/// At least; none: the type or the shape is not known.
[[nodiscard]] std::optional<double> bytesOf(const Product& product);

/// FLOP/s that can be reached at `intensity` FLOPs a byte. `bandwidth` in bytes a second.
[[nodiscard]] double roofAt(double intensity, double peakFlops, std::optional<double> bandwidth);

}  // namespace shardscope::analysis
