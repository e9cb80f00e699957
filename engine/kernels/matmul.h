// Matrix products into memory that is already there, by the faster of two libraries.
//
// MKL, by LibTorch's public operators, works everywhere and is fast on CPUs of its maker. oneDNN
// (matmul.cpp) is not bound to one maker: on a core of an AMD EPYC with AVX-512 it does 205 to 235
// GFLOP/s where MKL does 97 to 104, the same core held to AVX2 110 to 118 against 92 to 100. So
// both are timed once, and the faster takes all products. OpenBLAS 0.3.34 and BLIS 0.9 were
// measured beside them: 112 to 121 and 37 to 39 with AVX-512.
#pragma once

#include "storage/model/words.h"

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace shardscope::kernels {

enum class MatmulLibrary : std::uint8_t { kMkl = 0, kOneDnn = 1 };
constexpr auto wordsOf(MatmulLibrary) {
    return wordList<Word<MatmulLibrary>>(
        {{MatmulLibrary::kMkl, "MKL"}, {MatmulLibrary::kOneDnn, "oneDNN"}});
}

/// Time by oneDNN over time by MKL of a (tokens, hidden) x (hidden, 4 hidden) product; a few
/// milliseconds. Infinite where oneDNN is not there.
[[nodiscard]] double oneDnnOverMkl(std::int64_t tokens, std::int64_t hidden);
/// How a CPU multiplies bf16 and fp16: by LibTorch's operators, fast where there are instructions
/// for it and up to 90 times slower than fp32 where there are none; or widened (see below).
enum class NarrowProducts : std::uint8_t { kNative = 0, kWidened = 1 };
constexpr auto wordsOf(NarrowProducts) {
    return wordList<Word<NarrowProducts>>(
        {{NarrowProducts::kNative, "native"}, {NarrowProducts::kWidened, "widened"}});
}
/// How many times longer a product in `type` (bf16, fp16) takes on this CPU than an fp32 one by the
/// library in use: well below 1 with AMX.
struct Slowdown {
    double native = 1, widened = 1;
    [[nodiscard]] NarrowProducts faster() const {
        return widened < native ? NarrowProducts::kWidened : NarrowProducts::kNative;
    }
    [[nodiscard]] double of(NarrowProducts way) const {
        return way == NarrowProducts::kWidened ? widened : native;
    }
};
/// A few milliseconds, or a few fp32 products times the answer.
[[nodiscard]] Slowdown slowdownOf(at::ScalarType type, std::int64_t tokens, std::int64_t hidden);
/// Chosen once before the first step.
void useNarrowProducts(NarrowProducts way);
[[nodiscard]] NarrowProducts narrowProductsInUse();
/// From this slowdown on a run is warned of its precision.
inline constexpr double kSlowPrecision = 2;
/// Chosen once before the first step; all later products of the process use it. MKL is used
/// whatever is asked for where oneDNN is not there, and for what oneDNN does not take.
void useMatmulLibrary(MatmulLibrary library);
[[nodiscard]] MatmulLibrary matmulLibraryInUse();

/// out = a b (+ out when accumulate). a (m, k), b (k, n): contiguous or transposed, fp32, bf16 or
/// fp16; out (m, n) contiguous, of the same type, or fp32. On a GPU rows may have gaps between
/// them. Sums are taken in fp32. The choice of library above is for fp32 on a CPU; a GPU always
/// takes cuBLAS.
void matmul(const at::Tensor& a, const at::Tensor& b, const at::Tensor& out,
            bool accumulate = false);

/// The same in fp32 over a leading batch dim: a (b, m, k), b (b, k, n), out (b, m, n).
void batchedMatmul(const at::Tensor& a, const at::Tensor& b, const at::Tensor& out);

/// The n x n x n product of random data in `type`, with the library in use and the threads of
/// the thread that calls run().
class MatmulBurst {
public:
    MatmulBurst(std::int64_t n, at::ScalarType type);
    /// FLOP/s of one product.
    [[nodiscard]] double run() const;

private:
    at::Tensor m_a, m_b, m_out;
};

// Products of bf16 and fp16 on CPUs that are slow in them: operands are widened block by block and
// multiplied in fp32. Works everywhere, at little more than the time of an fp32 product.

/// out = a b (+ out when accumulate). a (m, k), b (k, n) of bf16 or fp16, contiguous or transposed;
/// out (m, n) of any type. Sums are taken in fp32 and rounded once. Its workspace, 2 MB a thread
/// that calls it, is no tensor's.
void widenedProduct(const at::Tensor& a, const at::Tensor& b, const at::Tensor& out,
                    bool accumulate);

}  // namespace shardscope::kernels
