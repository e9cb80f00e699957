// A numeric reference folder: weights, tokens and what PyTorch computed from them
// (reference.json, weights.bin, weights_after.bin, tokens.bin; little-endian).
#pragma once

#include "engine/data/dataset.h"
#include "engine/run/config/run_config.h"
#include "storage/model/result.h"

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

namespace shardscope::data {

struct ReferenceStep {
    double loss = 0;
    double gradientNorm = 0;
};

class Reference {
public:
    static Result<Reference> load(const std::string& folder);

    /// `config` with the reference's model, hyper-parameters and number of steps; its micro-steps
    /// split the same rows whatever their number, and `batch` is the most that one takes.
    [[nodiscard]] run::RunConfig apply(run::RunConfig config) const;
    [[nodiscard]] const std::vector<ReferenceStep>& steps() const { return m_steps; }
    [[nodiscard]] const at::Tensor& initial(const std::string& tensor) const;
    [[nodiscard]] const at::Tensor& final(const std::string& tensor) const;

    struct Part {
        std::int64_t index = 0;
        std::int64_t of = 1;
    };
    /// The rows of a step split contiguously over micro-steps, then over ranks, the first parts
    /// taking one row more where it does not divide.
    [[nodiscard]] Batch batch(std::int64_t step, Part microStep, Part rank) const;
    /// Of one step, over all ranks and micro-steps.
    [[nodiscard]] std::int64_t stepTokens() const {
        return m_accumulate * m_globalBatch * m_model.context;
    }

private:
    run::ModelConfig m_model;
    run::RunConfig m_hyper;
    std::int64_t m_accumulate = 1;
    std::int64_t m_globalBatch = 1;
    std::vector<ReferenceStep> m_steps;
    std::map<std::string, at::Tensor> m_initial, m_final;
    std::vector<std::uint16_t> m_tokens;
};

}  // namespace shardscope::data
