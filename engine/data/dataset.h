// Training text as tokens: bytes of a file or of all text files below a folder, the last part
// held back for validation. Batches are a pure function of (seed, step, micro-step, rank).
#pragma once

#include "storage/model/result.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope::data {

struct Batch {
    at::Tensor tokens;   ///< (B, T) int64
    at::Tensor targets;  ///< (N) int64, tokens shifted by one
};

struct BatchPlace {
    std::uint64_t seed = 0;
    std::int64_t step = 0;
    std::int64_t microStep = 0;
    std::int64_t rank = 0;
    std::int64_t rows = 0;
    std::int64_t context = 0;
};

class Dataset {
public:
    /// Errors (kUnreadable): missing, empty, too short for `context`, or binary (NUL bytes in
    /// the first 64 KiB of a file; in a folder such files are passed over).
    static Result<Dataset> load(const std::string& path, double heldBack, std::int64_t context);

    [[nodiscard]] Batch training(const BatchPlace& place) const;
    /// Evenly spread windows of the held-back part; the same at every evaluation.
    [[nodiscard]] Batch validation(const BatchPlace& place, std::int64_t worldSize,
                                   std::int64_t batches) const;
    [[nodiscard]] std::int64_t trainingTokens() const { return m_trainingEnd; }
    [[nodiscard]] std::int64_t validationTokens() const;

private:
    std::vector<std::uint8_t> m_tokens;
    std::int64_t m_trainingEnd = 0;
};

}  // namespace shardscope::data
