#include "app/cli/plan/tune_run.h"
#include "tests/app/cli/program.h"

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

namespace shardscope::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

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
