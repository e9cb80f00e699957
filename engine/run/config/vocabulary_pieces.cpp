#include "engine/run/config/vocabulary_pieces.h"

#include "engine/run/config/model_tensors.h"

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
        count = divideUp(m.vocabulary * m.hidden, most);
        if (count == 1 && m.tieHead) return {};
    }
    const std::int64_t rows = divideUp(m.vocabulary, count);
    return {divideUp(m.vocabulary, rows), rows};
}

}  // namespace shardscope::run
