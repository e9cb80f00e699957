
#include "engine/run/config/model_tensors.h"
#include "engine/run/theory/model_theory.h"

#include <gtest/gtest.h>

#include <map>

namespace shardscope::run {
namespace {

RunConfig runOf(const char* preset) {
    RunConfig config;
    config.model = *findModelPreset(preset);
    return config;
}

TEST(VocabularyPieces, AreCutWhereTheRootIsLargerThanABlock) {
    for (const char* name : {"tiny", "shakespeare", "small", "medium", "large", "xl", "2.7B"})
        EXPECT_EQ(vocabularyPieces(runOf(name)).count, 0) << name;
    // 51.5 million over 12.6 million a block
    EXPECT_EQ(vocabularyPieces(runOf("ref")).count, 4);
    EXPECT_EQ(vocabularyPieces(runOf("ref")).rows, 12'608);  // 12,565 and some
    RunConfig untied = runOf("small");
    untied.model.tieHead = false;
    EXPECT_EQ(vocabularyPieces(untied).count, 1);  // table and head apart
}

TEST(VocabularyPieces, AreNotCutWhereUnitsStayWhole) {
    RunConfig config = runOf("ref");
    config.strategy = Strategy::kZero2;
    EXPECT_EQ(vocabularyPieces(config).count, 0);
    config.strategy = Strategy::kHsdp;
    EXPECT_EQ(vocabularyPieces(config).count, 4);
    for (bool RunConfig::*kept : {&RunConfig::keepGathered, &RunConfig::keepGradients}) {
        config.*kept = true;
        EXPECT_EQ(vocabularyPieces(config).count, 0);
        config.*kept = false;
    }
    config.reshardAfterForward = false;
    EXPECT_EQ(vocabularyPieces(config).count, 0);
}

/// Rows of every tensor, and whether its pieces lie end to end.
void expectWhole(const RunConfig& config) {
    std::map<std::string, std::int64_t> rows;
    std::int64_t count = 0;
    for (const ModelUnit& unit : modelUnits(config)) {
        count += unit.count();
        for (const ModelTensor& tensor : unit.tensors) {
            EXPECT_EQ(tensor.firstRow, rows[tensor.name]) << tensor.name;
            EXPECT_GT(tensor.shape[0], 0) << tensor.name;
            rows[tensor.name] += tensor.shape[0];
        }
    }
    std::int64_t expected = 0;
    for (const ModelTensor& tensor : rootTensors(config.model)) {
        EXPECT_EQ(rows[tensor.name], tensor.shape[0]) << tensor.name;
        expected += tensor.count();
    }
    for (std::int64_t i = 0; i < config.model.layers; ++i)
        for (const ModelTensor& tensor : blockTensors(config.model, i)) expected += tensor.count();
    EXPECT_EQ(count, expected);
}

TEST(VocabularyPieces, AddUpToTheTable) {
    RunConfig config = runOf("tiny");
    for (const std::int64_t vocabulary : {2, 3, 37, 64, 65}) {
        config.model.vocabulary = vocabulary;
        for (const bool tied : {true, false}) {
            config.model.tieHead = tied;
            for (std::int32_t pieces = 0; pieces <= std::min<std::int64_t>(vocabulary, 9);
                 ++pieces) {
                config.vocabularyPieces = pieces;
                SCOPED_TRACE(testing::Message() << vocabulary << " in " << pieces);
                expectWhole(config);
            }
        }
    }
}

TEST(VocabularyPieces, HaveAlignedRowsWhereThatTakesNoPieceAway) {
    RunConfig config = runOf("ref");
    for (const std::int32_t pieces : {2, 3, 4, 7, 8, 16}) {
        config.vocabularyPieces = pieces;
        EXPECT_EQ(vocabularyPieces(config).count, pieces);
        EXPECT_EQ(vocabularyPieces(config).rows % 64, 0) << pieces;
    }
    config.model.vocabulary = 100;
    config.vocabularyPieces = 3;
    EXPECT_EQ(vocabularyPieces(config).count, 3);
    EXPECT_EQ(vocabularyPieces(config).rows, 34);
}

/// Chosen by size none is larger than 1.25 blocks, padding included.
TEST(VocabularyPieces, StayBelowTheirLimitWhenAligned) {
    RunConfig config = runOf("tiny");
    const double most = 1.25 * static_cast<double>(theory::blockParameterCount(config.model));
    for (std::int64_t vocabulary = 1; vocabulary < 40'000; vocabulary = vocabulary * 5 / 4 + 1) {
        config.model.vocabulary = vocabulary;
        const VocabularyPieces pieces = vocabularyPieces(config);
        if (pieces.count < 2) continue;
        EXPECT_LE(static_cast<double>(pieces.rows * config.model.hidden), most) << vocabulary;
        EXPECT_GE(pieces.rows * pieces.count, vocabulary);
        EXPECT_LT(pieces.rows * (pieces.count - 1), vocabulary);
    }
}

TEST(ModelUnits, ComeInTheOrderOfTheirUse) {
    using Part = ModelUnit::Part;
    RunConfig config = runOf("tiny");
    config.vocabularyPieces = 2;
    config.model.tieHead = false;
    std::vector<Part> parts;
    for (const ModelUnit& unit : modelUnits(config)) parts.push_back(unit.part);
    EXPECT_EQ(parts, (std::vector{Part::kRoot, Part::kTokens, Part::kTokens, Part::kBlock,
                                  Part::kBlock, Part::kHead, Part::kHead}));
}

}  // namespace
}  // namespace shardscope::run
