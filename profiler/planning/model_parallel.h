// What a rank holds and sends where a model itself is divided: by tensors, sequences and stages of
// layers, and their products with data parallelism. As theory only: the engine divides by data and
// state (ZeRO). Pure functions.
//
// Symbols: s context, b sequences of a micro-batch, h hidden size, a heads, L layers, V vocabulary,
// F inner width; t, p and d ranks that divide tensors, layers and data; m micro-batches of a step.
// Sources: Megatron-LM (Shoeybi et al., arXiv 1909.08053) for tensors; Narayanan et al., arXiv
// 2104.04473, section 2.2 for stages and their bubble; Korthikanti et al., arXiv 2205.05198,
// section 4 for activations and sequences.
#pragma once

#include "engine/run/config/run_config.h"
#include "profiler/planning/known_models.h"
#include "profiler/planning/state_bytes.h"
#include "storage/model/units.h"
#include "storage/model/words.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::planning {

/// What is kept of a layer for its backward.
enum class Kept : std::uint8_t { kAll, kNoScores, kInput };
struct KeptWords {
    Kept value;
    const char* word;
    const char* definition;
};
constexpr auto wordsOf(Kept) {
    return wordList<KeptWords>(
        {{Kept::kAll, "all", "What every operator needs, scores of attention too."},
         {Kept::kNoScores, "no-scores",
          "FlashAttention, or scores computed again in backward: nothing that grows with the "
          "square of the context."},
         {Kept::kInput, "input", "A layer's input only; its forward runs again in backward."}});
}

struct Division {
    std::int64_t tensor = 1;    ///< t
    std::int64_t pipeline = 1;  ///< p
    std::int64_t data = 1;      ///< d
    bool sequence = false;      ///< norms and dropout by sequence, over the t ranks too
    [[nodiscard]] std::int64_t ranks() const { return tensor * pipeline * data; }
    friend bool operator==(const Division&, const Division&) = default;
};

struct DividedRun {
    KnownModel model;
    double parameters = 0;          ///< 0: parameterCount(model)
    std::int64_t microBatch = 1;    ///< b
    std::int64_t microBatches = 8;  ///< m, of a rank's share of the data
    Kept kept = Kept::kNoScores;
    bool dropout = false;  ///< keeps masks of a byte an element
    StateBytes state = kMixedAdam;
    double elementBytes = 2;  ///< of an activation
};

/// The same of a model that this engine trains.
[[nodiscard]] DividedRun dividedRun(const run::RunConfig& config);

/// Of one layer and token, undivided. Of two bytes each, with all kept, dropout, as many heads of
/// keys as of queries and F = 4 h it is the paper's h (34 + 5 a s / h).
struct LayerActivations {
    double divided = 0;  ///< what tensor parallelism divides
    double whole = 0;    ///< inputs of products, norms and masks: sequence parallelism divides it
    [[nodiscard]] double all() const { return divided + whole; }
};
[[nodiscard]] LayerActivations layerActivations(const DividedRun& run);

struct DividedPlan {
    Division division;
    std::string name;            ///< "tensor 8 x pipeline 2"
    double stateBytes = 0;       ///< of the first or last stage, which also holds a table
    double activationBytes = 0;  ///< of the first stage, with min(m, p) micro-batches on their way
    /// Sent by a rank in a step.
    double tensorTraffic = 0, pipelineTraffic = 0, dataTraffic = 0;
    double bubble = 0;  ///< of the step: (p - 1) / (m + p - 1)
    [[nodiscard]] double bytes() const { return stateBytes + activationBytes; }
    [[nodiscard]] double traffic() const { return tensorTraffic + pipelineTraffic + dataTraffic; }
};

/// The optimizer's state is divided over the ranks of data parallelism as well (ZeRO-1).
///   state       N' (p + g + o / d), N' = (L l) / (t p) + table / t, l parameters of a layer
///   activations (divided / t + whole / (t with sequence, else 1)) s b L / p min(m, p), and of one
///               stage the head's and embedding's 4 s b h (1 + V / h) / t; where inputs are kept
///               alone, one layer in full
///   sent        tensors: 4 all-reduces of 2 s b h bytes a layer and micro-batch, 6 where layers
///   are
///               computed again; stages: 2 s b h bytes forward and as much backward; data:
///               gradients and parameters of N' by rings
[[nodiscard]] DividedPlan planDivision(const DividedRun& run, const Division& division);

/// What keeps a model from being divided so: a sentence; empty: nothing does.
[[nodiscard]] std::string whyIndivisible(const KnownModel& model, const Division& division);

/// Divisions over `ranks`, of which at most `ranksOnHost` may divide tensors (their all-reduces
/// stand in the way of every layer): by tensors, tensors with sequences, stages, and tensors with
/// stages with as little of both as `memory` allows. Only those that are possible, without twins.
[[nodiscard]] std::vector<DividedPlan> planDivisions(const DividedRun& run, std::int64_t ranks,
                                                     std::int64_t ranksOnHost,
                                                     std::optional<Bytes> memory);

}  // namespace shardscope::planning
