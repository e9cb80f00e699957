// FLOPs of a step, from the shapes of its operators' inputs.
//
// A multiplication and an addition count as two. Of the operators below the outermost counts, never
// one within another: matrix products as roofline.h has them; attention in full, causal or not: the
// scores and their product with the values forward, five such products backward, of which the first
// computes the scores again; convolutions as 2 x batch x elements of the weight x positions of the
// output (transposed: of the input), and as many for each of the two gradients that are asked for.
// What else computes (norms, softmax, additions) does not count.
//
// Source: torch.utils.flop_counter.FlopCounterMode of PyTorch 2.11; docs/any_program.md says where
// the two differ. Pure.
#pragma once

#include "profiler/analysis/device/roofline.h"
#include "storage/model/events.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::analysis {

/// What a recording says of an operator's inputs.
struct OperatorInputs {
    std::vector<Shape> shapes;       ///< of tensors, in their order
    std::vector<std::string> types;  ///< may be fewer, or none
    /// Of a convolution, its other arguments: strides, padding, dilation, transposed and what
    /// follows; of its backward the mask last.
    std::vector<Shape> lists;
};

struct OperatorFlops {
    double all = 0;
    double again = 0;  ///< of them, attention's scores, which forward had computed already
    ProductType type = ProductType::kUnknown;
};

enum class FlopRule : std::uint8_t {
    kNone,      ///< it counts nothing, but what lies within it may
    kCounted,   ///< by its inputs
    kUnknown,   ///< it multiplies, and how much its inputs do not say here
    kCompiled,  ///< of a compiled graph, whose operators are not seen
};
[[nodiscard]] FlopRule flopRuleOf(std::string_view operatorName);
/// None: the shapes are not there, or not those of such an operator.
[[nodiscard]] std::optional<OperatorFlops> flopsOf(std::string_view operatorName,
                                                   const OperatorInputs& inputs);

/// Of a rank in a step.
struct StepFlops {
    RankId rank;
    StepIndex step = kNoStep;
    double forward = 0, backward = 0;
    double again = 0;  ///< of backward: what forward had computed already
    double other = 0;  ///< in the optimizer, or while data is loaded: in neither
    std::array<double, kAll<ProductType>.size()> byType{};  ///< of forward and backward
    std::int64_t operators = 0;                             ///< that count
    std::int64_t unknown = 0;                               ///< that multiply, and do not count
    bool compiled = false;                                  ///< parts of it are

    [[nodiscard]] double executed() const { return forward + backward; }
    [[nodiscard]] double needed() const { return forward + backward - again; }
    /// Nothing is missing.
    [[nodiscard]] bool isWhole() const { return operators > 0 && unknown == 0 && !compiled; }
};

/// Adds up the operators of one thread within one step, in the order of their starts, outer ones
/// before what is within them.
class ThreadFlops {
public:
    explicit ThreadFlops(StepFlops& sum) : m_sum(sum) {}
    /// Whether it lies within one that was added: it is not to be.
    [[nodiscard]] bool covers(const SpanEvent& span) const { return span.start < m_until; }
    void add(const SpanEvent& span, const std::optional<OperatorFlops>& flops);
    /// Of traces that do not say phases: a node of autograd.
    void addNode(const SpanEvent& span);

private:
    StepFlops& m_sum;
    Timestamp m_until{INT64_MIN};     ///< end of what was added
    Timestamp m_backward{INT64_MIN};  ///< end of the node
};

}  // namespace shardscope::analysis
