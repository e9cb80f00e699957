// The parts that norm_backward.cuh leaves, added up in order: gradients of weight and bias.
#pragma once

#include "engine/kernels/cuda/block_reduce.cuh"
#include "engine/kernels/cuda/pack.cuh"

#include <cstdint>

namespace shardscope::kernels::device {

/// DeviceNormGradients with its types.
template <class G>
struct NormSums {
    std::int64_t parts, width;
    const float* work;
    G* dWeight;
    G* dBias;
    bool addWeight, addBias;
};

/// A warp's worth of columns of one of both vectors a block.
template <class G>
__global__ void normGradientsKernel(NormSums<G> n) {
    __shared__ float shared[1024];
    const std::int64_t blocksEach = (n.width + kWarp - 1) / kWarp;
    const std::int64_t which = blockIdx.x / blocksEach;
    const std::int64_t i = blockIdx.x % blocksEach * kWarp + threadIdx.x % kWarp;
    float sum = 0;
    if (i < n.width) {
        for (std::int64_t part = threadIdx.x / kWarp; part < n.parts; part += blockDim.x / kWarp)
            sum += n.work[(2 * part + which) * n.width + i];
    }
    shared[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x >= kWarp || i >= n.width) return;
    for (unsigned other = threadIdx.x + kWarp; other < blockDim.x; other += kWarp)
        sum += shared[other];
    G& out = (which == 0 ? n.dWeight : n.dBias)[i];
    const bool add = which == 0 ? n.addWeight : n.addBias;
    out = fromFloat<G>(add ? toFloat(out) + sum : sum);
}

}  // namespace shardscope::kernels::device
