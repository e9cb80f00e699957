#include "engine/checkpoint/gpt2_names.h"

#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <numeric>
#include <utility>

namespace shardscope::checkpoint {
namespace {

/// One block, C 2, V 3, T 2.
class Gpt2 : public testing::Test {
protected:
    void SetUp() override {
        m_manifest.nextStep = 1;
        run::ModelConfig& model = m_manifest.config.model;
        model.vocabulary = 3;
        model.context = 2;
        model.layers = model.heads = 1;
        model.hidden = 2;
        m_manifest.parameters = {{"wte.weight", {3, 2}},
                                 {"wpe.weight", {2, 2}},
                                 {"ln_f.weight", {2}},
                                 {"ln_f.bias", {2}},
                                 {"blocks.0.ln1.weight", {2}},
                                 {"blocks.0.ln1.bias", {2}},
                                 {"blocks.0.ln2.weight", {2}},
                                 {"blocks.0.ln2.bias", {2}},
                                 {"blocks.0.qkv.weight", {6, 2}},
                                 {"blocks.0.proj.weight", {2, 2}},
                                 {"blocks.0.fc.weight", {8, 2}},
                                 {"blocks.0.out.weight", {2, 8}}};
        std::vector<checkpoint::Run> runs;
        for (const auto& [name, shape] : m_manifest.parameters)
            runs.push_back(
                {StateKind::kParameter, name, 0, m_values[name] = valuesOf(name, shape)});
        auto partial = prepare(m_folder.path(), 1);
        ASSERT_TRUE(partial);
        ASSERT_TRUE(writeRank(m_folder.path(), 1, 0, runs));
        ASSERT_TRUE(commit(std::move(*partial), m_manifest, 1));
    }

    static std::vector<float> valuesOf(const std::string& name,
                                       const std::vector<std::int64_t>& shape) {
        std::int64_t count = 1;
        for (const std::int64_t extent : shape) count *= extent;
        std::vector<float> values(static_cast<std::size_t>(count));
        std::iota(values.begin(), values.end(), static_cast<float>(name.size()));
        return values;
    }

    test::TemporaryFolder m_folder;
    Manifest m_manifest;
    std::map<std::string, std::vector<float>> m_values;
};

TEST_F(Gpt2, ComesBackAsItWent) {
    const std::string path = m_folder.file("gpt2.safetensors");
    ASSERT_TRUE(exportGpt2(Checkpoint::open(m_folder.path()).value(), path));
    const auto file = SafetensorsFile::open(path);
    ASSERT_TRUE(file) << file.error().message;
    const TensorInfo* qkv = (*file)->find("h.0.attn.c_attn.weight");
    ASSERT_NE(qkv, nullptr);
    EXPECT_EQ(qkv->shape, (std::vector<std::int64_t>{2, 6}));
    // (6, 2) turned round: the first column first.
    const auto& own = m_values["blocks.0.qkv.weight"];
    EXPECT_EQ((*file)->floats(*qkv).value(),
              (std::vector<float>{own[0], own[2], own[4], own[6], own[8], own[10], own[1], own[3],
                                  own[5], own[7], own[9], own[11]}));
    EXPECT_EQ((*file)->floats(*(*file)->find("h.0.mlp.c_fc.bias")).value(),
              std::vector<float>(8, 0.0F));
    const auto weights = Weights::open(path, m_manifest.config.model);
    ASSERT_TRUE(weights) << weights.error().message;
    for (const auto& [name, shape] : m_manifest.parameters)
        EXPECT_EQ(weights->read(name, shape).value(), m_values[name]) << name;
}

TEST_F(Gpt2, WithTheTransformerPrefixToo) {
    const std::vector<float> values{1, 2, 3, 4, 5, 6};
    const std::string path = m_folder.file("a.safetensors");
    ASSERT_TRUE(writeSafetensors(path, {{"transformer.wte.weight", {3, 2}, values}}, {}));
    const auto weights = Weights::open(path, m_manifest.config.model);
    ASSERT_TRUE(weights);
    EXPECT_EQ(weights->read("wte.weight", {3, 2}).value(), values);
    EXPECT_NE(weights->read("wpe.weight", {2, 2}).error().message.find("neither 'wpe.weight'"),
              std::string::npos);
    EXPECT_NE(weights->read("wte.weight", {4, 2}).error().message.find("is (3, 2)"),
              std::string::npos);
}

TEST_F(Gpt2, BiasesAreRefused) {
    const std::vector<float> bias{0, 0, 0.5F};
    const std::string path = m_folder.file("a.safetensors");
    ASSERT_TRUE(writeSafetensors(path, {{"h.0.attn.c_attn.bias", {3}, bias}}, {}));
    const auto weights = Weights::open(path, m_manifest.config.model);
    ASSERT_FALSE(weights);
    EXPECT_NE(weights.error().message.find("'h.0.attn.c_attn.bias'"), std::string::npos);
}

TEST_F(Gpt2, AModelWithoutAGpt2FormIsRefused) {
    m_manifest.config.model.norm = run::Norm::kRmsNorm;
    auto partial = prepare(m_folder.path(), 2);
    ASSERT_TRUE(partial);
    ASSERT_TRUE(writeRank(m_folder.path(), 2, 0, {}));
    m_manifest.nextStep = 2;
    ASSERT_TRUE(commit(std::move(*partial), m_manifest, 1));
    const auto done =
        exportGpt2(Checkpoint::open(m_folder.path()).value(), m_folder.file("x.safetensors"));
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::kUsage);
    EXPECT_NE(done.error().message.find("rmsnorm"), std::string::npos);
}

}  // namespace
}  // namespace shardscope::checkpoint
