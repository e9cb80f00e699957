// How token table and head, the tensors over the vocabulary, are cut into units of their own.
//
// Whole, they are gathered at once and their gradient lies there whole: more than a block where the
// vocabulary is large, and so the peak of ZeRO-3's memory. Cut by rows, each piece is gathered for
// itself; the softmax then needs two passes over the head (engine/training/outer_layers.h).
// Pure functions, torch-free.
#pragma once

#include "engine/run/config/run_config.h"

#include <cstdint>

namespace shardscope::run {

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
/// apart for one piece: its gradient would be reduced twice for nothing.
[[nodiscard]] VocabularyPieces vocabularyPieces(const RunConfig& config);

}  // namespace shardscope::run
