#include "profiler/analysis/device/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace shardscope::analysis {
namespace {

/// Where an operator's factors are among its inputs.
struct Operator {
    std::string_view name;
    std::size_t left, right;
    std::size_t rank;  ///< dimensions of each factor; 0: a convolution, whose weight is `right`
};
constexpr Operator kOperators[] = {
    {"aten::mm", 0, 1, 2},
    {"aten::addmm", 1, 2, 2},
    {"aten::_addmm_activation", 1, 2, 2},
    {"aten::_scaled_mm", 0, 1, 2},
    {"aten::_int_mm", 0, 1, 2},
    {"aten::bmm", 0, 1, 3},
    {"aten::baddbmm", 1, 2, 3},
    {"aten::cudnn_convolution", 0, 1, 0},
    {"aten::cudnn_convolution_relu", 0, 1, 0},
    {"aten::cudnn_convolution_transpose", 0, 1, 0},
    {"aten::convolution_backward", 1, 2, 0},
};

const Operator* operatorOf(std::string_view name) {
    const auto* found = std::find_if(std::begin(kOperators), std::end(kOperators),
                                     [&](const Operator& each) { return each.name == name; });
    return found == std::end(kOperators) ? nullptr : found;
}

bool allAtLeast(std::int64_t least, const Shape& shape) {
    return std::all_of(shape.begin(), shape.end(),
                       [least](std::int64_t size) { return size >= least; });
}

std::optional<Product> matrices(const Shape& left, const Shape& right) {
    const std::size_t rank = left.size();
    Product product;
    product.batch = rank == 3 ? left[0] : 1;
    product.m = left[rank - 2];
    product.k = left[rank - 1];
    product.n = right[rank - 1];
    if (right[rank - 2] != product.k || (rank == 3 && right[0] != left[0])) return std::nullopt;
    return product;
}

/// Of a weight [channels out, channels in of a group, ...].
std::optional<Product> convolution(const Shape& weight) {
    if (weight.size() < 3) return std::nullopt;
    Product product;
    product.convolution = true;
    product.batch = 0;
    product.n = weight[0];
    product.k = weight[1];
    return product;
}

ProductType typeAt(const std::vector<std::string>& types, std::size_t place) {
    return place < types.size() ? productTypeOf(types[place]) : ProductType::kUnknown;
}

/// The first size that is no multiple; empty when all are.
std::string misaligned(const Product& product, std::int64_t alignment) {
    const auto tell = [&](const char* what, std::int64_t size) {
        return size % alignment == 0
                   ? std::string()
                   : fmt::format("{} is {}, no multiple of {}", what, size, alignment);
    };
    if (product.convolution) {
        const std::string in = tell("channels in", product.k);
        return in.empty() ? tell("channels out", product.n) : in;
    }
    for (const auto& [what, size] :
         {std::pair("M", product.m), std::pair("N", product.n), std::pair("K", product.k)}) {
        std::string text = tell(what, size);
        if (!text.empty()) return text;
    }
    return {};
}

bool isDigit(char c) {
    return c >= '0' && c <= '9';
}

/// "s16816gemm": the letter of a type before it, and no more digits behind.
bool namesShape(std::string_view name, std::string_view shape) {
    constexpr std::string_view kTypes = "hsid";
    for (std::size_t at = name.find(shape, 1); at != std::string_view::npos;
         at = name.find(shape, at + 1)) {
        const std::size_t end = at + shape.size();
        const bool behind = end == name.size() || !isDigit(name[end]);
        if (behind && kTypes.find(name[at - 1]) != std::string_view::npos) return true;
    }
    return false;
}

}  // namespace

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

ProductType productTypeOf(std::string_view text) {
    static constexpr std::pair<std::string_view, ProductType> kTypes[] = {
        {"c10::Half", ProductType::kHalf},
        {"at::Half", ProductType::kHalf},
        {"c10::BFloat16", ProductType::kBFloat},
        {"at::BFloat16", ProductType::kBFloat},
        {"float", ProductType::kFloat},
        {"double", ProductType::kDouble},
        {"signed char", ProductType::kInt8},
        {"unsigned char", ProductType::kInt8},
        {"Half", ProductType::kHalf},
        {"BFloat16", ProductType::kBFloat},
        {"Float", ProductType::kFloat},
        {"Double", ProductType::kDouble},
        {"Char", ProductType::kInt8},
        {"Byte", ProductType::kInt8},
    };
    if (text.empty()) return ProductType::kUnknown;
    if (text.find("Float8") != std::string_view::npos) return ProductType::kFloat8;
    for (const auto& [name, type] : kTypes)
        if (text == name) return type;
    return ProductType::kOther;
}

bool isProduct(std::string_view operatorName) {
    return operatorOf(operatorName) != nullptr;
}

std::optional<Product> productOf(std::string_view operatorName, const std::vector<Shape>& shapes,
                                 const std::vector<std::string>& types) {
    const Operator* known = operatorOf(operatorName);
    if (known == nullptr || std::max(known->left, known->right) >= shapes.size())
        return std::nullopt;
    if (!allAtLeast(1, shapes[known->left]) || !allAtLeast(1, shapes[known->right]))
        return std::nullopt;
    return maybeEmptyProductOf(operatorName, shapes, types);
}

std::optional<Product> maybeEmptyProductOf(std::string_view operatorName,
                                           const std::vector<Shape>& shapes,
                                           const std::vector<std::string>& types) {
    const Operator* known = operatorOf(operatorName);
    if (known == nullptr || std::max(known->left, known->right) >= shapes.size())
        return std::nullopt;
    const Shape& left = shapes[known->left];
    const Shape& right = shapes[known->right];
    if (!allAtLeast(0, left) || !allAtLeast(0, right)) return std::nullopt;
    const bool fits = left.size() == known->rank && right.size() == known->rank;
    std::optional<Product> product;
    if (known->rank == 0)
        product = convolution(right);
    else if (fits)
        product = matrices(left, right);
    if (product) product->type = typeAt(types, known->right);
    return product;
}

std::string shapeText(const Product& product) {
    if (product.convolution) return fmt::format("{} -> {} channels", product.k, product.n);
    const std::string one =
        fmt::format("({} x {})({} x {})", product.m, product.k, product.k, product.n);
    return product.batch == 1 ? one : fmt::format("{} x {}", product.batch, one);
}

Eligibility eligibilityOf(const Product& product) {
    const ProductTypeWords* words = entryOf(product.type);
    if (words == nullptr || product.type == ProductType::kUnknown)
        return {std::nullopt, "the type is not recorded"};
    if (words->alignment == 0) return {false, "the type is none of tensor cores'"};
    std::string why = misaligned(product, words->alignment);
    const bool eligible = why.empty();
    return {eligible, std::move(why)};
}

bool usesTensorCores(std::string_view kernelName) {
    static constexpr std::string_view kWordsInNames[] = {
        "hmma",     "imma",  "wgmma",   "gmma",     "wmma",
        "tensorop", "nvjet", "tcgen05", "TensorOp", "tensor16x8"};
    static constexpr std::string_view kInstructions[] = {"884",   "1688",  "8816",  "16816",
                                                         "16832", "16864", "161616"};
    const auto isIn = [&](std::string_view part) {
        return kernelName.find(part) != std::string_view::npos;
    };
    return std::any_of(std::begin(kWordsInNames), std::end(kWordsInNames), isIn) ||
           std::any_of(std::begin(kInstructions), std::end(kInstructions),
                       [&](std::string_view shape) { return namesShape(kernelName, shape); });
}

}  // namespace shardscope::analysis
