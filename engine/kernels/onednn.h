// oneDNN's fp32 product, out of a release of oneDNN itself.
//
// LibTorch carries a oneDNN too, but none of its public operators multiplies fp32 matrices of a
// CPU by it into memory that is already there, and what it calls inside refuses every CPU without
// AVX-512. The release's `dnnl_sgemm` (dnnl.h) runs on all of them. It is loaded at run time, so
// that a machine without the library still trains, by MKL.
#pragma once

#include <cstdint>
#include <string>

namespace shardscope::kernels {

/// One fp32 matrix product, row-major: c = op(a) op(b) + beta c, with op the transpose where the
/// word is 'T' and nothing where it is 'N'. c is m x n, k the summed extent; lda, ldb and ldc are
/// the distances of rows as stored. Uses the calling thread's OpenMP threads; inside a parallel
/// region one. Any thread.
struct Sgemm {
    char transposeA = 'N', transposeB = 'N';
    std::int64_t m = 0, n = 0, k = 0;
    std::int64_t lda = 0, ldb = 0, ldc = 0;
    float beta = 0;

    /// False when oneDNN cannot do it; c is then as it was. Only where oneDnnIsThere().
    [[nodiscard]] bool run(const float* a, const float* b, float* c) const;
};

/// Whether libdnnl.so.3 was found and a small product by it is right. Loads it at the first call.
[[nodiscard]] bool oneDnnIsThere();
/// Its version, or why it is not used. Never empty.
[[nodiscard]] const std::string& oneDnnState();

}  // namespace shardscope::kernels
