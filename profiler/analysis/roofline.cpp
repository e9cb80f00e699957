#include "profiler/analysis/roofline.h"

#include <algorithm>

namespace shardscope::analysis {

std::optional<std::int64_t> elementSize(ProductType type) {
    switch (type) {
        case ProductType::kHalf:
        case ProductType::kBFloat:
            return 2;
        case ProductType::kFloat:
            return 4;
        case ProductType::kDouble:
            return 8;
        case ProductType::kInt8:
        case ProductType::kFloat8:
            return 1;
        case ProductType::kUnknown:
        case ProductType::kOther:
            break;
    }
    return std::nullopt;
}

std::optional<double> flopsOf(const Product& product) {
    if (product.convolution) return std::nullopt;
    return 2.0 * static_cast<double>(product.batch) * static_cast<double>(product.m) *
           static_cast<double>(product.n) * static_cast<double>(product.k);
}

std::optional<double> bytesOf(const Product& product) {
    const auto size = elementSize(product.type);
    if (!size || product.convolution) return std::nullopt;
    const auto m = static_cast<double>(product.m), n = static_cast<double>(product.n),
               k = static_cast<double>(product.k);
    return static_cast<double>(*size) * static_cast<double>(product.batch) *
           (m * k + k * n + m * n);
}

double roofAt(double intensity, double peakFlops, std::optional<double> bandwidth) {
    return bandwidth ? std::min(peakFlops, intensity * *bandwidth) : peakFlops;
}

}  // namespace shardscope::analysis
