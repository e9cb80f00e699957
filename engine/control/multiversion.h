// Compiles a function for several CPUs; the fitting one is chosen when the program starts: the
// psABI's levels v4 (AVX-512 F, BW, CD, DQ, VL), v3 (AVX2, FMA, F16C) and whatever is compiled for.
// Levels, and not "avx2,fma": that is two versions, neither of them with both.
//
// Not under ThreadSanitizer: the choice is made by code that runs before its runtime is ready.
#pragma once

#ifdef __SANITIZE_THREAD__
#define SHARDSCOPE_FOR_EACH_CPU
#else
#define SHARDSCOPE_FOR_EACH_CPU \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
