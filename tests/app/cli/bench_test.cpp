// `shardscope bench` from the outside, with a fake rank; and what it draws.
#include "app/cli/bench/bench_kind.h"
#include "app/cli/bench/plot.h"
#include "tests/app/cli/program.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace shardscope::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class Bench : public CliTest {
protected:
    std::string folder() const { return path("a folder"); }
    std::unique_ptr<Program> bench(const std::vector<std::string>& more) {
        std::vector<std::string> arguments{"bench",         "ddp",         "--model",  "tiny",
                                           "--strategy",    "zero1,zero2", "--steps",  "3",
                                           "--repetitions", "2",           "--output", folder()};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return start(arguments);
    }
    std::vector<std::filesystem::file_time_type> written() const {
        std::vector<std::filesystem::file_time_type> times;
        for (const char* run : {"zero1_1", "zero1_2", "zero2_1", "zero2_2"})
            times.push_back(std::filesystem::last_write_time(folder() + "/" + run + ".sscope"));
        return times;
    }
    std::string textOf(const std::string& name) const {
        std::ifstream file(folder() + "/" + name);
        std::ostringstream text;
        text << file.rdbuf();
        return text.str();
    }
};

TEST_F(Bench, MeasuresEveryRunAndWritesTablesAndPictures) {
    const auto program = bench({"--json"});
    ASSERT_EQ(program->wait(), 0) << program->err();
    const json document = json::parse(program->out());
    EXPECT_EQ(document.at("schema"), "shardscope.bench/1");
    EXPECT_EQ(document.at("bench"), "ddp");
    EXPECT_FALSE(document.at("host").get<std::string>().empty());
    ASSERT_EQ(document.at("strategies").size(), 2u);
    // The fake rank's step.
    EXPECT_GE(document.at("strategies")[0].at("step_ns"), 5000);
    EXPECT_EQ(document.at("runs")[1].at("recordings"), 2);
    EXPECT_THAT(textOf("bench.md"), HasSubstr("| zero2 | zero2 |"));
    EXPECT_THAT(textOf("bench.csv"), HasSubstr("name,strategy,ranks"));
    EXPECT_THAT(textOf("strategies.svg"), HasSubstr("</svg>"));
}

TEST_F(Bench, RunsNothingThatLiesThere) {
    ASSERT_EQ(bench({"--quiet"})->wait(), 0);
    const auto before = written();
    const auto again = bench({});
    ASSERT_EQ(again->wait(), 0) << again->err();
    EXPECT_THAT(again->err(), HasSubstr("[4/4] zero2, repetition 2 ... was there"));
    EXPECT_EQ(written(), before);
}

TEST_F(Bench, ReplacesItsOwnFilesAndNoOthers) {
    ASSERT_EQ(bench({"--quiet"})->wait(), 0);
    std::ofstream(folder() + "/bench.md", std::ios::app) << "of the first time\n";
    ASSERT_EQ(bench({"--quiet"})->wait(), 0);
    EXPECT_THAT(textOf("bench.md"), Not(HasSubstr("of the first time")));
    for (const char* name : {"bench.md", "bench.csv", "bench.json", "strategies.svg"}) {
        const std::string file = folder() + "/" + name, own = textOf(name);
        std::filesystem::remove(file);
        std::ofstream(path("mine")) << "my own";
        std::filesystem::create_symlink(path("mine"), file);
        const auto program = bench({"--quiet"});
        EXPECT_EQ(program->wait(), 2) << name;
        EXPECT_THAT(program->err(), HasSubstr(name));
        EXPECT_EQ(textOf(name), "my own");
        std::filesystem::remove(file);
        std::ofstream(file) << own;
    }
    std::filesystem::remove(folder() + "/zero1_1.sscope");
    std::ofstream(folder() + "/zero1_1.toml") << "steps = 1\n";
    const auto program = bench({"--quiet"});
    EXPECT_EQ(program->wait(), 2);
    EXPECT_THAT(program->err(),
                HasSubstr("zero1_1.toml already exists and is not a run file that"));
    EXPECT_EQ(textOf("zero1_1.toml"), "steps = 1\n");
}

TEST_F(Bench, RefusesWhatIsOfOtherSettingsUnlessItMayReplaceIt) {
    ASSERT_EQ(bench({"--quiet"})->wait(), 0);
    const auto other = bench({"--batch", "3"});
    EXPECT_EQ(other->wait(), 2);
    EXPECT_THAT(other->err(), HasSubstr("batch is 8 there and 3 here"));
    EXPECT_EQ(bench({"--batch", "3", "--force"})->wait(), 0);
}

