// `shardscope calibrate`: what it prints, keeps and refuses. Real measuring is in real_rank_test.
#include "app/cli/answers/answer_text.h"
#include "profiler/planning/calibration_store.h"
#include "profiler/questions/answer/calibration_answer.h"
#include "tests/app/cli/program.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

namespace shardscope::cli {
namespace {

using planning::Calibration;
using planning::CollectiveCost;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Calibration sample() {
    Calibration calibration;
    calibration.host = "node-a";
    calibration.device = "AMD EPYC";
    calibration.cores = 2;
    calibration.product = "shardscope 1.2.3";
    calibration.unixS = 1'000'000;
    run::MeasuredFigure product;
    product.precision = run::Precision::kBFloat16;
    product.rows = product.inner = 512;
    product.columns = 2'048;
    product.threads = 2;
    calibration.rates.push_back({product, 2.5e11, 2.4e11, {2.3e11, 2.45e11}, 5});
    run::MeasuredFigure launch;
    launch.figure = run::MachineFigure::kLaunch;
    calibration.rates.push_back({launch, 1.5e-6, 1.6e-6, {1.5e-6, 1.7e-6}, 5});
    CollectiveCost cost;
    cost.ranks = 2;
    cost.fit = {12'000, 0.25, 3};
    cost.alphaNs = {11'000, 14'000};
    cost.betaNsPerByte = {0.25, 0.5};
    cost.smallest = {4'000};
    cost.largest = {64'000'000};
    cost.rounds = 15;
    cost.bestBusBandwidth = 4.1e9;
    cost.unixS = 1'000'000;
    calibration.collectives.push_back(cost);
    return calibration;
}

std::string calibrationText(const Calibration& calibration, std::int64_t nowS) {
    return answerText(questions::calibrationAnswer(calibration, nowS), 0);
}

TEST(CalibrationText, TellsFiguresWithUnitsIntervalsAndAge) {
    const std::string text = calibrationText(sample(), 1'000'000 + 3 * 24 * 3600);
    for (const char* each :
         {"node-a, AMD EPYC, 2 cores", "measured 3 days ago by shardscope 1.2.3",
          "bf16 matrix product, 512 x 512 x 2048", "250 GFLOP/s", "230 GFLOP/s to 245 GFLOP/s",
          "1.50 µs", "shared memory, 2 ranks", "all-reduce", "12.0 µs", "11.0 µs to 14.0 µs",
          "4.00 GB/s", "2.00 GB/s to 4.00 GB/s", "4.10 GB/s", "4 kB to 64 MB"})
        EXPECT_THAT(text, HasSubstr(each));
    EXPECT_THAT(text, Not(HasSubstr("shared cores")));
    EXPECT_THAT(text, Not(HasSubstr("long ago")));
}

TEST(CalibrationText, SaysWhatIsToBeMinded) {
    Calibration old = sample();
    old.quick = true;
    old.collectives[0].sharedCores = true;
    const std::string text = calibrationText(old, 1'000'000 + 100LL * 24 * 3600);
    EXPECT_THAT(text, HasSubstr("100 days ago, quickly,"));
    EXPECT_THAT(text, HasSubstr("That is long ago: calibrate again."));
    EXPECT_THAT(text, HasSubstr("shared memory, 2 ranks *"));
    EXPECT_THAT(text, HasSubstr("* these ranks shared cores"));
}

class CalibrateVerb : public CliTest {
protected:
    CalibrateVerb() {
        environment["XDG_STATE_HOME"] = path("my state");
        environment["TMPDIR"] = path("");
    }
    [[nodiscard]] std::string folder() const {
        return path("my state") + "/shardscope/calibrations";
    }
    static std::string hostName() {
        std::array<char, 256> name{};
        ::gethostname(name.data(), name.size() - 1);
        return name.data();
    }
    /// Recordings and folders of runs that are left in TMPDIR.
    [[nodiscard]] int leftBehind() const {
        int count = 0;
        for (const auto& each : std::filesystem::directory_iterator(path("")))
            count += each.path().filename().string().starts_with("shardscope-calibrate");
        return count;
    }
};

TEST_F(CalibrateVerb, SaysThatNothingIsKept) {
    const auto program = start({"calibrate", "--show"});
    EXPECT_EQ(program->wait(), 1);
    EXPECT_THAT(program->err(), AllOf(HasSubstr("was never calibrated for CPU"),
                                      HasSubstr("run `shardscope calibrate`")));
    EXPECT_EQ(program->out(), "");
    EXPECT_FALSE(std::filesystem::exists(folder()));
}

TEST_F(CalibrateVerb, ShowsWhatIsKept) {
    Calibration calibration = sample();
    calibration.host = hostName();
    ASSERT_TRUE(planning::keepCalibration(calibration, folder()));
    const auto text = start({"calibrate", "--show"});
    ASSERT_EQ(text->wait(), 0) << text->err();
    EXPECT_THAT(text->out(), AllOf(HasSubstr("AMD EPYC"), HasSubstr("250 GFLOP/s")));
    const auto json = start({"calibrate", "--show", "--json"});
    ASSERT_EQ(json->wait(), 0) << json->err();
    EXPECT_EQ(nlohmann::json::parse(json->out()).at("schema"), planning::kCalibrationSchema);
}

TEST_F(CalibrateVerb, DoesNotUseADamagedFile) {
    std::filesystem::create_directories(folder());
    const std::string file = planning::calibrationPath(folder(), hostName(), run::Device::kCpu, "");
    std::ofstream(file) << "{\"schema\":\"shardscope.calibration/1\"}";
    const auto program = start({"calibrate", "--show"});
    EXPECT_EQ(program->wait(), 3);
    EXPECT_THAT(program->err(), AllOf(HasSubstr(file), HasSubstr("not a calibration"),
                                      HasSubstr("run `shardscope calibrate` again")));
}

TEST_F(CalibrateVerb, RefusesWhatCannotBe) {
    struct Case {
        std::vector<std::string> arguments;
        const char* sentence;
    };
    const std::vector<Case> cases = {
        {{"--ranks", "0"}, "--ranks"},
        {{"--ranks", "many"}, "--ranks"},
        {{"--device", "tpu"}, "tpu"},
        {{"--transport", "pigeon"}, "pigeon"},
        {{"--device", "cuda", "--transport", "gloo"}, "--transport is about CPU ranks"},
        {{"--show", "--quick"}, "--quick"},
        {{"--steps", "3"}, "--steps"}};
    for (const Case& each : cases) {
        std::vector<std::string> arguments{"calibrate"};
        arguments.insert(arguments.end(), each.arguments.begin(), each.arguments.end());
        const auto program = start(arguments);
        EXPECT_EQ(program->wait(), 2) << each.sentence << program->err();
        EXPECT_THAT(program->err(), HasSubstr(each.sentence));
    }
    EXPECT_EQ(leftBehind(), 0);
}

/// A rank of a build that knows nothing of measuring trains, and measures nothing.
TEST_F(CalibrateVerb, SaysThatARunMeasuredNothing) {
    const auto program = start({"calibrate", "--quick"});
    EXPECT_EQ(program->wait(), 1);
    EXPECT_THAT(program->err(), HasSubstr("measured nothing"));
    EXPECT_FALSE(std::filesystem::exists(folder()));
    EXPECT_EQ(leftBehind(), 0);
}

TEST_F(CalibrateVerb, EndsOnCtrlCAndLeavesNothingBehind) {
    environment["FAKE_RANK_STEP_MS"] = "2000";
    const auto program = start({"calibrate"});
    ASSERT_TRUE(eventually([&] { return leftBehind() == 1; }));
    ASSERT_TRUE(eventually([&] { return !childrenOf(program->pid()).empty(); }));
    program->signal(SIGINT);
    EXPECT_EQ(program->wait(), 130) << program->err();
    EXPECT_EQ(leftBehind(), 0);
    EXPECT_FALSE(std::filesystem::exists(folder()));
}

TEST_F(CalibrateVerb, SaysWhyThereIsNoEngine) {
    environment["SHARDSCOPE_RANK_PROGRAM"] = path("nowhere/shardscope-rank");
    const auto program = start({"calibrate", "--quick"});
    EXPECT_EQ(program->wait(), 4);
    EXPECT_THAT(program->err(), HasSubstr("there is no training engine at"));
}

}  // namespace
}  // namespace shardscope::cli
