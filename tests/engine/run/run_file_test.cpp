#include "engine/run/config/run_config.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace shardscope::run {
namespace {

using testing::HasSubstr;

class RunFile : public testing::Test {
protected:
    Result<RunConfig> read(const std::string& text) {
        std::ofstream(m_path) << text;
        return readRunFile(m_path, m_standard);
    }
    std::string complaint(const std::string& text) {
        const auto config = read(text);
        EXPECT_FALSE(config.has_value()) << text;
        if (config) return "";
        EXPECT_EQ(config.error().code, ErrorCode::kUsage);
        return config.error().message;
    }
    void TearDown() override { std::filesystem::remove(m_path); }

    const RunConfig m_standard;
    std::string m_path = testing::TempDir() + "run_file_test." +
                         testing::UnitTest::GetInstance()->current_test_info()->name() + ".toml";
};

TEST_F(RunFile, ComesBackAsItWasSaved) {
    RunConfig config;
    config.model = {"mine \\ \"quoted\"", 300, 64, 3, 4, 48};
    config.learningRate = 0.1 + 0.2;
    config.clip = 2;
    config.seed = 99;
    config.data = "some/text\nfile";
    config.capture = CaptureLevel::kLight;
    const auto back = read(toToml(config));
    ASSERT_TRUE(back.has_value()) << back.error().message;
    EXPECT_EQ(*back, config);
}

TEST_F(RunFile, TakesAModelByNameOrChangesAPreset) {
    const auto named = read("model = 'small'\nsteps = 3\n");
    ASSERT_TRUE(named.has_value()) << named.error().message;
    EXPECT_EQ(named->model, *findModelPreset("small"));
    EXPECT_EQ(named->steps, 3);
    const auto changed = read("steps = 3\n[model]\nname = 'small'\nlayers = 2\n");
    ASSERT_TRUE(changed.has_value()) << changed.error().message;
    EXPECT_EQ(changed->model.layers, 2);
    EXPECT_EQ(changed->model.hidden, 768);
}

TEST_F(RunFile, SaysLineAndColumnOfASyntaxError) {
    EXPECT_THAT(complaint("steps = 3\nlr = = 2\n"), HasSubstr(":2:6: "));
}

TEST_F(RunFile, SaysLineAndColumnOfAnUnknownKey) {
    const std::string text = complaint("steps = 3\n  lerning_rate = 1.0\n");
    EXPECT_THAT(text, HasSubstr(":2:3: unknown key 'lerning_rate'"));
    EXPECT_THAT(text, HasSubstr("did you mean 'learning_rate'"));
}

TEST_F(RunFile, SaysLineAndColumnOfAWrongValue) {
    EXPECT_THAT(complaint("steps = 'three'\n"), HasSubstr(":1:9: steps: must be a whole number"));
    EXPECT_THAT(complaint("strategy = 'zero4'\n"), HasSubstr("did you mean 'zero1'"));
    EXPECT_THAT(complaint("model = 'shakespear'\n"), HasSubstr("did you mean 'shakespeare'"));
    EXPECT_THAT(complaint("model = 3\n"), HasSubstr("[model]"));
    EXPECT_THAT(complaint("steps = [1]\n"), HasSubstr("single value"));
    EXPECT_THAT(complaint("[model]\nwidth = 3\n"), HasSubstr(":2:1: unknown key 'model.width'"));
}

TEST_F(RunFile, SaysThatAFileIsMissing) {
    const auto config = readRunFile("/no/such/run.toml", m_standard);
    ASSERT_FALSE(config.has_value());
    EXPECT_EQ(config.error().code, ErrorCode::kUnreadable);
    EXPECT_THAT(config.error().message, HasSubstr("/no/such/run.toml"));
}

}  // namespace
}  // namespace shardscope::run
