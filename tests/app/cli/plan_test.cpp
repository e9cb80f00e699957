#include "app/cli/plan_tables.h"
#include "tests/app/cli/program.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace shardscope::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

planning::ParameterPlanInput sevenBillion(std::optional<Bytes> memory) {
    return {"", 7e9, 8, planning::kMixedAdam, memory};
}

TEST(Plan, IsTheTableOfCoursesOnOneLineEach) {
    const auto input = sevenBillion({});
    const std::string text = planText(input, PlanTexts{});
    for (const char* each : {"112 GB", "38.5 GB", "26.25 GB", "14 GB", "estimated", "--memory"})
        EXPECT_THAT(text, HasSubstr(each));
    EXPECT_THAT(text, Not(HasSubstr("arXiv")));
}

TEST(Plan, TellsItsSourcesWhenAsked) {
    const auto input = sevenBillion({});
    const std::string text = planText(input, PlanTexts{.markdown = true, .explain = true});
    EXPECT_THAT(text, HasSubstr("arXiv 1910.02054"));
    EXPECT_THAT(text, HasSubstr("| ZeRO-3 | 14 GB |"));
}

TEST(Plan, IsADocumentWithItsSchema) {
    const auto input = sevenBillion(Bytes{40'000'000'000});
    const auto document = nlohmann::json::parse(planJson(input));
    EXPECT_EQ(document["schema"], "shardscope.plan/1");
    ASSERT_EQ(document["strategies"].size(), 4u);
    const auto& zero2 = document["strategies"][2];
    EXPECT_EQ(zero2["name"], "zero2");
    EXPECT_EQ(zero2["state_bytes_per_rank"], 26'250'000'000);
    EXPECT_EQ(zero2["communication_bytes_per_step"], 24'500'000'000);
    EXPECT_TRUE(zero2["peak_bytes_per_rank"].is_null()) << "nobody knows the activations";
    EXPECT_EQ(zero2["fits"], true);
    EXPECT_EQ(zero2["recommended"], true);
    EXPECT_EQ(document["strategies"][0]["fits"], false);
}

planning::ModelPlanInput xl() {
    planning::ModelPlanInput input;
    input.config.model = *run::findModelPreset("xl");
    input.config.ranks = 8;
    input.config.precision = run::Precision::kBFloat16;
    input.config.batch = 4;
    return input;
}

TEST(Plan, KnowsOnWhichDevicesItFits) {
    const auto input = sevenBillion({});
    const auto document = nlohmann::json::parse(planJson(input, PlanTexts{.fitsOn = true}));
    bool seen = false;
    for (const auto& each : document["fits_on"]) {
        if (each["device"] != "H100 SXM") continue;
        seen = true;
        EXPECT_EQ(each["memory_bytes"], 80'000'000'000);
        EXPECT_EQ(each["fits"]["ddp"], false);
        EXPECT_EQ(each["fits"]["zero1"], true);
    }
    EXPECT_TRUE(seen);
    EXPECT_FALSE(nlohmann::json::parse(planJson(input)).contains("fits_on"));
    const std::string text = planText(input, PlanTexts{.markdown = true, .fitsOn = true});
    EXPECT_THAT(text, HasSubstr("| H100 SXM | 80 GB | no | yes * | yes | yes |"));
    EXPECT_THAT(text, HasSubstr("| T4 | 16 GB | no | no | no | no |"));
}

class PlanProgram : public CliTest {
protected:
    void ends(int status, const std::string& words, const std::vector<std::string>& arguments) {
        SCOPED_TRACE(words);
        auto program = start(arguments);
        EXPECT_EQ(program->wait(), status);
        EXPECT_THAT(program->out() + program->err(), HasSubstr(words));
    }
};

TEST_F(PlanProgram, AnswersOrSaysWhatIsWrongAndWhereItWasGiven) {
    ends(0, "26.25 GB", {"plan", "--parameters", "7e9", "--state-bytes", "2+2+12"});
    ends(0, "68,976,648,192 parameters", {"plan", "--model", "llama2-70b", "--ranks", "64"});
    ends(0, "ZeRO-3", {"plan", "--model", "ref", "--ranks", "2"});
    ends(2, "--batch changes nothing", {"plan", "--model", "llama-7b", "--batch", "4"});
    ends(2, "--state-bytes changes nothing", {"plan", "--model", "ref", "--state-bytes", "4+4+8"});
    ends(2, "llama2-70b", {"plan", "--model", "nope"});
    ends(2, "--parameters: '7X'", {"plan", "--parameters", "7X"});
    ends(2, "--state-bytes: '16'", {"plan", "--parameters", "7B", "--state-bytes", "16"});
    ends(0, "devices of 141 GB", {"plan", "--parameters", "7B", "--memory", "H200"});
    ends(0, "devices of 80 GB", {"plan", "--parameters", "7B", "--memory", "h100 sxm"});
    ends(2, "does not tell the form factor", {"plan", "--parameters", "7B", "--memory", "H100"});
    ends(2, "RTX 4090", {"plan", "--parameters", "7B", "--memory", "much"});
    ends(2, "up to 4096 ranks", {"plan", "--model", "ref", "--ranks", "5000"});
    ends(2, "--heads", {"plan", "--hidden", "100", "--heads", "3"});
}

TEST(Plan, OfAModelKnowsItsPeak) {
    auto input = xl();
    input.memory = Bytes{24'000'000'000};
    const auto document = nlohmann::json::parse(planJson(input));
    EXPECT_EQ(document["model"], "xl");
    for (const auto& each : document["strategies"])
        EXPECT_GT(each["peak_bytes_per_rank"], each["state_bytes_per_rank"]) << each["name"];
    const std::string text = planText(input, PlanTexts{.explain = true});
    for (const char* each : {"xl, 1,491,075,200 parameters, on 8 ranks in bf16", "peak per rank",
                             "yes, recommended", "memory_theory.h"})
        EXPECT_THAT(text, HasSubstr(each));
}

}  // namespace
}  // namespace shardscope::cli
