// GPT-2's names and shapes of tensors in safetensors files, and weights in and out by them.
//
// GPT-2 (huggingface.co/openai-community/gpt2, model.safetensors) keeps the matrices of linear
// layers as (in, out) and has biases; this model keeps (out, in) and has none: exported biases
// are zero, and a file whose biases are not zero is refused. GPT-2 computes GELU by its tanh
// approximation, this model exactly; the file's metadata say so.
#pragma once

#include "engine/checkpoint/checkpoint.h"
#include "engine/run/config/run_config.h"
#include "storage/model/result.h"

#include <string>
#include <vector>

namespace shardscope::checkpoint {

/// Writes the parameters of `checkpoint` to `path` (kUsage when the model has no GPT-2 form:
/// rmsnorm, rope, swiglu or a head of its own).
Result<void> exportGpt2(const Checkpoint& checkpoint, const std::string& path);

/// Parameters of a file with GPT-2's names (with or without "transformer.") or this program's own.
class Weights {
public:
    static Result<Weights> open(const std::string& path, const run::ModelConfig& model);

    /// A parameter whole, by this program's name. Errors name the tensor and what is wrong.
    [[nodiscard]] Result<std::vector<float>> read(const std::string& parameter,
                                                  const std::vector<std::int64_t>& shape) const;

private:
    Result<void> requireZeroBiases(const run::ModelConfig& model) const;
    [[nodiscard]] const TensorInfo* find(const std::string& name) const;

    std::shared_ptr<const SafetensorsFile> m_file;
};

}  // namespace shardscope::checkpoint
