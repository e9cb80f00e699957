#include "engine/checkpoint/gpt2_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <optional>

namespace shardscope::checkpoint {
namespace {

struct LeafName {
    const char* ours;
    const char* theirs;
    bool transposed;
};
constexpr LeafName kLeaves[] = {
    {"ln1.weight", "ln_1.weight", false},       {"ln1.bias", "ln_1.bias", false},
    {"ln2.weight", "ln_2.weight", false},       {"ln2.bias", "ln_2.bias", false},
    {"qkv.weight", "attn.c_attn.weight", true}, {"proj.weight", "attn.c_proj.weight", true},
    {"fc.weight", "mlp.c_fc.weight", true},     {"out.weight", "mlp.c_proj.weight", true}};

struct Gpt2Name {
    std::string name;
    bool transposed = false;
};

/// Root parameters have the same names in both.
Gpt2Name gpt2Name(const std::string& parameter) {
    constexpr std::string_view kBlocks = "blocks.";
    if (!parameter.starts_with(kBlocks)) return {parameter, false};
    const std::size_t dot = parameter.find('.', kBlocks.size());
    const std::string block = parameter.substr(kBlocks.size(), dot - kBlocks.size());
    for (const LeafName& leaf : kLeaves)
        if (parameter.compare(dot + 1, std::string::npos, leaf.ours) == 0)
            return {fmt::format("h.{}.{}", block, leaf.theirs), leaf.transposed};
    return {parameter, false};
}

/// (rows, columns) -> (columns, rows)
std::vector<float> transpose(const std::vector<float>& values, std::int64_t rows,
                             std::int64_t columns) {
    std::vector<float> turned(values.size());
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c)
            turned[static_cast<std::size_t>(c * rows + r)] =
                values[static_cast<std::size_t>(r * columns + c)];
    return turned;
}

std::int64_t countOf(const std::vector<std::int64_t>& shape) {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    return count;
}

std::string biasOf(const std::string& weight) {
    constexpr std::string_view kWeight = "weight";
    return weight.substr(0, weight.size() - kWeight.size()).append("bias");
}

std::optional<std::string> notGpt2(const run::ModelConfig& model) {
    if (model.norm != run::Norm::kLayerNorm) return "--norm rmsnorm";
    if (model.position != run::Position::kLearned) return "--position rope";
    if (model.ffn != run::FeedForward::kGelu) return "--ffn swiglu";
    if (!model.tieHead) return "a head of its own";
    return std::nullopt;
}

}  // namespace

Result<void> exportGpt2(const Checkpoint& checkpoint, const std::string& path) {
    const Manifest& manifest = checkpoint.manifest();
    if (const auto obstacle = notGpt2(manifest.config.model))
        return failure(ErrorCode::kUsage, fmt::format("{} has no GPT-2 form: its model has {}",
                                                      checkpoint.path(), *obstacle));
    std::deque<std::vector<float>> kept;  // stays where it is
    std::vector<TensorToWrite> tensors;
    const auto add = [&](std::string name, std::vector<std::int64_t> shape,
                         std::vector<float> values) {
        kept.push_back(std::move(values));
        tensors.push_back({std::move(name), std::move(shape), kept.back()});
    };
    for (const auto& [parameter, shape] : manifest.parameters) {
        std::vector<float> values(static_cast<std::size_t>(countOf(shape)));
        auto read = checkpoint.read(StateKind::kParameter, parameter, 0, values);
        if (!read) return read;
        const Gpt2Name gpt2 = gpt2Name(parameter);
        if (!gpt2.transposed) {
            add(gpt2.name, shape, std::move(values));
            continue;
        }
        add(gpt2.name, {shape[1], shape[0]}, transpose(values, shape[0], shape[1]));
        add(biasOf(gpt2.name), {shape[0]}, std::vector<float>(static_cast<std::size_t>(shape[0])));
    }
    return writeSafetensors(path, tensors,
                            {{"format", "pt"},
                             {"made_with", "Shardscope"},
                             {"n_head", std::to_string(manifest.config.model.heads)},
                             {"activation", "gelu (exact)"}});
}

Result<Weights> Weights::open(const std::string& path, const run::ModelConfig& model) {
    auto file = SafetensorsFile::open(path);
    if (!file) return failure(file);
    Weights weights;
    weights.m_file = std::move(*file);
    if (auto zero = weights.requireZeroBiases(model); !zero) return failure(zero);
    return weights;
}

const TensorInfo* Weights::find(const std::string& name) const {
    if (const TensorInfo* tensor = m_file->find(name)) return tensor;
    return m_file->find(fmt::format("transformer.{}", name));
}

Result<void> Weights::requireZeroBiases(const run::ModelConfig& model) const {
    for (std::int64_t block = 0; block < model.layers; ++block) {
        for (const LeafName& leaf : kLeaves) {
            if (!leaf.transposed) continue;
            const TensorInfo* bias = find(biasOf(fmt::format("h.{}.{}", block, leaf.theirs)));
            if (bias == nullptr) continue;
            const auto values = m_file->floats(*bias);
            if (!values) return failure(values);
            if (std::all_of(values->begin(), values->end(), [](float v) { return v == 0; }))
                continue;
            return failure(ErrorCode::kUnreadable,
                           fmt::format("{} has biases in '{}', and this model's linear layers "
                                       "have none; only weights without them can be read",
                                       m_file->path(), bias->name));
        }
    }
    return {};
}

Result<std::vector<float>> Weights::read(const std::string& parameter,
                                         const std::vector<std::int64_t>& shape) const {
    Gpt2Name name{parameter, false};
    const TensorInfo* tensor = find(parameter);
    if (tensor == nullptr) {
        name = gpt2Name(parameter);
        tensor = find(name.name);
    }
    if (tensor == nullptr)
        return failure(ErrorCode::kUnreadable,
                       fmt::format("{} holds neither '{}' nor '{}'", m_file->path(), parameter,
                                   gpt2Name(parameter).name));
    std::vector<std::int64_t> expected = shape;
    if (name.transposed) std::reverse(expected.begin(), expected.end());
    if (tensor->shape != expected)
        return failure(ErrorCode::kUnreadable,
                       fmt::format("'{}' in {} is ({}), this model needs ({}); choose the model "
                                   "that the weights are of",
                                   tensor->name, m_file->path(), fmt::join(tensor->shape, ", "),
                                   fmt::join(expected, ", ")));
    auto values = m_file->floats(*tensor);
    if (!values || !name.transposed) return values;
    return transpose(*values, expected[0], expected[1]);
}

}  // namespace shardscope::checkpoint
