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

#include "storage/model/units.h"
#include "storage/model/words.h"

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::analysis {

// Whether matrix products could run on tensor cores, from the shapes and types of their inputs.
//
// Looked at are the operators that multiply themselves, not those that call them: mm, addmm, bmm,
// baddbmm, _scaled_mm, and convolutions as the matrix products that they are computed by. Eligible:
// the type is one of tensor cores', and every size that lies in memory side by side is a multiple
// of 16 bytes: 8 of fp16 and bf16, 4 of tf32, 16 of int8 and fp8, 2 of fp64. With others cuBLAS 11
// and later may still use tensor cores, slower. Fp32 is eligible as tf32, if the program allows
// that. Of convolutions: channels in (of a group) and out.
//
// Source: NVIDIA Deep Learning Performance, "Matrix Multiplication Background User's Guide",
// section 2.1 (table of alignments); "Convolutional Layers User's Guide", section on channels.
// Pure.

/// What is multiplied. kUnknown: the recording does not say it; kOther: none of tensor cores'.
enum class ProductType : std::uint8_t {
    kUnknown,
    kHalf,
    kBFloat,
    kFloat,
    kDouble,
    kInt8,
    kFloat8,
    kOther
};
struct ProductTypeWords {
    ProductType value;
    const char* word;
    std::int64_t alignment;  ///< multiple that sizes must be of; 0: no tensor cores
};
constexpr auto wordsOf(ProductType) {
    return wordList<ProductTypeWords>({{ProductType::kUnknown, "unknown", 0},
                                       {ProductType::kHalf, "fp16", 8},
                                       {ProductType::kBFloat, "bf16", 8},
                                       {ProductType::kFloat, "fp32", 4},
                                       {ProductType::kDouble, "fp64", 2},
                                       {ProductType::kInt8, "int8", 16},
                                       {ProductType::kFloat8, "fp8", 16},
                                       {ProductType::kOther, "other", 0}});
}
/// Of a type as Kineto writes it ("c10::BFloat16", "float") or c10::ScalarType ("BFloat16",
/// "Float").
[[nodiscard]] ProductType productTypeOf(std::string_view text);

/// batch x (M x K) (K x N).
struct Product {
    std::int64_t batch = 1, m = 0, n = 0, k = 0;
    bool convolution = false;  ///< n: channels out, k: channels in; batch and m: 0
    ProductType type = ProductType::kUnknown;
    friend auto operator<=>(const Product&, const Product&) = default;
};

using Shape = std::vector<std::int64_t>;
/// Whether an operator of that name is looked at.
[[nodiscard]] bool isProduct(std::string_view operatorName);
/// Of an operator's inputs in their order; those that are no tensors may have empty shapes or be
/// left out. `types` may be shorter or empty. None: it is not looked at, or the shapes are not
/// those of such a product.
[[nodiscard]] std::optional<Product> productOf(std::string_view operatorName,
                                               const std::vector<Shape>& shapes,
                                               const std::vector<std::string>& types);

/// The same, also where a size is 0 and nothing is multiplied.
[[nodiscard]] std::optional<Product> maybeEmptyProductOf(std::string_view operatorName,
                                                         const std::vector<Shape>& shapes,
                                                         const std::vector<std::string>& types);

/// "8 x (128 x 64)(64 x 256)"; of a convolution "64 -> 128 channels".
[[nodiscard]] std::string shapeText(const Product& product);

struct Eligibility {
    std::optional<bool> eligible;  ///< none: unknown
    std::string why;               ///< why not, or what is missing; else empty
};
[[nodiscard]] Eligibility eligibilityOf(const Product& product);

/// By the names that cuBLAS, cuDNN and CUTLASS give to kernels that use them: the shape of the
/// instruction ("s16816"), hmma, imma, wgmma, tensorop, nvjet. "xmma" alone says nothing.
[[nodiscard]] bool usesTensorCores(std::string_view kernelName);

/// Bytes of an element; none: not known.
[[nodiscard]] std::optional<std::int64_t> elementSize(ProductType type);

/// None of convolutions, whose shapes here leave out what they slide over.
[[nodiscard]] std::optional<double> flopsOf(const Product& product);
/// At least; none: the type or the shape is not known.
[[nodiscard]] std::optional<double> bytesOf(const Product& product);

/// FLOP/s that can be reached at `intensity` FLOPs a byte. `bandwidth` in bytes a second.
[[nodiscard]] double roofAt(double intensity, double peakFlops, std::optional<double> bandwidth);

}  // namespace shardscope::analysis
