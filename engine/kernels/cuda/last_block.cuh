// Who of several blocks is the last one to come to a place: it finds what the others wrote before.
// Threadfences as in cooperative groups' barrier over a grid, but nobody waits.
#pragma once

namespace shardscope::kernels::device {

/// Asked by a whole block; true for one of `members`, for all of its threads. The ticket starts at
/// zero, and is zero again when all have come.
__device__ __forceinline__ bool lastToCome(unsigned* ticket, unsigned members) {
    __shared__ bool last;
    __syncthreads();  // what the block wrote; and its threads have read `last` of the time before
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicInc(ticket, members - 1) == members - 1;
        __threadfence();
    }
    __syncthreads();
    return last;
}

}  // namespace shardscope::kernels::device
