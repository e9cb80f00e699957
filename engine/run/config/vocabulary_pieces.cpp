#include "engine/run/config/vocabulary_pieces.h"

#include "engine/run/config/model_tensors.h"

#include <algorithm>

namespace shardscope::run {
namespace {

constexpr double kLargestUnit = 1.25;  // blocks; finer cuts cost more gathers than they save

std::int64_t countOf(const std::vector<ModelTensor>& tensors) {
    std::int64_t count = 0;
    for (const ModelTensor& tensor : tensors) count += tensor.count();
    return count;
}

std::int64_t divideUp(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}

/// Rows are a piece's logits: aligned, unless fewer pieces come of it than were asked for.
VocabularyPieces cut(std::int64_t vocabulary, std::int64_t count) {
    const std::int64_t rows = divideUp(vocabulary, count), aligned = alignedColumns(rows);
    const std::int64_t pieces = divideUp(vocabulary, rows);
    return {pieces, divideUp(vocabulary, aligned) == pieces ? aligned : rows};
}

/// As many as none has more than `most` parameters with.
std::int64_t piecesOfAtMost(std::int64_t most, const ModelConfig& m) {
    const std::int64_t rows = std::max<std::int64_t>(1, most / m.hidden);
    const std::int64_t aligned = rows - rows % kAlignedColumns;
    return divideUp(m.vocabulary, aligned > 0 ? aligned : rows);
}

}  // namespace

bool mayCutVocabulary(const RunConfig& config) {
    const bool shards = config.strategy == Strategy::kZero3 || config.strategy == Strategy::kHsdp;
    return shards && config.reshardAfterForward && !config.keepGathered && !config.keepGradients;
}

VocabularyPieces vocabularyPieces(const RunConfig& config) {
    const ModelConfig& m = config.model;
    std::int64_t count = config.vocabularyPieces;
    if (count == 1 || !mayCutVocabulary(config)) return {};
    if (count == 0) {
        const auto most = static_cast<std::int64_t>(
            kLargestUnit * static_cast<double>(countOf(blockTensors(m, 0))));
        if (countOf(rootTensors(m)) <= most) return {};
        count = piecesOfAtMost(most, m);
        if (count == 1 && m.tieHead) return {};
    }
    return cut(m.vocabulary, count);
}

}  // namespace shardscope::run