TEST_F(Bench, KeepsWhatWasMeasuredWhenItIsInterrupted) {
    ASSERT_EQ(bench({"--quiet", "--repetitions", "1"})->wait(), 0);
    environment["FAKE_RANK_STEP_MS"] = "3000";
    const auto program = bench({});
    ASSERT_TRUE(eventually(
        [&] { return program->err().find("zero1, repetition 2 ...") != std::string::npos; }));
    program->signal(SIGINT);
    EXPECT_EQ(program->wait(), 130);
    EXPECT_THAT(program->err(), HasSubstr("goes on from there"));
    EXPECT_THAT(program->out(), HasSubstr("1 of 2 repetitions are there"));
    environment["FAKE_RANK_STEP_MS"] = "2";
    EXPECT_EQ(bench({})->wait(), 0);
}

TEST_F(Bench, TellsOfARankThatFailsAndGoesOn) {
    environment["FAKE_RANK_MODE"] = "exit";
    const auto program = bench({});
    EXPECT_EQ(program->wait(), 5);
    EXPECT_THAT(program->err(), HasSubstr("zero1_1: "));
    EXPECT_THAT(program->err(), HasSubstr("zero2_1: "));
}

TEST_F(Bench, SaysInASentenceWhatCannotBe) {
    const auto sentenceOf = [&](const std::vector<std::string>& arguments) {
        const auto program = start(arguments);
        EXPECT_EQ(program->wait(), 2) << program->err();
        return program->err();
    };
    EXPECT_THAT(sentenceOf({"bench", "ddpp"}), HasSubstr("did you mean 'ddp'?"));
    EXPECT_THAT(sentenceOf({"bench", "ddp", "--model", "nope"}), HasSubstr("unknown model"));
    EXPECT_THAT(sentenceOf({"bench", "ddp", "--strategy", "zero1", "--prefetch", "2"}),
                HasSubstr("changes none of the runs"));
    EXPECT_THAT(sentenceOf({"bench", "ddp", "--batch", ","}), HasSubstr("--batch has no value"));
    EXPECT_THAT(sentenceOf({"bench", "scaling", "--ranks", "1"}), HasSubstr("beside 1"));
    for (const char* kind : {"ddp", "scaling", "memory", "model", "comm", "norms"})
        for (const char* flag : {"--ranks", "--vocabulary", "--hidden", "--heads", "--batch"})
            EXPECT_THAT(sentenceOf({"bench", kind, "--dry-run", flag, "0"}),
                        HasSubstr(std::string(flag) + " is 0"))
                << kind;
    EXPECT_THAT(sentenceOf({"bench", "ddp", "--shapes", "10x64"}),
                HasSubstr("--shapes changes none"));
    EXPECT_THAT(sentenceOf({"bench", "comm", "--sizes", "0"}), HasSubstr("--sizes"));
    for (const char* kind : {"comm", "norms"})
        EXPECT_THAT(sentenceOf({"bench", kind, "--model", "tiny"}),
                    HasSubstr("--model changes none of the runs (of training only)"));
    EXPECT_THAT(sentenceOf({"bench", "comm", "--precision", "bf16"}),
                HasSubstr("collectives are of fp32"));
    EXPECT_THAT(sentenceOf({"bench", "comm", "--shapes", "8x8"}), HasSubstr("--shapes"));
    EXPECT_THAT(sentenceOf({"bench", "norms", "--shapes", ""}), HasSubstr("--shapes has no value"));
    EXPECT_THAT(sentenceOf({"bench", "norms", "--sizes", "1MB"}), HasSubstr("--sizes"));
    EXPECT_THAT(sentenceOf({"bench", "norms", "--ranks", "2"}), HasSubstr("one rank measures"));
}

TEST_F(Bench, ADryRunStartsNothing) {
    const auto program = bench({"--dry-run"});
    EXPECT_EQ(program->wait(), 0);
    EXPECT_THAT(program->out(), HasSubstr("zero2"));
    EXPECT_FALSE(std::filesystem::exists(folder()));
    const auto norms = start({"bench", "norms", "--shapes", "8x64", "--dry-run"});
    EXPECT_EQ(norms->wait(), 0) << norms->err();
    EXPECT_THAT(norms->out(), AllOf(HasSubstr("norms of 8x64"), HasSubstr("1 run, ")));
}

