#include "profiler/analysis/device/operator_flops.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

namespace shardscope::analysis {
namespace {

/// Sizes beyond are those of a damaged file.
constexpr std::int64_t kLargest = std::int64_t{1} << 40;

/// Attention, whose query, key and value begin at this input.
struct Attention {
    std::string_view name;
    bool backward;
};
constexpr Attention kAttentions[] = {
    {"aten::_scaled_dot_product_flash_attention_for_cpu", false},
    {"aten::_scaled_dot_product_flash_attention", false},
    {"aten::_scaled_dot_product_efficient_attention", false},
    {"aten::_scaled_dot_product_cudnn_attention", false},
    {"aten::_scaled_dot_product_fused_attention_overrideable", false},
    {"aten::_scaled_dot_product_flash_attention_for_cpu_backward", true},
    {"aten::_scaled_dot_product_flash_attention_backward", true},
    {"aten::_scaled_dot_product_efficient_attention_backward", true},
    {"aten::_scaled_dot_product_cudnn_attention_backward", true},
    {"aten::_scaled_dot_product_fused_attention_overrideable_backward", true},
};

constexpr std::string_view kConvolutions[] = {"aten::convolution", "aten::_convolution",
                                              "aten::convolution_overrideable"};
constexpr std::string_view kConvolutionBackward = "aten::convolution_backward";

/// They count nothing where they lie within one that counts, as most do.
constexpr std::string_view kUnknowns[] = {
    "aten::_flash_attention_forward",
    "aten::_flash_attention_backward",
    "aten::_efficient_attention_forward",
    "aten::_efficient_attention_backward",
    "aten::_grouped_mm",
    "aten::_scaled_grouped_mm",
    "aten::mkldnn_convolution",
    "aten::cudnn_convolution",
    "aten::cudnn_convolution_relu",
    "aten::cudnn_convolution_transpose",
    "aten::mkldnn_linear",
    "aten::mkldnn_linear_backward",
    "aten::mkldnn_rnn_layer",
    "aten::mkldnn_rnn_layer_backward",
    "aten::_cudnn_rnn",
    "aten::_cudnn_rnn_backward",
    "mkldnn::_linear_pointwise",
    "mkldnn::_convolution_pointwise",
    "mkldnn::_convolution_transpose_pointwise",
    "mkl::_mkl_linear",
};
constexpr std::string_view kCompiledNodes[] = {"CompiledFunction", "CompiledFunctionBackward"};

bool isIn(std::string_view name, const auto& names) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

const Attention* attentionOf(std::string_view name) {
    const auto* found = std::find_if(std::begin(kAttentions), std::end(kAttentions),
                                     [&](const Attention& each) { return each.name == name; });
    return found == std::end(kAttentions) ? nullptr : found;
}

bool areSizes(const Shape& shape) {
    return std::all_of(shape.begin(), shape.end(),
                       [](std::int64_t size) { return size >= 0 && size < kLargest; });
}

/// The first `count` are all there, and sizes.
bool has(const OperatorInputs& inputs, std::size_t count) {
    return inputs.shapes.size() >= count &&
           std::all_of(inputs.shapes.begin(),
                       inputs.shapes.begin() + static_cast<std::ptrdiff_t>(count), areSizes);
}

double elements(const Shape& shape, std::size_t from = 0) {
    return std::accumulate(
        shape.begin() + static_cast<std::ptrdiff_t>(from), shape.end(), 1.0,
        [](double all, std::int64_t size) { return all * static_cast<double>(size); });
}

ProductType typeAt(const OperatorInputs& inputs, std::size_t place) {
    return place < inputs.types.size() ? productTypeOf(inputs.types[place]) : ProductType::kUnknown;
}

/// Of query, key and value [batch, heads, length, size]; heads of keys may stand for several.
std::optional<OperatorFlops> attention(const OperatorInputs& inputs, bool backward) {
    const std::size_t first = backward ? 1 : 0;
    if (!has(inputs, first + 3)) return std::nullopt;
    const Shape& query = inputs.shapes[first];
    const Shape& key = inputs.shapes[first + 1];
    const Shape& value = inputs.shapes[first + 2];
    if (query.size() != 4 || key.size() != 4 || value.size() != 4) return std::nullopt;
    const bool fits = query[0] == key[0] && key[0] == value[0] && key[1] == value[1] &&
                      query[3] == key[3] && key[2] == value[2] &&
                      (query[1] == key[1] || (key[1] > 0 && query[1] % key[1] == 0));
    if (!fits) return std::nullopt;
    const double pairs =
        elements({query[0], query[1], query[2]}) * static_cast<double>(key[2]);  // of all heads
    const double scores = 2 * pairs * static_cast<double>(query[3]);
    const double values = 2 * pairs * static_cast<double>(value[3]);
    const ProductType type = typeAt(inputs, first + 1);
    if (!backward) return OperatorFlops{scores + values, 0, type};
    return OperatorFlops{3 * scores + 2 * values, scores, type};
}

/// One for all dimensions, or one of each.
std::optional<std::int64_t> at(const Shape& list, std::size_t dimension) {
    if (list.size() == 1) return list[0];
    return dimension < list.size() ? std::optional(list[dimension]) : std::nullopt;
}

/// Positions of the output of a convolution that is not transposed.
std::optional<double> positions(const Shape& input, const Shape& weight,
                                const std::vector<Shape>& lists) {
    double all = 1;
    for (std::size_t i = 2; i < input.size(); ++i) {
        const auto stride = at(lists[0], i - 2), padding = at(lists[1], i - 2),
                   dilation = at(lists[2], i - 2);
        if (!stride || !padding || !dilation || *stride <= 0 || *padding < 0 || *dilation <= 0)
            return std::nullopt;
        if (*padding >= kLargest || *dilation >= kLargest) return std::nullopt;
        const double covered = static_cast<double>(*dilation) * static_cast<double>(weight[i] - 1);
        const double room =
            static_cast<double>(input[i]) + 2 * static_cast<double>(*padding) - covered - 1;
        if (room < 0) return std::nullopt;
        const std::int64_t places = static_cast<std::int64_t>(room) / *stride + 1;
        all *= static_cast<double>(places);
    }
    return all;
}

bool isFlag(const Shape& list) {
    return list.size() == 1 && (list[0] == 0 || list[0] == 1);
}

std::optional<OperatorFlops> convolution(const OperatorInputs& inputs) {
    constexpr std::size_t kLists = 6;  // stride, padding, dilation, transposed, padding, groups
    if (!has(inputs, 2) || inputs.lists.size() < kLists || !isFlag(inputs.lists[3]))
        return std::nullopt;
    const Shape& input = inputs.shapes[0];
    const Shape& weight = inputs.shapes[1];
    if (input.size() < 3 || weight.size() != input.size()) return std::nullopt;
    const bool transposed = inputs.lists[3][0] == 1;
    const auto places =
        transposed ? std::optional(elements(input, 2)) : positions(input, weight, inputs.lists);
    if (!places) return std::nullopt;
    return OperatorFlops{2 * static_cast<double>(input[0]) * *places * elements(weight), 0,
                         typeAt(inputs, 1)};
}

/// Of the gradient of the output, the input and the weight: one of each size of the input moves
/// over as many places as forward, whichever gradient it is for.
std::optional<OperatorFlops> convolutionBackward(const OperatorInputs& inputs) {
    constexpr std::size_t kLists = 7;  // forward's, and the mask; the bias's sizes may come first
    const auto& lists = inputs.lists;
    if (!has(inputs, 3) || lists.size() < kLists || lists.back().size() != 3) return std::nullopt;
    const Shape& transposed = lists[lists.size() - 4];
    const Shape& gradient = inputs.shapes[0];
    const Shape& input = inputs.shapes[1];
    const Shape& weight = inputs.shapes[2];
    const bool fits = input.size() >= 3 && gradient.size() == input.size() &&
                      weight.size() == input.size() && isFlag(transposed);
    if (!fits) return std::nullopt;
    const double forward = 2 * static_cast<double>(input[0]) *
                           elements(transposed[0] == 1 ? input : gradient, 2) * elements(weight);
    const int asked = (lists.back()[0] != 0) + (lists.back()[1] != 0);
    return OperatorFlops{asked * forward, 0, typeAt(inputs, 2)};
}

}  // namespace

FlopRule flopRuleOf(std::string_view name) {
    if (isIn(name, kCompiledNodes)) return FlopRule::kCompiled;
    if (isIn(name, kConvolutions) || name == kConvolutionBackward || attentionOf(name) != nullptr)
        return FlopRule::kCounted;
    if (isIn(name, kUnknowns)) return FlopRule::kUnknown;
    return isProduct(name) ? FlopRule::kCounted : FlopRule::kNone;
}

std::optional<OperatorFlops> flopsOf(std::string_view name, const OperatorInputs& inputs) {
    if (isIn(name, kConvolutions)) return convolution(inputs);
    if (name == kConvolutionBackward) return convolutionBackward(inputs);
    if (const Attention* found = attentionOf(name)) return attention(inputs, found->backward);
    const auto product = maybeEmptyProductOf(name, inputs.shapes, inputs.types);
    if (!product) return std::nullopt;
    const auto flops = flopsOf(*product);
    if (!flops) return std::nullopt;
    return OperatorFlops{*flops, 0, product->type};
}

void ThreadFlops::addNode(const SpanEvent& span) {
    m_backward = std::max(m_backward, span.end());
}

void ThreadFlops::add(const SpanEvent& span, const std::optional<OperatorFlops>& flops) {
    m_until = span.end();
    if (!flops) {
        ++m_sum.unknown;
        return;
    }
    ++m_sum.operators;
    if (span.phase == Phase::kOptimizer || span.phase == Phase::kData) {
        m_sum.other += flops->all;
        return;
    }
    m_sum.byType[static_cast<std::size_t>(flops->type)] += flops->all;
    if (span.phase != Phase::kBackward && span.start >= m_backward) {
        m_sum.forward += flops->all;
        return;
    }
    m_sum.backward += flops->all;
    // A number of autograd's (from 1 on) is of an operator that it keeps a node of: it is computed
    // forward, within the backward pass.
    const bool recomputed = span.phase == Phase::kBackward && span.correlation > 0;
    m_sum.again += recomputed ? flops->all : flops->again;
}

}  // namespace shardscope::analysis
