#include "engine/control/model_tensors.h"

#include <fmt/format.h>

namespace shardscope::control {
namespace {

void addNorm(std::vector<ModelTensor>& tensors, const ModelConfig& m, const std::string& name) {
    tensors.push_back({name + ".weight", {m.hidden}, ParameterGroup::kVector});
    if (m.norm == Norm::kLayerNorm) {
        tensors.push_back({name + ".bias", {m.hidden}, ParameterGroup::kVector});
    }
}

}  // namespace

std::int64_t ModelTensor::count() const {
    std::int64_t n = 1;
    for (const std::int64_t extent : shape) n *= extent;
    return n;
}

std::vector<ModelTensor> rootTensors(const ModelConfig& m) {
    std::vector<ModelTensor> tensors;
    if (!m.tieHead) tensors.push_back({"head.weight", {m.vocabulary, m.hidden}});
    tensors.push_back({"wte.weight", {m.vocabulary, m.hidden}, ParameterGroup::kEmbedding});
    if (m.position == Position::kLearned) {
        tensors.push_back({"wpe.weight", {m.context, m.hidden}, ParameterGroup::kEmbedding});
    }
    addNorm(tensors, m, "ln_f");
    return tensors;
}

std::vector<ModelTensor> blockTensors(const ModelConfig& m, std::int64_t index) {
    const std::string prefix = fmt::format("blocks.{}.", index);
    const std::int64_t inner = m.innerWidth();
    std::vector<ModelTensor> tensors{{prefix + "qkv.weight", {3 * m.hidden, m.hidden}},
                                     {prefix + "proj.weight", {m.hidden, m.hidden}}};
    if (m.ffn == FeedForward::kSwiglu) {
        tensors.push_back({prefix + "gate.weight", {inner, m.hidden}});
    }
    tensors.push_back({prefix + "fc.weight", {inner, m.hidden}});
    tensors.push_back({prefix + "out.weight", {m.hidden, inner}});
    addNorm(tensors, m, prefix + "ln1");
    addNorm(tensors, m, prefix + "ln2");
    return tensors;
}

}  // namespace shardscope::control