TEST(BenchGrid, IsEveryCombinationOnce) {
    BenchRequest request;
    request.start.ranks = 1;
    request.given = {{"strategy", {"ddp-flat", "ddp-bucket"}}, {"bucket_mb", {"5", "10"}}};
    const auto runs =
        request.runs({{"strategy", {"zero3"}}, {"ranks", {"2"}}}, CaptureLevel::kLight);
    ASSERT_TRUE(runs) << runs.error().message;
    ASSERT_EQ(runs->size(), 3u) << "buckets mean nothing to ddp-flat";
    EXPECT_EQ((*runs)[0].name, "ddp-flat");
    EXPECT_EQ((*runs)[2].name, "ddp-bucket_bucket-mb-10");
    EXPECT_EQ((*runs)[2].config.bucketMegabytes, 10);
    EXPECT_EQ((*runs)[2].config.ranks, 2);
}

TEST(BenchGrid, KeepsWhatCannotBeWithItsReason) {
    BenchRequest request;
    request.start.data = run::kSyntheticData;
    request.given = {{"model.heads", {"4", "7"}}, {"model", {"tiny"}}};
    const auto runs = request.runs({{"strategy", {"single"}}}, CaptureLevel::kLight);
    ASSERT_TRUE(runs) << runs.error().message;
    ASSERT_EQ(runs->size(), 2u);
    EXPECT_EQ((*runs)[0].impossible, "");
    EXPECT_THAT((*runs)[1].impossible, HasSubstr("7 heads"));
}

TEST(BenchPlot, HasRoundTicksWithinItsRange) {
    EXPECT_EQ(ticksOf(0, 10, false, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
    EXPECT_EQ(ticksOf(1, 500, true, 9), (std::vector<double>{1, 2, 5, 10, 20, 50, 100, 200, 500}));
    EXPECT_TRUE(ticksOf(3, 3, false, 5).empty());
}

TEST(BenchPlot, DrawsPointsWithTheirIntervalsAndEscapesNames) {
    Plot plot;
    plot.title = "a < b & c\x1b\n\xFF\uFFFE";
    plot.series = {{"one", {{1, 2, 1.5, 2.5}, {2, std::nan(""), {}, {}}}, false, true}};
    const std::string svg = toSvg(plot);
    EXPECT_THAT(svg, HasSubstr("a &lt; b &amp; c\\x1b \\xff\\xef\\xbf\\xbe"));
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    // A point that is a number, and its place in the legend.
    std::size_t dots = 0;
    for (std::size_t at = svg.find("<circle"); at != std::string::npos;
         at = svg.find("<circle", at + 1))
        ++dots;
    EXPECT_EQ(dots, 2u);
}

TEST(BenchPlot, ZeroHasNoSign) {
    Plot plot;
    plot.series = {{"one", {{0, 50, -30, 160}}, false, true}};
    const std::string svg = toSvg(plot);
    EXPECT_THAT(svg, HasSubstr(">0<"));
    EXPECT_THAT(svg, Not(HasSubstr(">-0<")));
}

TEST(BenchPlot, HasRoomForLongLabelsAndNotes) {
    Plot plot;
    plot.x.labels = {"a", "b", "c", "d", "e", "ddp-bucket_bucket-mb-0.05"};
    plot.series = {{"one", {{0, 2, {}, {}}}, false, true}};
    const auto numberIn = [](const std::string& svg, const std::string& key) {
        return std::stod(svg.substr(svg.find(key) + key.size()));
    };
    const auto heightOf = [&](const std::string& svg) { return numberIn(svg, "height=\""); };
    const auto widthOf = [&](const std::string& svg) { return numberIn(svg, "width=\""); };
    const double without = heightOf(toSvg(plot)), narrow = widthOf(toSvg(plot));
    plot.series.front().name = "layer norm, one operator after the other";
    EXPECT_GT(widthOf(toSvg(plot)), narrow);
    for (int i = 0; i < 40; ++i) plot.note += "words ";
    const std::string svg = toSvg(plot);
    EXPECT_GT(heightOf(svg), without);
    // Broken into lines between words.
    const std::size_t first = svg.find("words</text>");
    ASSERT_NE(first, std::string::npos);
    EXPECT_NE(svg.find("words</text>", first + 1), std::string::npos);
    plot.x.labels.back() = "f";
    EXPECT_LT(heightOf(toSvg(plot)), heightOf(svg));
}

}  // namespace
}  // namespace shardscope::cli
