// Batches of training data: bytes or encoded text, token files, or random tokens.
//
// The training part is cut into windows of `context` tokens, each with one more as the last
// target. In an epoch every window is used exactly once over all ranks and micro-steps, in an
// order chosen by (seed, epoch). Which window a row gets follows from its place in the run,
//
//   place = ((step * accumulate + microStep) * ranks + rank) * rows + row,
//
// so that the order is the same for any number of ranks with the same accumulate * ranks * rows,
// a run resumes at any step, and no rank needs to know what another read. The up to context
// tokens that fill no window are left out at either end, how many at which changes by epoch.
// Random tokens follow from (seed, place) likewise and have no epochs.
#pragma once

#include "engine/run/config/run_config.h"
#include "engine/tokens/corpus.h"
#include "storage/model/result.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace shardscope::data {

struct Batch {
    at::Tensor tokens;   ///< (B, T) int64
    at::Tensor targets;  ///< (N) int64, tokens shifted by one
};

/// The same without tensors: what another thread may prepare.
struct HostBatch {
    std::int64_t rows = 0;
    std::vector<std::int64_t> tokens;   ///< B * T
    std::vector<std::int64_t> targets;  ///< B * T
};

[[nodiscard]] Batch toBatch(const HostBatch& host);

struct BatchPlace {
    std::uint64_t seed = 0;
    std::int64_t step = 0;
    std::int64_t microStep = 0;
    std::int64_t rank = 0;
    std::int64_t rows = 0;
    std::int64_t context = 0;
    std::int64_t ranks = 1;
    std::int64_t accumulate = 1;
};

/// Immutable; batches may be made on any thread.
class Dataset {
public:
    /// What the run's data, tokenizer, held-back share and vocabulary say. Errors as those of
    /// tokens::loadCorpus().
    static Result<Dataset> load(const run::RunConfig& config);

    /// Throws std::out_of_range with a sentence when a token of a file too large to be looked
    /// at while loading is past the vocabulary.
    [[nodiscard]] HostBatch trainingRows(const BatchPlace& place) const;
    [[nodiscard]] Batch training(const BatchPlace& place) const {
        return toBatch(trainingRows(place));
    }
    /// Evenly spread windows of the held-back part; the same at every evaluation. Throws
    /// likewise.
    [[nodiscard]] Batch validation(const BatchPlace& place, std::int64_t worldSize,
                                   std::int64_t batches) const;
    /// Both 0 for random tokens.
    [[nodiscard]] std::int64_t trainingTokens() const { return m_corpus.training.size(); }
    [[nodiscard]] std::int64_t validationTokens() const { return m_corpus.validation.size(); }
    /// Windows of an epoch; 0 for random tokens.
    [[nodiscard]] std::int64_t windows(std::int64_t context) const;

private:
    [[nodiscard]] std::int64_t windowStart(const BatchPlace& place, std::int64_t row) const;
    void readWindow(const tokens::TokenStream& from, std::int64_t start,
                    std::span<std::int64_t> into) const;
    void drawWindow(std::uint64_t key, std::span<std::int64_t> into) const;

    tokens::Corpus m_corpus;
    std::int64_t m_vocabulary = 0;
    bool m_synthetic = false;
};

// A pseudo-random order of the windows of a text, computed place by place: nothing is stored,
// so any rank can ask for any place at any step.

/// splitmix64 (Steele, Lea, Flood 2014): one step of a counter-based random stream.
[[nodiscard]] std::uint64_t mix(std::uint64_t x);

/// A permutation of [0, count), chosen by `key`: a Feistel network over the next power of four,
/// walked along its cycle until it comes to lie in range (Black, Rogaway 2002).
class WindowOrder {
public:
    WindowOrder(std::uint64_t count, std::uint64_t key);
    /// `place` below count.
    [[nodiscard]] std::uint64_t at(std::uint64_t place) const;

private:
    [[nodiscard]] std::uint64_t encrypt(std::uint64_t value) const;

    std::uint64_t m_count;
    std::uint64_t m_key;
    unsigned m_halfBits = 1;
};

}  // namespace shardscope::data
