#include "app/cli/plan/plan_tables.h"
#include "app/cli/plan/tune_run.h"
#include "engine/run/theory/model_theory.h"
#include "profiler/planning/model_parallel.h"
#include "tests/app/cli/program.h"

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>

namespace shardscope::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

ParameterPlan sevenBillion(std::optional<Bytes> memory) {
    return {{"", 7e9, 8, planning::kMixedAdam, memory}, {}};
}

TEST(Plan, IsTheTableOfCoursesOnOneLineEach) {
    const auto input = sevenBillion({});
    const std::string text = planText(input, PlanTexts{});
    for (const char* each :
         {"104.3 GiB", "35.9 GiB", "24.4 GiB", "13.0 GiB", "estimated", "--memory"})
        EXPECT_THAT(text, HasSubstr(each));
    EXPECT_THAT(text, Not(HasSubstr("arXiv")));
}

TEST(Plan, TellsItsSourcesWhenAsked) {
    const auto input = sevenBillion({});
    const std::string text = planText(input, PlanTexts{.markdown = true, .explain = true});
    EXPECT_THAT(text, HasSubstr("arXiv 1910.02054"));
    EXPECT_THAT(text, HasSubstr("| ZeRO-3 | 13.0 GiB |"));
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

ModelPlan xl() {
    ModelPlan plan;
    run::RunConfig& config = plan.input.config;
    config.model = *run::findModelPreset("xl");
    config.ranks = 8;
    config.precision = run::Precision::kBFloat16;
    config.batch = 4;
    plan.divisions.run = planning::dividedRun(config);
    plan.divisions.ranks = config.ranks;
    return plan;
}

TEST(Plan, KnowsOnWhichDevicesItFits) {
    const auto input = sevenBillion({});
    const auto document = nlohmann::json::parse(planJson(input, PlanTexts{.fitsOn = true}));
    bool seen = false;
    for (const auto& each : document["fits_on"]) {
        if (each["device"] != "H100 SXM") continue;
        seen = true;
        EXPECT_EQ(each["memory_bytes"], 80'000'000'000);
        EXPECT_EQ(each["ddp"], "no");
        EXPECT_EQ(each["zero1"], "yes *");
    }
    EXPECT_TRUE(seen);
    EXPECT_FALSE(nlohmann::json::parse(planJson(input)).contains("fits_on"));
    const std::string text = planText(input, PlanTexts{.markdown = true, .fitsOn = true});
    EXPECT_THAT(text, HasSubstr("| H100 SXM | 74.5 GiB | no | yes * | yes | yes |"));
    EXPECT_THAT(text, HasSubstr("| T4 | 14.9 GiB | no | no | no | no |"));
}

class PlanProgram : public CliTest {
protected:
    void SetUp() override {
        // Whatever this machine was measured to do.
        ::setenv("XDG_STATE_HOME", path("state").c_str(), 1);
    }
    void ends(int status, const std::string& words, const std::vector<std::string>& arguments) {
        SCOPED_TRACE(words);
        auto program = start(arguments);
        EXPECT_EQ(program->wait(), status);
        EXPECT_THAT(program->out() + program->err(), HasSubstr(words));
    }
};

TEST_F(PlanProgram, AnswersOrSaysWhatIsWrongAndWhereItWasGiven) {
    ends(0, "24.4 GiB", {"plan", "--parameters", "7e9", "--state-bytes", "2+2+12"});
    ends(0, "68,976,648,192 parameters", {"plan", "--model", "llama2-70b", "--ranks", "64"});
    ends(0, "ZeRO-3", {"plan", "--model", "ref", "--ranks", "2"});
    ends(2, "--batch changes nothing", {"plan", "--model", "llama-7b", "--batch", "4"});
    ends(2, "--state-bytes changes nothing", {"plan", "--model", "ref", "--state-bytes", "4+4+8"});
    ends(2, "llama2-70b", {"plan", "--model", "nope"});
    ends(2, "--parameters: '7X'", {"plan", "--parameters", "7X"});
    ends(2, "--state-bytes: '16'", {"plan", "--parameters", "7B", "--state-bytes", "16"});
    ends(0, "devices of 141 GB (131.3 GiB)", {"plan", "--parameters", "7B", "--memory", "H200"});
    ends(0, "devices of 80 GB (74.5 GiB)", {"plan", "--parameters", "7B", "--memory", "h100 sxm"});
    ends(2, "does not tell the form factor", {"plan", "--parameters", "7B", "--memory", "H100"});
    ends(2, "RTX 4090", {"plan", "--parameters", "7B", "--memory", "much"});
    ends(2, "up to 1024 ranks", {"plan", "--model", "ref", "--ranks", "5000"});
    ends(2, "--heads", {"plan", "--hidden", "100", "--heads", "3"});
    ends(2, "--memory 0", {"plan", "--model", "ref", "--memory", "0"});
    ends(2, "--limits changes nothing", {"plan", "--parameters", "7B", "--limits"});
    ends(2, "--flops changes nothing", {"plan", "--model", "llama-7b", "--flops"});
    ends(2, "--parallelisms", {"plan", "--parallelisms", "--json"});
    ends(2, "--shard-ranks",
         {"plan", "--model", "ref", "--ranks", "4", "--strategy", "hsdp", "--shard-ranks", "3"});
}

TEST_F(PlanProgram, TakesARecordingWithCheckpoints) {
    ASSERT_EQ(startRecord({"--steps", "4", "--checkpoint", path("kept"), "--checkpoint-every", "2",
                           "--keep-checkpoints", "1"})
                  ->wait(),
              0);
    const auto plan = start({"plan", "--from", output()});
    EXPECT_EQ(plan->wait(), 0) << plan->err();
    EXPECT_THAT(plan->out(), HasSubstr("peak per rank"));
}

TEST_F(PlanProgram, SaysOfMemoryWhatItCanWhereARecordingSaysNothingOfTime) {
    ASSERT_EQ(startRecord({"--steps", "4", "--capture", "off"})->wait(), 0);
    const auto plan = start({"plan", "--from", output()});
    EXPECT_EQ(plan->wait(), 0) << plan->err();
    EXPECT_THAT(plan->out(), HasSubstr("peak per rank"));
    EXPECT_THAT(plan->err(), HasSubstr("what follows says nothing of time"));
}

TEST_F(PlanProgram, TakesNoNumberThatIsNone) {
    const auto plan = [](const char* flag, const char* value) {
        return std::vector<std::string>{"plan",     "--model", "ref", "--memory",
                                        "H100 SXM", flag,      value};
    };
    for (const char* value : {"nan", "inf", "-1", "2"})
        ends(2, "--utilisation", plan("--utilisation", value));
    for (const char* value : {"nan", "inf", "-1"}) {
        ends(2, "--link-gb-per-s", plan("--link-gb-per-s", value));
        ends(2, "--link-latency-us", plan("--link-latency-us", value));
    }
    ends(2, "give --link-gb-per-s too", plan("--link-latency-us", "50"));
}

TEST(Plan, OfAModelKnowsItsPeak) {
    auto input = xl();
    input.input.memory = Bytes{24'000'000'000};
    const auto document = nlohmann::json::parse(planJson(input));
    EXPECT_EQ(document["model"], "xl");
    for (const auto& each : document["strategies"])
        EXPECT_GT(each["peak_bytes_per_rank"], each["state_bytes_per_rank"]) << each["name"];
    const std::string text = planText(input, PlanTexts{.explain = true});
    for (const char* each : {"xl, 1,491,075,200 parameters, on 8 ranks in bf16", "peak per rank",
                             "yes, recommended", "memory_theory.h"})
        EXPECT_THAT(text, HasSubstr(each));
}

/// A rank that computes a block in 2 ms, on a link of 20 us and 10 GB/s.
ModelPlan timed() {
    ModelPlan plan = xl();
    planning::ComputeTimes computing;
    computing.config = plan.input.config;
    computing.block = Duration{2'000'000};
    computing.blockBackward = Duration{4'000'000};
    computing.head = Duration{3'000'000};
    computing.high = 1.2;
    planning::PlanTimes times;
    times.computing.push_back(computing);
    times.link.emplace(theory::LinkModel{20e-6, 10e9}, "a link for this test");
    times.ranksOnHost = 8;
    times.source = "computing as drawn";
    plan.input.times = times;
    return plan;
}

TEST(Plan, TellsHowLongStepsTakeAndWhatBoundsThem) {
    const ModelPlan plan = timed();
    const std::string text = planText(plan, PlanTexts{});
    for (const char* each : {"Time of a step, estimated", "bound by", "computing as drawn",
                             "a link for this test", "Its step takes least time."})
        EXPECT_THAT(text, HasSubstr(each));
    const auto document = nlohmann::json::parse(planJson(plan));
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::string recommended;
    for (const auto& each : document["strategies"]) {
        const std::int64_t time = each["step_ns"];
        EXPECT_GT(time, 48 * 6'000'000) << each["name"];
        EXPECT_LE(each["low_ns"], time);
        EXPECT_GT(each["high_ns"], time);
        EXPECT_NEAR(double{each["tokens_per_s"]} * static_cast<double>(time) * 1e-9, 8 * 4 * 128,
                    1e-3);
        least = std::min(least, time);
        if (each["recommended"]) recommended = each["name"];
    }
    for (const auto& each : document["strategies"])
        EXPECT_TRUE(each["name"] != recommended || each["step_ns"] == least);
    EXPECT_FALSE(recommended.empty());
    EXPECT_FALSE(document.contains("projection"));
}

/// The same ranks where only small all-reduces were measured.
ModelPlan withASmallFit() {
    ModelPlan plan = timed();
    auto& link = plan.input.times->link;
    link.emplace(theory::LinkModel{}, "fitted for this test");
    link->set(CollectiveOp::kAllReduce, 8, {1e4, 1e-2, 2, Bytes{8}, Bytes{32}});
    plan.input.times->source = "computing as drawn; the model plays its step 3.0 % shorter";
    plan.input.times->replayError = -0.03;
    return plan;
}

TEST(Plan, SaysOfEachStrategyWhyItsTimeIsUnknown) {
    const ModelPlan plan = withASmallFit();
    const std::string text = planText(plan, PlanTexts{});
    EXPECT_THAT(text, HasSubstr("\nDDP, flat: step time unknown: no all-reduce among 8 ranks was "
                                "measured above 32 B; the fit is used up to 64 B"));
    EXPECT_THAT(text, HasSubstr("\nZeRO-3: step time unknown: no reduce-scatter among 8 ranks was "
                                "measured\n"));
    EXPECT_THAT(text, HasSubstr("--link-gb-per-s"));
    EXPECT_THAT(text, Not(HasSubstr("Time of a step"))) << "all are unknown";
    EXPECT_THAT(text, HasSubstr("link: fitted for this test, among 8 ranks: all-reduce up to 64 B; "
                                "unknown beyond"));
    EXPECT_THAT(text, HasSubstr("plays its step 3.0 % shorter"));
    const auto document = nlohmann::json::parse(planJson(plan));
    for (const auto& each : document["strategies"]) {
        EXPECT_TRUE(each["step_ns"].is_null());
        EXPECT_THAT(std::string(each["time_unknown"]), HasSubstr("among 8 ranks was measured"));
    }
    EXPECT_EQ(document["times"]["replay_error_pct"], -3.0);
    EXPECT_THAT(std::string(document["times"]["link"]), HasSubstr("all-reduce up to 64 B"));
    EXPECT_THAT(std::string(document["times"]["source"]), HasSubstr("computing as drawn"));
    const auto known = nlohmann::json::parse(planJson(timed()));
    for (const auto& each : known["strategies"])
        EXPECT_TRUE(each["time_unknown"].is_null()) << "it is known";
}

TEST(Plan, OfARunThatLackedCoresSaysTheDoubtBeforeTheTimes) {
    ModelPlan plan = timed();
    EXPECT_THAT(planText(plan, PlanTexts{}), Not(HasSubstr("Uncertain")));
    plan.input.times->doubt = "the ranks of busy.sscope were without a core";
    const std::string text = planText(plan, PlanTexts{});
    EXPECT_LT(text.find("\nUncertain: the ranks of busy.sscope were without a core.\n"),
              text.find("Time of a step, estimated"));
    EXPECT_THAT(std::string(nlohmann::json::parse(planJson(plan))["times"]["doubt"]),
                HasSubstr("busy.sscope"));
}

TEST(Plan, SaysWhyAProjectionEnds) {
    ModelPlan plan = timed();
    plan.input.times->linkReach = 8;
    const std::string text = planText(plan, PlanTexts{.mostRanks = 64});
    EXPECT_THAT(text, HasSubstr("Ends there: the link joins 8 ranks at most"));
    EXPECT_THAT(text, HasSubstr("; give a link with --link-gb-per-s."));
}

TEST(Plan, WithoutTimesTheyAreNull) {
    const auto document = nlohmann::json::parse(planJson(xl()));
    for (const auto& each : document["strategies"]) EXPECT_TRUE(each["step_ns"].is_null());
    EXPECT_THAT(planText(xl(), PlanTexts{}), Not(HasSubstr("Time of a step")));
}

TEST(Plan, ProjectsToManyRanks) {
    const ModelPlan plan = timed();
    const std::string text = planText(plan, PlanTexts{.markdown = true, .mostRanks = 64});
    EXPECT_THAT(text, HasSubstr("over more ranks"));
    EXPECT_THAT(text, HasSubstr("strong scaling"));
    const auto document =
        nlohmann::json::parse(planJson(plan, PlanTexts{.mostRanks = 64}))["projection"];
    ASSERT_EQ(document["weak"].size(), 7u);
    EXPECT_EQ(document["weak"][0]["efficiency_pct"], 100.0);
    EXPECT_EQ(document["weak"][6]["ranks"], 64);
    ASSERT_EQ(document["strong"].size(), 6u) << "a batch of 32 in all";
    EXPECT_THAT(text, HasSubstr("Ends there: over more ranks"));
}

TEST(Plan, SaysWhyAnEfficiencyIsAboveOneHundred) {
    ModelPlan plan = timed();
    EXPECT_THAT(planText(plan, PlanTexts{.mostRanks = 8}), Not(HasSubstr("above 100 %")));
    planning::ComputeTimes& computing = plan.input.times->computing.front();
    computing.optimizerNs = 1;
    plan.input.strategy = run::Strategy::kZero1;
    const std::string text = planText(plan, PlanTexts{.mostRanks = 8});
    EXPECT_THAT(text,
                HasSubstr("Efficiency above 100 %: ranks share the gradient norm and, under ZeRO, "
                          "the update: 186.38 ms per step on 8 ranks, 1.49 s on 1 rank.\n"));
    computing.recorded = Duration{600'000'000};
    computing.ranksOnHost = 8;
    EXPECT_THAT(planText(plan, PlanTexts{.mostRanks = 8}), HasSubstr("One rank was not recorded"));
}

TEST(Plan, ExplainsWhatADividedModelSends) {
    const std::string text = planText(xl(), PlanTexts{.explain = true, .divisions = true});
    for (const char* each : {"bubble: (p - 1) / (m + p - 1)", "for stages: 2 s b h bytes",
                             "sent for tensors: ", "N' = L l / (t p) + table / t"})
        EXPECT_THAT(text, HasSubstr(each));
    EXPECT_THAT(planText(xl(), PlanTexts{.explain = true}), Not(HasSubstr("for stages:")));
}

TEST(Plan, DividesTheModelAsTheory) {
    ModelPlan plan = xl();
    plan.divisions.memory = Bytes{8'000'000'000};
    const std::string text = planText(plan, PlanTexts{.divisions = true});
    EXPECT_THAT(text, HasSubstr("as theory only"));
    EXPECT_THAT(text, HasSubstr("pipeline 8"));
    plan.divisions.only = planning::Division{5, 1, 1, true};
    const auto document =
        nlohmann::json::parse(planJson(plan, PlanTexts{.divisions = true}))["divisions"];
    ASSERT_EQ(document.size(), 1u);
    EXPECT_EQ(document[0]["name"], "tensor 5 with sequence");
    EXPECT_EQ(document[0]["bubble_pct"], 0.0);
}

TEST(Plan, CountsFlopsAsOthersDo) {
    const std::string text = planText(xl(), PlanTexts{.flops = true});
    for (const theory::FlopsVariant variant : kAll<theory::FlopsVariant>)
        EXPECT_THAT(text, HasSubstr(entryOf(variant)->definition));
    const auto document = nlohmann::json::parse(planJson(xl(), PlanTexts{.flops = true}))["flops"];
    EXPECT_EQ(document["per_token"].size(), kAll<theory::FlopsVariant>.size());
    double forward = 0;
    for (const auto& each : document["forward_per_token"])
        forward += double{each["forward_flop_per_token"]};
    double exact = 0;
    for (const auto& each : document["per_token"])
        if (each["variant"] == "exact") exact = each["flop_per_token"];
    EXPECT_NEAR(3 * forward / exact, 1, 1e-9);
}

TEST(Plan, HoldsRulesOfThumbAgainstTheExactState) {
    const std::string text = planText(xl(), PlanTexts{.explain = true});
    EXPECT_THAT(text, HasSubstr("18 B per parameter"));
    EXPECT_THAT(text, HasSubstr("rule of thumb, 16 B per parameter: 22.2 GiB, -11.1 %"));
    EXPECT_THAT(text, HasSubstr("rule of thumb, 18 B per parameter: 25.0 GiB, +0.0 %"));
}

TEST(Plan, ExplainsEveryParallelismWithAPicture) {
    const std::string text = parallelismsText();
    for (const auto each : kAll<planning::Parallelism>) {
        EXPECT_THAT(text, HasSubstr(entryOf(each)->name));
        EXPECT_THAT(text, HasSubstr(entryOf(each)->picture));
        for (const char* line = entryOf(each)->picture; *line != '\0'; ++line)
            EXPECT_TRUE(*line == '\n' || (*line >= ' ' && *line <= '~'));
    }
}

TEST_F(PlanProgram, KnowsTimesOnlyWhereSomethingSaysThem) {
    ends(0, "at 45 % of H100 SXM",
         {"plan", "--model", "xl", "--device", "cuda", "--precision", "bf16", "--memory",
          "H100 SXM"});
    ends(0, "1,024",
         {"plan", "--model", "xl", "--device", "cuda", "--precision", "bf16", "--memory", "H200",
          "--link-gb-per-s", "50", "--project", "1024"});
    ends(2, "nothing says how fast", {"plan", "--model", "xl", "--project", "8"});
    ends(2, "nothing says how fast",
         {"plan", "--model", "xl", "--memory", "80GB", "--project", "8"});
    ends(3, "missing.sscope", {"plan", "--from", "missing.sscope"});
    ends(0, "largest context", {"plan", "--model", "xl", "--memory", "24GB", "--limits"});
    ends(2, "--limits: say how much memory", {"plan", "--model", "xl", "--limits"});
    ends(2, "--from changes nothing", {"plan", "--model", "llama-7b", "--from", "x.sscope"});
}

TEST_F(PlanProgram, TakesWhatIsKeptGathered) {
    const auto sentBy = [this](std::vector<std::string> more) {
        std::vector<std::string> arguments{"plan", "--model",      "tiny", "--ranks",
                                           "4",    "--accumulate", "4",    "--json"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        auto program = start(arguments);
        EXPECT_EQ(program->wait(), 0) << program->err();
        const auto document = nlohmann::json::parse(program->out());
        std::map<std::string, std::int64_t> sent;
        for (const auto& each : document["strategies"])
            sent[each["name"]] = each["communication_bytes_per_step"];
        return sent;
    };
    const auto usual = sentBy({}), kept = sentBy({"--keep-gathered"}),
               whole = sentBy({"--no-reshard-after-forward"});
    EXPECT_LT(kept.at("zero3"), usual.at("zero3"));
    EXPECT_LT(whole.at("zero3"), usual.at("zero3"));
    EXPECT_EQ(kept.at("zero1"), usual.at("zero1")) << "to which it does not apply";
    EXPECT_EQ(kept.size(), usual.size());
    ends(2, "--keep-gathered is about zero3 and hsdp, not zero1",
         {"plan", "--model", "tiny", "--ranks", "4", "--strategy", "zero1", "--keep-gathered"});
}

TEST_F(PlanProgram, DividesWhatCanBeDivided) {
    ends(0, "tensor 8 with sequence x pipeline 8 x data 16",
         {"plan", "--model", "gpt3-175b", "--ranks", "1024", "--divide", "--tensor", "8",
          "--pipeline", "8", "--sequence"});
    ends(0, "tensor 8 x data 8",
         {"plan", "--model", "gpt3-175b", "--ranks", "64", "--tensor", "8"});
    ends(2, "--utilisation changes nothing",
         {"plan", "--model", "xl", "--memory", "80GB", "--utilisation", "0.5"});
    ends(2, "96 heads",
         {"plan", "--model", "gpt3-175b", "--ranks", "70", "--divide", "--tensor", "7"});
    ends(2, "100 ranks are not divided",
         {"plan", "--model", "gpt3-175b", "--ranks", "100", "--divide", "--tensor", "8"});
    ends(0, "7 ranks divide neither the 96 heads",
         {"plan", "--model", "gpt3-175b", "--ranks", "7", "--divide"});
    ends(2, "needs a model's shape", {"plan", "--parameters", "7B", "--divide"});
    ends(0, "Pipeline parallel", {"plan", "--parallelisms"});
}

using testing::ElementsAre;

TEST(TuneBudget, IsATime) {
    EXPECT_EQ(parseBudget("90s")->count(), 90);
    EXPECT_EQ(parseBudget("5m")->count(), 300);
    EXPECT_EQ(parseBudget("1h")->count(), 3600);
    EXPECT_EQ(parseBudget("45")->count(), 45);
    for (const char* wrong : {"", "m", "-5m", "0", "5 m", "5d", "99999999999999999999"}) {
        const auto budget = parseBudget(wrong);
        ASSERT_FALSE(budget) << wrong;
        EXPECT_EQ(budget.error().code, ErrorCode::kUsage);
        EXPECT_THAT(budget.error().message, HasSubstr("5m"));
    }
}

TEST(TuneAxes, HaveUsualValuesOrThoseThatAreGiven) {
    run::RunConfig start;
    start.batch = 6;
    const auto axes = parseAxes("strategy, bucket-mb=1:25, batch,recompute_every", start);
    ASSERT_TRUE(axes) << axes.error().message;
    ASSERT_EQ(axes->size(), 4u);
    EXPECT_EQ((*axes)[0].values.size(), kAll<run::Strategy>.size() - 1) << "it has two ranks";
    EXPECT_EQ((*axes)[1].key, "bucket_mb");
    EXPECT_THAT((*axes)[1].values, ElementsAre("1", "25"));
    EXPECT_THAT((*axes)[2].values, ElementsAre("3", "6", "12", "24"));
    EXPECT_EQ((*axes)[3].key, "recompute_every");
}

TEST(TuneAxes, SayWhatIsWrong) {
    const auto wrong = [](const char* text) {
        const auto axes = parseAxes(text, {});
        EXPECT_FALSE(axes) << text;
        return axes ? std::string() : axes.error().message;
    };
    EXPECT_THAT(wrong("strategi"), HasSubstr("'strategi' is not an option"));
    EXPECT_THAT(wrong("seed"), HasSubstr("seed=1:2:4"));
    EXPECT_THAT(wrong("batch=many"), HasSubstr("--batch"));
    EXPECT_THAT(wrong("strategy=zero9"), HasSubstr("zero9"));
    EXPECT_THAT(wrong(""), HasSubstr("nothing to tune"));
    EXPECT_THAT(wrong("batch=0"), HasSubstr("--batch is 0"));
    EXPECT_THAT(wrong("prefetch,prefetch=1"), HasSubstr("'prefetch' is named twice"));
}

TEST(Tune, CallsFastestWhatIsBeyondNoise) {
    EXPECT_EQ(tuneVerdict("--strategy zero2", 1.71, {}),
              "Fastest: --strategy zero2, 1.71 times the tokens/s of the start.");
    EXPECT_EQ(tuneVerdict("--strategy zero2", 1.71, {"--strategy zero1"}),
              "Fastest: --strategy zero2, 1.71 times the tokens/s of the start. As good within "
              "noise: --strategy zero1.");
    EXPECT_THAT(tuneVerdict("--strategy zero2", 1.05, {}),
                testing::StartsWith("Fastest, within noise: "));
}

class TuneProgram : public CliTest {
protected:
    void ends(int status, const std::string& words, const std::vector<std::string>& arguments) {
        SCOPED_TRACE(words);
        auto program = start(arguments);
        EXPECT_EQ(program->wait(), status);
        EXPECT_THAT(program->out() + program->err(), HasSubstr(words));
    }
};

TEST_F(TuneProgram, LeavesARunFileThatItHasNotWritten) {
    std::filesystem::create_directory(path("tuned"));
    std::ofstream(path("tuned/best.toml")) << "steps = 3\n";
    ends(2, "best.toml already exists and is not a run file that Shardscope wrote",
         {"tune", "--model", "tiny", "--over", "batch=1:2", "--output", path("tuned")});
    std::ifstream file(path("tuned/best.toml"));
    std::string line;
    EXPECT_TRUE(std::getline(file, line) && line == "steps = 3");
}

TEST_F(TuneProgram, SaysWhatIsWrongBeforeAnythingRuns) {
    ends(2, "--budget: 'soon'", {"tune", "--budget", "soon"});
    ends(2, "--over: 'prefetsch' is not an option", {"tune", "--over", "prefetsch"});
    ends(3, "missing.toml", {"tune", "missing.toml"});
    ends(2, "--heads", {"tune", "--hidden", "100", "--heads", "3"});
    ends(2, "--share", {"tune", "--share", "nan"});
    ends(2, "none of the settings can be run",
         {"tune", "--model", "tiny", "--over", "heads=3:5", "--output", path("tuned")});
}

}  // namespace
}  // namespace shardscope::cli
