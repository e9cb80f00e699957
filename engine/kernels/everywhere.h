// For small functions that both the host and a device's kernels call: one home for a formula.
#pragma once

#ifdef __CUDACC__
#define SHARDSCOPE_EVERYWHERE __host__ __device__
#else
#define SHARDSCOPE_EVERYWHERE
#endif
