#include "engine/run/config/model_tensors.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardscope::run {
namespace {

void addNorm(std::vector<ModelTensor>& tensors, const ModelConfig& m, const std::string& name) {
    tensors.push_back({name + ".weight", {m.hidden}, ParameterGroup::kVector});
    if (m.norm == Norm::kLayerNorm) {
        tensors.push_back({name + ".bias", {m.hidden}, ParameterGroup::kVector});
    }
}

bool overVocabulary(const ModelTensor& tensor) {
    return tensor.name == "wte.weight" || tensor.name == "head.weight";
}

ModelUnit pieceOf(const ModelTensor& whole, ModelUnit::Part part, std::int64_t index,
                  const VocabularyPieces& pieces) {
    ModelTensor piece = whole;
    piece.firstRow = index * pieces.rows;
    piece.wholeRows = whole.shape[0];
    piece.shape[0] = std::min(pieces.rows, piece.wholeRows - piece.firstRow);
    return {part, index, {piece}};
}

/// The pieces of one tensor of the root; none when the model has no such tensor.
void addPieces(std::vector<ModelUnit>& units, const std::vector<ModelTensor>& root,
               std::string_view name, ModelUnit::Part part, const VocabularyPieces& pieces) {
    for (const ModelTensor& tensor : root) {
        if (tensor.name != name) continue;
        for (std::int64_t i = 0; i < pieces.count; ++i)
            units.push_back(pieceOf(tensor, part, i, pieces));
    }
}

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

std::int64_t ModelUnit::count() const {
    std::int64_t sum = 0;
    for (const ModelTensor& tensor : tensors) sum += tensor.count();
    return sum;
}

std::int64_t ModelTensor::count() const {
    std::int64_t n = 1;
    for (const std::int64_t extent : shape) n *= extent;
    return n;
}

std::vector<ModelTensor> rootTensors(const ModelConfig& m) {
    std::vector<ModelTensor> tensors;
    if (!m.tieHead) tensors.push_back({"head.weight", {m.vocabulary, m.hidden}});
    tensors.push_back({"wte.weight", {m.vocabulary, m.hidden}, ParameterGroup::kEmbedding});
    if (m.position == Position::kLearned) {
        tensors.push_back({"wpe.weight", {m.context, m.hidden}, ParameterGroup::kEmbedding});
    }
    addNorm(tensors, m, "ln_f");
    return tensors;
}

std::vector<ModelTensor> blockTensors(const ModelConfig& m, std::int64_t index) {
    const std::string prefix = fmt::format("blocks.{}.", index);
    const std::int64_t inner = m.innerWidth();
    std::vector<ModelTensor> tensors{{prefix + "qkv.weight", {3 * m.hidden, m.hidden}},
                                     {prefix + "proj.weight", {m.hidden, m.hidden}}};
    if (m.ffn == FeedForward::kSwiglu) {
        tensors.push_back({prefix + "gate.weight", {inner, m.hidden}});
    }
    tensors.push_back({prefix + "fc.weight", {inner, m.hidden}});
    tensors.push_back({prefix + "out.weight", {m.hidden, inner}});
    addNorm(tensors, m, prefix + "ln1");
    addNorm(tensors, m, prefix + "ln2");
    return tensors;
}

std::vector<ModelUnit> modelUnits(const RunConfig& config) {
    const ModelConfig& m = config.model;
    const VocabularyPieces pieces = vocabularyPieces(config);
    const std::vector<ModelTensor> root = rootTensors(m);
    std::vector<ModelUnit> units{{ModelUnit::Part::kRoot, 0, root}};
    if (pieces.count > 0) std::erase_if(units[0].tensors, overVocabulary);
    addPieces(units, root, "wte.weight", ModelUnit::Part::kTokens, pieces);
    for (std::int64_t i = 0; i < m.layers; ++i)
        units.push_back({ModelUnit::Part::kBlock, i, blockTensors(m, i)});
    addPieces(units, root, "head.weight", ModelUnit::Part::kHead, pieces);
    return units;
}

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
