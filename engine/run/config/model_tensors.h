// The parameters of a model by unit: names, shapes and kinds. The one table that the model, the
// theory of counts and memory, and checkpoints agree on. Torch-free, pure functions.
//
// Names are those of nanoGPT with `gate` and `head` added; linear weights are (out, in).
#pragma once

#include "engine/run/config/run_config.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope::run {

/// What weight decay may tell apart. A tied token table is an embedding.
enum class ParameterGroup : std::uint8_t { kMatrix = 1, kEmbedding = 2, kVector = 3 };

/// How a tensor is divided over the ranks of a tensor group (Shoeybi et al., arXiv 1909.08053).
enum class Division : std::uint8_t {
    kNone = 1,     ///< whole on each
    kRows = 2,     ///< outputs of a linear layer, tokens of a table
    kHeads = 3,    ///< rows of queries, of keys and of values, each by heads
    kColumns = 4,  ///< inputs of a linear layer
};

/// Which part of divided tensors a rank has.
struct TensorPart {
    std::int64_t index = 0;
    std::int64_t of = 1;
};

/// A tensor, or a piece of one: some columns of some rows, in each of `rowGroups` equal parts of
/// its rows.
struct ModelTensor {
    std::string name;
    std::vector<std::int64_t> shape;
    ParameterGroup group = ParameterGroup::kMatrix;
    std::int64_t firstRow = 0;   ///< of a piece: where it begins in the tensor of that name
    std::int64_t wholeRows = 0;  ///< of that tensor; 0: these are all
    std::int64_t rowGroups = 1;
    std::int64_t firstColumn = 0;
    std::int64_t wholeColumns = 0;  ///< 0: these are all
    Division division = Division::kNone;

    [[nodiscard]] std::int64_t count() const;
    friend bool operator==(const ModelTensor&, const ModelTensor&) = default;
};

/// Embeddings, final norm and, when it is not tied, the head. Matrices, then embeddings, then
/// vectors: head.weight (V, C), wte.weight (V, C), wpe.weight (T, C), ln_f.weight, ln_f.bias (C).
[[nodiscard]] std::vector<ModelTensor> rootTensors(const ModelConfig& model);

/// Of block `index`: qkv (3C, C), proj (C, C), gate (F, C), fc (F, C), out (C, F), then ln1 and
/// ln2, each weight and bias (C); no gate with gelu, no bias with rmsnorm.
[[nodiscard]] std::vector<ModelTensor> blockTensors(const ModelConfig& model, std::int64_t index);

/// What is gathered and released together.
struct ModelUnit {
    enum class Part : std::uint8_t { kRoot, kTokens, kBlock, kHead };
    Part part = Part::kRoot;
    std::int64_t index = 0;  ///< of the block or piece
    std::vector<ModelTensor> tensors;
    [[nodiscard]] std::int64_t count() const;
};

/// All units in the order in which forward first needs them: the root, pieces of the token table,
/// blocks, pieces of a head of its own. Without pieces (see below) the root is
/// all of rootTensors(). Of divided tensors the part of one rank; of the first of its tensor group,
/// which has most, where none is named.
[[nodiscard]] std::vector<ModelUnit> modelUnits(const RunConfig& config, TensorPart part);
[[nodiscard]] std::vector<ModelUnit> modelUnits(const RunConfig& config);

// How token table and head, the tensors over the vocabulary, are cut into units of their own.
//
// Whole, they are gathered at once and their gradient lies there whole: more than a block where the
// vocabulary is large, and so the peak of ZeRO-3's memory. Cut by rows, each piece is gathered for
// itself; the softmax then needs two passes over the head (engine/training/outer_layers.h).
// Pure functions, torch-free.

struct VocabularyPieces {
    std::int64_t count = 0;  ///< of token table and head each; 0: they are part of the root
    std::int64_t rows = 0;   ///< of every piece but the last, which may have fewer
};

/// A GPU's products are fast where logits come in multiples of it.
inline constexpr std::int64_t kAlignedColumns = 64;
[[nodiscard]] constexpr std::int64_t alignedColumns(std::int64_t columns) {
    return (columns + kAlignedColumns - 1) / kAlignedColumns * kAlignedColumns;
}

/// Whether the schedule gathers and reduces unit by unit, so that smaller units hold less.
[[nodiscard]] bool mayCutVocabulary(const RunConfig& config);

/// As asked for, or where the root has more than 1.25 times the parameters of a block, as many as
/// none exceeds that with; of aligned rows where that takes no more pieces. A tied table is not set
/// apart for one piece: its gradient would be reduced twice for nothing. Of the first, largest part
/// where layers are divided; the last rank of a tensor group may have fewer pieces.
[[nodiscard]] VocabularyPieces vocabularyPieces(const RunConfig& config);

}  // namespace shardscope::run
