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

/// `whole` may be a part already.
ModelUnit pieceOf(const ModelTensor& whole, ModelUnit::Part part, std::int64_t index,
                  const VocabularyPieces& pieces) {
    ModelTensor piece = whole;
    piece.firstRow += index * pieces.rows;
    if (whole.wholeRows == 0) piece.wholeRows = whole.shape[0];
    piece.shape[0] = std::min(pieces.rows, whole.shape[0] - index * pieces.rows);
    return {part, index, {piece}};
}

/// The pieces of one tensor of the root; none when the model has no such tensor.
void addPieces(std::vector<ModelUnit>& units, const std::vector<ModelTensor>& root,
               std::string_view name, ModelUnit::Part part, const VocabularyPieces& pieces) {
    for (const ModelTensor& tensor : root) {
        if (tensor.name != name) continue;
        for (std::int64_t i = 0; i < pieces.count && i * pieces.rows < tensor.shape[0]; ++i)
            units.push_back(pieceOf(tensor, part, i, pieces));
    }
}

std::int64_t divideUp(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}

/// Rows of a table need not divide evenly: the last ranks then have fewer.
void takePart(ModelTensor& tensor, TensorPart part) {
    if (part.of == 1 || tensor.division == Division::kNone) return;
    if (tensor.division == Division::kColumns) {
        tensor.wholeColumns = tensor.shape[1];
        tensor.shape[1] /= part.of;
        tensor.firstColumn = part.index * tensor.shape[1];
        return;
    }
    tensor.wholeRows = tensor.shape[0];
    const std::int64_t rows = tensor.wholeRows / tensor.rowGroups;
    const std::int64_t each = divideUp(rows, part.of);
    tensor.firstRow = std::min(rows, part.index * each);
    tensor.shape[0] = tensor.rowGroups * std::min(each, rows - tensor.firstRow);
}

std::vector<ModelTensor> partsOf(std::vector<ModelTensor> tensors, TensorPart part) {
    for (ModelTensor& tensor : tensors) takePart(tensor, part);
    return tensors;
}

constexpr double kLargestUnit = 1.25;  // blocks; finer cuts cost more gathers than they save

std::int64_t countOf(const std::vector<ModelTensor>& tensors) {
    std::int64_t count = 0;
    for (const ModelTensor& tensor : tensors) count += tensor.count();
    return count;
}

ModelTensor linear(const std::string& name, std::int64_t out, std::int64_t in, Division division) {
    ModelTensor tensor{name, {out, in}};
    tensor.division = division;
    if (division == Division::kHeads) tensor.rowGroups = 3;
    return tensor;
}

ModelTensor table(const char* name, const ModelConfig& m, ParameterGroup group) {
    ModelTensor tensor{name, {m.vocabulary, m.hidden}, group};
    tensor.division = Division::kRows;
    return tensor;
}

/// Rows are a piece's logits: aligned, unless fewer pieces come of it than were asked for.
VocabularyPieces cut(std::int64_t vocabulary, std::int64_t count) {
    const std::int64_t rows = divideUp(vocabulary, count), aligned = alignedColumns(rows);
    const std::int64_t pieces = divideUp(vocabulary, rows);
    return {pieces, divideUp(vocabulary, aligned) == pieces ? aligned : rows};
}

/// Of `vocabulary` rows as many as none has more than `most` parameters with.
std::int64_t piecesOfAtMost(std::int64_t most, std::int64_t vocabulary, std::int64_t hidden) {
    const std::int64_t rows = std::max<std::int64_t>(1, most / hidden);
    const std::int64_t aligned = rows - rows % kAlignedColumns;
    return divideUp(vocabulary, aligned > 0 ? aligned : rows);
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
    if (!m.tieHead) tensors.push_back(table("head.weight", m, ParameterGroup::kMatrix));
    tensors.push_back(table("wte.weight", m, ParameterGroup::kEmbedding));
    if (m.position == Position::kLearned) {
        tensors.push_back({"wpe.weight", {m.context, m.hidden}, ParameterGroup::kEmbedding});
    }
    addNorm(tensors, m, "ln_f");
    return tensors;
}

std::vector<ModelTensor> blockTensors(const ModelConfig& m, std::int64_t index) {
    const std::string prefix = fmt::format("blocks.{}.", index);
    const std::int64_t inner = m.innerWidth();
    std::vector<ModelTensor> tensors{
        linear(prefix + "qkv.weight", 3 * m.hidden, m.hidden, Division::kHeads),
        linear(prefix + "proj.weight", m.hidden, m.hidden, Division::kColumns)};
    if (m.ffn == FeedForward::kSwiglu)
        tensors.push_back(linear(prefix + "gate.weight", inner, m.hidden, Division::kRows));
    tensors.push_back(linear(prefix + "fc.weight", inner, m.hidden, Division::kRows));
    tensors.push_back(linear(prefix + "out.weight", m.hidden, inner, Division::kColumns));
    addNorm(tensors, m, prefix + "ln1");
    addNorm(tensors, m, prefix + "ln2");
    return tensors;
}

std::vector<ModelUnit> modelUnits(const RunConfig& config, TensorPart part) {
    const ModelConfig& m = config.model;
    const VocabularyPieces pieces = vocabularyPieces(config);
    const std::vector<ModelTensor> root = partsOf(rootTensors(m), part);
    std::vector<ModelUnit> units{{ModelUnit::Part::kRoot, 0, root}};
    if (pieces.count > 0) std::erase_if(units[0].tensors, overVocabulary);
    addPieces(units, root, "wte.weight", ModelUnit::Part::kTokens, pieces);
    for (std::int64_t i = 0; i < m.layers; ++i)
        units.push_back({ModelUnit::Part::kBlock, i, partsOf(blockTensors(m, i), part)});
    addPieces(units, root, "head.weight", ModelUnit::Part::kHead, pieces);
    return units;
}

std::vector<ModelUnit> modelUnits(const RunConfig& config) {
    return modelUnits(config, {0, config.tensor});
}

bool mayCutVocabulary(const RunConfig& config) {
    const bool shards = config.strategy == Strategy::kZero3 || config.strategy == Strategy::kHsdp;
    return shards && config.reshardAfterForward && !config.keepGathered && !config.keepGradients;
}

VocabularyPieces vocabularyPieces(const RunConfig& config) {
    const ModelConfig& m = config.model;
    std::int64_t count = config.vocabularyPieces;
    if (count == 1 || !mayCutVocabulary(config)) return {};
    const TensorPart largest{0, config.tensor};
    const std::int64_t vocabulary = divideUp(m.vocabulary, config.tensor);
    if (count == 0) {
        const auto most = static_cast<std::int64_t>(
            kLargestUnit * static_cast<double>(countOf(partsOf(blockTensors(m, 0), largest))));
        if (countOf(partsOf(rootTensors(m), largest)) <= most) return {};
        count = piecesOfAtMost(most, vocabulary, m.hidden);
        if (count == 1 && m.tieHead) return {};
    }
    return cut(vocabulary, count);
}

}  // namespace shardscope::run
