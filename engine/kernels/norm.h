// Layer norm (Ba et al., arXiv 1607.06450) and RMS norm (Zhang & Sennrich, arXiv 1910.07467) over
// the last dim with the residual stream around them: what is added before the norm, and in
// backward the gradient that goes past it, take no pass of their own. By our own kernels on a
// GPU, by our own loops on a CPU in fp32, otherwise by LibTorch's operators.
#pragma once

#include "engine/kernels/parameter.h"

#include <ATen/core/Tensor.h>

namespace shardscope::kernels {

/// weight (C), bias (C); no bias: an RMS norm. Epsilon 1e-5.
struct Norm {
    Parameter* weight = nullptr;
    Parameter* bias = nullptr;
};

struct Normed {
    at::Tensor stream;  ///< what was normed, to go on from
    at::Tensor value;
    at::Tensor copy;  ///< of `stream`, to be added to; undefined where it would take its own pass
};

/// x (N, C) -> x itself and its norm. In backward `weight` and its gradient must be defined again.
[[nodiscard]] Normed normalise(const at::Tensor& x, const Norm& parameters);
/// x, delta (N, C) -> their sum and its norm.
[[nodiscard]] Normed addAndNormalise(const at::Tensor& x, const at::Tensor& delta,
                                     const Norm& parameters);

/// The same without a graph, for the head: backward takes what forward gives.
struct NormState {
    at::Tensor stream, value;
    at::Tensor mean;     ///< (N) fp32; undefined for an RMS norm
    at::Tensor rstd;     ///< (N) fp32
    at::Tensor tickets;  ///< int32 zeros, for the device's kernel of backward
};
/// `delta` may be undefined; a defined `copy` receives x + delta once more, on a GPU.
[[nodiscard]] NormState normForward(const at::Tensor& x, const at::Tensor& delta,
                                    const Norm& parameters, const at::Tensor& copy = {});
/// The gradient of the stream from that of the value; `skip`, its gradient by other ways, may be
/// undefined. Stores the parameters' gradients.
[[nodiscard]] at::Tensor normBackward(const at::Tensor& dy, const at::Tensor& skip,
                                      const NormState& state, const Norm& parameters);

}  // namespace shardscope::kernels
