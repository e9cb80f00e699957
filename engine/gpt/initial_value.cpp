#include "engine/gpt/gpt.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <cmath>

namespace shardscope::gpt {
namespace {

/// FNV-1a: ties a parameter's random stream to its name, not to the order of creation.
std::uint64_t hash(std::string_view text) {
    std::uint64_t value = 14695981039346656037ULL;
    for (char c : text) value = (value ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    return value;
}

}  // namespace

at::Tensor initialValue(const kernels::Parameter& parameter, const run::ModelConfig& config,
                        std::uint64_t seed) {
    const std::string_view name = parameter.name;
    if (!parameter.decays()) {
        return name.ends_with("weight") ? at::ones(parameter.shape) : at::zeros(parameter.shape);
    }
    double deviation = 0.02;
    if (name.ends_with("proj.weight") || name.ends_with("out.weight")) {
        deviation /= std::sqrt(2.0 * static_cast<double>(config.layers));
    }
    at::Tensor value = at::empty(parameter.wholeShape());
    value.normal_(0.0, deviation, at::detail::createCPUGenerator(seed ^ hash(name)));
    return value;
}

}  // namespace shardscope::gpt
