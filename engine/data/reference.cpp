#include "engine/data/reference.h"

#include "engine/run/config/rank_layout.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace shardscope::data {
namespace {

using nlohmann::json;

Result<std::vector<char>> readBytes(const std::string& path, std::size_t expected) {
    std::ifstream in(path, std::ios::binary);
    std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
    if (!in || bytes.size() != expected) {
        return failure(
            ErrorCode::kUnreadable,
            fmt::format("reference file {} has {} bytes, reference.json implies {}; make "
                        "the folder again",
                        path, bytes.size(), expected));
    }
    return bytes;
}

Result<std::map<std::string, at::Tensor>> readTensors(const std::string& path, const json& table) {
    std::size_t total = 0;
    std::map<std::string, at::Tensor> tensors;
    for (const json& row : table) {
        const at::Tensor tensor = at::empty(row.at("shape").get<std::vector<std::int64_t>>());
        tensors.emplace(row.at("name").get<std::string>(), tensor);
        total += static_cast<std::size_t>(tensor.numel()) * sizeof(float);
    }
    auto bytes = readBytes(path, total);
    if (!bytes) return failure(bytes);
    for (const json& row : table) {
        const at::Tensor& tensor = tensors.at(row.at("name").get<std::string>());
        const auto offset = row.at("offset_bytes").get<std::size_t>();
        const auto size = static_cast<std::size_t>(tensor.numel()) * sizeof(float);
        if (offset > total || size > total - offset) {
            return failure(ErrorCode::kUnreadable,
                           fmt::format("{}: a tensor of reference.json lies outside it", path));
        }
        std::memcpy(tensor.mutable_data_ptr<float>(), bytes->data() + offset, size);
    }
    return tensors;
}

}  // namespace

Result<Reference> Reference::load(const std::string& folder) {
    const std::string path = (std::filesystem::path(folder) / "reference.json").string();
    std::ifstream in(path);
    if (!in) {
        return failure(ErrorCode::kUnreadable,
                       fmt::format("cannot read {}; give a reference folder", path));
    }
    try {
        const json document = json::parse(in);
        const json& config = document.at("config");
        const json& hyper = document.at("hyper");
        const json& layout = document.at("layout");
        Reference r;
        r.m_model = {"reference",         config.at("vocab"), config.at("context"),
                     config.at("layers"), config.at("heads"), config.at("hidden")};
        r.m_hyper.learningRate = hyper.at("lr");
        r.m_hyper.beta1 = hyper.at("beta1");
        r.m_hyper.beta2 = hyper.at("beta2");
        r.m_hyper.epsilon = hyper.at("eps");
        r.m_hyper.weightDecay = hyper.at("weight_decay");
        r.m_hyper.clip = hyper.at("clip");
        r.m_accumulate = layout.at("accumulate");
        r.m_globalBatch = layout.at("global_batch");
        for (const json& step : document.at("steps")) {
            r.m_steps.push_back({step.at("loss"), step.at("grad_norm")});
        }
        auto initial = readTensors(folder + "/weights.bin", document.at("tensors"));
        if (!initial) return failure(initial);
        auto after = readTensors(folder + "/weights_after.bin", document.at("tensors"));
        if (!after) return failure(after);
        r.m_initial = std::move(*initial);
        r.m_final = std::move(*after);
        const auto count =
            r.m_steps.size() *
            static_cast<std::size_t>(r.m_accumulate * r.m_globalBatch * (r.m_model.context + 1));
        auto tokens = readBytes(folder + "/tokens.bin", count * sizeof(std::uint16_t));
        if (!tokens) return failure(tokens);
        r.m_tokens.resize(count);
        std::memcpy(r.m_tokens.data(), tokens->data(), tokens->size());
        return r;
    } catch (const std::exception& error) {
        return failure(
            ErrorCode::kUnreadable,
            fmt::format("{} is not a reference this version understands: {}", path, error.what()));
    }
}

run::RunConfig Reference::apply(run::RunConfig config) const {
    config.model = m_model;
    config.steps = static_cast<std::int32_t>(m_steps.size());
    const std::int64_t parts = std::int64_t{config.accumulate} * run::replicasOf(config);
    config.batch = static_cast<std::int32_t>((m_accumulate * m_globalBatch + parts - 1) / parts);
    config.learningRate = m_hyper.learningRate;
    config.minimumLearningRate = m_hyper.learningRate;  // the reference's rate is constant
    config.warmupSteps = 0;
    config.beta1 = m_hyper.beta1;
    config.beta2 = m_hyper.beta2;
    config.epsilon = m_hyper.epsilon;
    config.weightDecay = m_hyper.weightDecay;
    config.clip = m_hyper.clip;
    config.evaluateEvery = 0;
    return config;
}

const at::Tensor& Reference::initial(const std::string& tensor) const {
    return m_initial.at(tensor);
}
const at::Tensor& Reference::final(const std::string& tensor) const {
    return m_final.at(tensor);
}

namespace {

struct Rows {
    std::int64_t first = 0;
    std::int64_t count = 0;
};

Rows partOf(Rows rows, Reference::Part part) {
    const std::int64_t each = rows.count / part.of;
    const std::int64_t more = rows.count % part.of;
    return {rows.first + part.index * each + std::min(part.index, more),
            each + (part.index < more ? 1 : 0)};
}

}  // namespace

Batch Reference::batch(std::int64_t step, Part microStep, Part rank) const {
    const std::int64_t all = m_accumulate * m_globalBatch;
    const auto [first, rows] = partOf(partOf({step * all, all}, microStep), rank);
    const std::int64_t context = m_model.context;
    Batch batch{at::empty({rows, context}, at::kLong), at::empty({rows * context}, at::kLong)};
    for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t at = (first + row) * (context + 1);
        const std::uint16_t* source = m_tokens.data() + at;
        std::int64_t* tokens = batch.tokens.mutable_data_ptr<std::int64_t>() + row * context;
        std::int64_t* targets = batch.targets.mutable_data_ptr<std::int64_t>() + row * context;
        for (std::int64_t t = 0; t < context; ++t) {
            tokens[t] = source[t];
            targets[t] = source[t + 1];
        }
    }
    return batch;
}

}  // namespace shardscope::data
