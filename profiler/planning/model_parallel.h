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
#include "profiler/planning/parameter_plan.h"
#include "storage/model/units.h"
#include "storage/model/words.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::planning {

// Models that others have published, by their shapes: to plan for, not to train, since the engine
// has neither biases in products nor grouped queries. Pure functions.
//
// Sources: GPT-2 (Radford et al. 2019, and the checkpoints' config.json: products have biases, the
// head is the token table); GPT-3 (Brown et al., arXiv 2005.14165, table 2.1); LLaMA (Touvron et
// al., arXiv 2302.13971, table 2) and LLaMA 2 (arXiv 2307.09288, table 1 and the checkpoint's
// params.json for 70B's 8 heads of keys and values).

struct KnownModel {
    std::string_view name;
    std::int64_t vocabulary = 0, context = 0, layers = 0, hidden = 0, heads = 0;
    std::int64_t keyValueHeads = 0;  ///< as many as heads, or fewer: grouped queries
    std::int64_t innerWidth = 0;     ///< of the feed-forward part
    bool gated = false;              ///< SwiGLU: three matrices instead of two
    bool biases = false;             ///< in products and norms
    bool positions = false;          ///< a table of them
    bool tiedHead = false;
};

[[nodiscard]] std::span<const KnownModel> knownModels();
/// Null: unknown.
[[nodiscard]] const KnownModel* findKnownModel(std::string_view name);

/// Embeddings, blocks, last norm, and the head where it has a matrix of its own.
[[nodiscard]] std::int64_t parameterCount(const KnownModel& model);

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

// The ways in which training is divided over ranks, for people who choose: what each divides, what
// it sends, when to take it, and a picture in plain characters. One home of these words.

enum class Parallelism : std::uint8_t {
    kData,
    kZero,
    kTensor,
    kSequence,
    kPipeline,
    kExpert,
};
struct ParallelismWords {
    Parallelism value;
    const char* word;
    const char* name;
    const char* divides;
    const char* sends;
    const char* when;
    const char* picture;  ///< of equally wide characters, lines end in \n
    const char* source;
    bool trained;  ///< by this engine; the others are planned for as theory
};
constexpr auto wordsOf(Parallelism) {
    return wordList<ParallelismWords>({
        {Parallelism::kData, "data", "Data parallel",
         "The batch: every rank holds the whole model and takes other sequences.",
         "All gradients once per step, by an all-reduce: 2 (W - 1) / W of their bytes.",
         "Where model, gradients and optimizer state fit on a device.",
         "  rank 0            rank 1\n"
         "  [ L1 L2 L3 L4 ]   [ L1 L2 L3 L4 ]   the same parameters\n"
         "    sequences 0-7     sequences 8-15  other data\n"
         "         \\---- sum of gradients ----/\n",
         "Li et al., arXiv 2006.15704", true},
        {Parallelism::kZero, "zero", "ZeRO, fully sharded data parallel",
         "The batch, and what each rank keeps: optimizer state (1), gradients too (2), parameters "
         "too (3).",
         "1 and 2: as much as data parallel. 3: half as much again, since parameters are gathered "
         "for forward and for backward.",
         "Where the state does not fit whole. Compute hides the gathers where a layer has enough "
         "tokens.",
         "  rank 0            rank 1\n"
         "  [ l1 l2 l3 l4 ]   [ L1 L2 L3 L4 ]   halves of each layer are kept\n"
         "        \\-- gather l2+L2, use, drop --/\n"
         "    sequences 0-7     sequences 8-15\n",
         "Rajbhandari et al., arXiv 1910.02054; Zhao et al., arXiv 2304.11277", true},
        {Parallelism::kTensor, "tensor", "Tensor parallel",
         "Every matrix product: a rank has some of the heads and some of the inner width.",
         "4 all-reduces of the activations a layer and micro-batch, 2 forward and 2 backward, "
         "which "
         "nothing hides.",
         "Within a host with fast links, where one layer is too large or too slow for one device.",
         "              x\n"
         "        /           \\\n"
         "  rank 0             rank 1\n"
         "  heads 0-7          heads 8-15       the same tokens\n"
         "        \\           /\n"
         "         sum, next layer\n",
         "Shoeybi et al., arXiv 1909.08053", false},
        {Parallelism::kSequence, "sequence", "Sequence parallel",
         "With tensor parallel, what it leaves whole: norms, dropout and inputs, by tokens.",
         "As much as tensor parallel: each all-reduce becomes a reduce-scatter and a gather.",
         "Always with tensor parallel: activations shrink at no cost.",
         "  tokens 0-511   tokens 512-1023      norms, each its tokens\n"
         "        \\-- gather --/\n"
         "  heads 0-7      heads 8-15           attention, each its heads\n"
         "     /-- reduce-scatter --\\\n"
         "  tokens 0-511   tokens 512-1023\n",
         "Korthikanti et al., arXiv 2205.05198, section 4.2", false},
        {Parallelism::kPipeline, "pipeline", "Pipeline parallel",
         "The layers: a rank has some that follow each other, a stage; micro-batches pass through.",
         "Activations from stage to stage and their gradients back: little, and to one neighbour.",
         "Across hosts, where a model does not fit otherwise and a batch has many micro-batches: "
         "(p - 1) of (m + p - 1) slots are empty.",
         "  stage 0  F1 F2 F3 .  .  .  .  B1 B2 B3   F forward, B backward\n"
         "  stage 1  .  F1 F2 F3 .  .  B1 B2 B3 .    . empty: the bubble\n"
         "  stage 2  .  .  F1 F2 F3 B1 B2 B3 .  .    1 to 3: micro-batches\n",
         "Narayanan et al., arXiv 2104.04473, section 2.2", false},
        {Parallelism::kExpert, "expert", "Expert parallel",
         "The feed-forward parts of a mixture of experts: a rank has some experts, tokens go to "
         "theirs.",
         "Tokens to their experts and back: 2 all-to-all exchanges a layer, forward and backward.",
         "For mixtures of experts only.",
         "  rank 0   tokens a b c      rank 1   tokens d e f\n"
         "        \\------ each to its expert ------/\n"
         "  expert 0   b d f           expert 1   a c e\n"
         "        \\---------- and back -----------/\n",
         "Lepikhin et al., arXiv 2006.16668", false},
    });
}

}  // namespace shardscope::planning
