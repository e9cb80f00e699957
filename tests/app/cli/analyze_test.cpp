// `analyze` and `compare` as people and scripts call them.
#include "tests/app/cli/program.h"
#include "tests/support/sample_recording.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <fstream>

namespace shardscope::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using Json = nlohmann::json;

class Analyze : public CliTest {
protected:
    std::string sample(const std::string& name, const test::SampleOptions& options = {}) {
        EXPECT_TRUE(test::writeSampleRecording(path(name), options));
        return path(name);
    }
    /// Output of a call that ends with `status`.
    std::string said(const std::vector<std::string>& arguments, int status = 0) {
        const auto program = start(arguments);
        EXPECT_EQ(program->wait(), status) << program->err();
        return status == 0 || status == 6 ? program->out() : program->err();
    }
    std::string write(const std::string& name, const std::string& text) {
        std::ofstream(path(name)) << text;
        return path(name);
    }
};

TEST_F(Analyze, AnswersAsTextJsonAndCsv) {
    const std::string recording = sample("a.sscope");
    EXPECT_THAT(said({"analyze", recording, "breakdown"}),
                AllOf(HasSubstr("What did each rank's device do"), HasSubstr("overlap")));
    const Json json = Json::parse(said({"analyze", recording, "breakdown", "--json"}));
    EXPECT_EQ(json["schema"], "shardscope.analyze/1");
    EXPECT_EQ(json["question"], "breakdown");
    EXPECT_EQ(json["mode"], "exact");
    ASSERT_EQ(json["ranks"].size(), 2u);
    for (const char* key : {"rank", "span_us", "idle_us", "compute_us", "communication_us",
                            "non_compute_us", "overlap_pct"})
        EXPECT_TRUE(json["ranks"][0].contains(key)) << key;
    EXPECT_THAT(said({"analyze", recording, "breakdown", "--csv"}),
                StartsWith("rank,span_us,idle_us,"));
}

TEST_F(Analyze, AnswersSeveralAtOnce) {
    const Json json = Json::parse(said({"analyze", sample("a.sscope"), "breakdown", "collectives",
                                        "efficiency", "work", "--json"}));
    ASSERT_EQ(json["answers"].size(), 4u);
    EXPECT_EQ(json["answers"][3]["question"], "work");
}

TEST_F(Analyze, OfStepsAndRanks) {
    const Json json = Json::parse(said({"analyze", sample("a.sscope"), "collectives", "--steps",
                                        "2-3", "--ranks", "1", "--json"}));
    for (const Json& each : json["collectives"])
        EXPECT_THAT(each["step"].get<int>(), testing::AnyOf(2, 3));
}

TEST_F(Analyze, SortsAndCutsLongTables) {
    const std::string recording = sample("a.sscope");
    const Json json =
        Json::parse(said({"analyze", recording, "work", "--by", "count", "--top", "2", "--json"}));
    ASSERT_EQ(json["operators"].size(), 2u);
    EXPECT_GE(json["operators"][0]["count"], json["operators"][1]["count"]);
    EXPECT_THAT(said({"analyze", recording, "work", "--by", "size"}, 2), HasSubstr("--by"));
    EXPECT_THAT(said({"analyze", recording, "flame", "--top", "0"}, 2), HasSubstr("--top"));
}

TEST_F(Analyze, ExplainsItsFigures) {
    EXPECT_THAT(said({"analyze", sample("a.sscope"), "collectives", "--explain"}),
                AllOf(HasSubstr("Source: nccl-tests"), HasSubstr("Bus bandwidth:")));
}

TEST_F(Analyze, RefusesWhatCannotBeAsked) {
    const std::string recording = sample("a.sscope");
    EXPECT_THAT(said({"analyze", recording, "breakdwn"}, 2),
                HasSubstr("did you mean 'breakdown'?"));
    EXPECT_THAT(said({"analyze", recording, "breakdown", "--steps", "x"}, 2), HasSubstr("--steps"));
    EXPECT_THAT(said({"analyze", recording, "breakdown", "--steps", "70"}, 2),
                HasSubstr("it has steps 0 to 9"));
    EXPECT_THAT(said({"analyze", recording, "breakdown", "--range", "5"}, 2), HasSubstr("--range"));
    EXPECT_THAT(said({"analyze", recording, "breakdown", "--ranks", "9"}, 2),
                HasSubstr("no rank 9"));
    EXPECT_THAT(said({"analyze", path("none.sscope"), "breakdown"}, 3), HasSubstr("none.sscope"));
}

TEST_F(Analyze, PlaysStepsWithWhatIsFaster) {
    const std::string recording = sample("a.sscope");
    const Json json = Json::parse(said({"analyze", recording, "bounds", "--faster", "link=2",
                                        "--faster", "rank 1=1.25", "--json"}));
    EXPECT_EQ(json["what_if"][0]["scenario"], "link 2 times as fast, rank 1 1.25 times as fast");
    for (const char* none : {"link", "link=", "=2", "link=0", "link=-1", "link=x", "link=nan"})
        EXPECT_THAT(said({"analyze", recording, "bounds", "--faster", none}, 2),
                    HasSubstr("write WHAT=X"))
            << none;
    EXPECT_THAT(said({"analyze", recording, "bounds", "--faster", "links=2"}, 2),
                HasSubstr("did you mean 'link'"));
    EXPECT_THAT(said({"analyze", recording, "breakdown", "--faster", "link=2"}, 2),
                HasSubstr("'what-if'"));
}

TEST_F(Analyze, RefusesRanksThatAreNoNumbers) {
    const std::string recording = sample("a.sscope");
    for (const char* ranks : {"", "-1", "0,x"})
        EXPECT_THAT(said({"analyze", recording, "steps", std::string("--ranks=") + ranks}, 2),
                    HasSubstr("--ranks"))
            << ranks;
    EXPECT_THAT(said({"analyze", recording, "work", "--top", "0"}, 2),
                AllOf(HasSubstr("--top"), testing::Not(HasSubstr("00000000000"))));
    EXPECT_THAT(said({"compare", recording, recording, "--gate", path("none.toml")}, 2),
                HasSubstr("cannot be read: No such file"));
}

TEST_F(Analyze, ComparesARunWithItself) {
    test::SampleOptions options;
    options.steps = 30;
    const std::string recording = sample("a.sscope", options);
    const Json json = Json::parse(said({"compare", recording, recording, "--json"}));
    EXPECT_EQ(json["question"], "compare");
    ASSERT_FALSE(json["figures"].empty());
    for (const char* table : {"collectives", "operators"})
        for (const Json& row : json[table]) {
            EXPECT_EQ(row["state"], "both") << row;
            EXPECT_EQ(row["difference_ns"], 0) << row;
        }
    for (const Json& figure : json["figures"]) {
        EXPECT_EQ(figure["verdict"].get<std::string>() == "improved" ||
                      figure["verdict"].get<std::string>() == "regressed",
                  false)
            << figure;
        if (!figure["change_pct"].is_null()) {
            EXPECT_EQ(figure["change_pct"], 0) << figure;
        }
    }
    EXPECT_THAT(said({"compare", recording, recording, recording}), HasSubstr("Step time:"));
}

TEST_F(Analyze, ComparesStepsAndRanks) {
    test::SampleOptions options;
    options.steps = 30;
    const std::string recording = sample("a.sscope", options);
    const std::string longer = sample("b.sscope", test::SampleOptions{.steps = 40});
    const auto compared = [&](const std::vector<std::string>& part) {
        std::vector<std::string> call{"compare", recording, longer, "--json"};
        call.insert(call.end(), part.begin(), part.end());
        return Json::parse(said(call));
    };
    const auto countOf = [](const Json& json) {
        double count = 0;
        for (const Json& row : json["operators"]) count += row["first_count"].get<double>();
        return count;
    };
    const Json all = compared({}), part = compared({"--steps", "2-11,20-24", "--ranks", "1"});
    EXPECT_NE(all["figures"], part["figures"]);
    EXPECT_GT(countOf(part), 0);
    for (const Json& row : part["losses"])
        EXPECT_THAT(row["step"].get<int>(),
                    testing::AnyOf(AllOf(testing::Ge(2), testing::Le(11)),
                                   AllOf(testing::Ge(20), testing::Le(24))));
    EXPECT_EQ(part["losses"].size(), 15u);
    EXPECT_THAT(said({"compare", recording, longer, "--steps", "35-39"}, 2),
                HasSubstr("it has steps 0 to 29"));
    EXPECT_THAT(said({"compare", recording, longer, "--ranks", "7"}, 2), HasSubstr("no rank 7"));
    EXPECT_THAT(said({"compare", recording, longer, "--steps", "x"}, 2), HasSubstr("--steps"));
    EXPECT_THAT(said({"compare", "--scaling", recording, longer, "--steps", "1-2"}, 2),
                HasSubstr("--steps"));
}

TEST_F(Analyze, KeepsOrBreaksAGate) {
    test::SampleOptions options;
    options.steps = 30;
    const std::string recording = sample("a.sscope", options);
    const std::string kept = write("kept.toml", "rules = ['step.time_ns <= +2%']\n");
    const std::string broken = write("broken.toml", "rules = ['memory.peak_bytes <= 1']\n");
    EXPECT_THAT(said({"compare", recording, recording, "--gate", kept}), HasSubstr("kept"));
    EXPECT_THAT(said({"compare", recording, recording, "--gate", broken}, 6), HasSubstr("broken"));
}

TEST_F(Analyze, TellsHowRunsScale) {
    test::SampleOptions one;
    one.ranks = 1;
    const std::string two = sample("2.sscope");
    const std::vector<std::string> call{"compare", "--scaling", sample("1.sscope", one), two};
    EXPECT_THAT(said(call), AllOf(HasSubstr("Weak scaling:"), HasSubstr("efficiency")));
    auto asJson = call;
    asJson.emplace_back("--json");
    const Json json = Json::parse(said(asJson));
    EXPECT_EQ(json["question"], "scaling");
    EXPECT_EQ(json["recordings"][0]["ranks"], 1);
    EXPECT_EQ(json["recordings"][0]["efficiency_pct"], 100);
    EXPECT_THAT(said({"compare", "--scaling", two, two, "--csv"}), HasSubstr("speedup"));
    EXPECT_THAT(said({"compare", "--scaling", two}, 2), HasSubstr("two recordings or more"));
    EXPECT_THAT(said({"compare", "--scaling", two, two, "--gate", "x"}, 2), HasSubstr("--gate"));
}

TEST_F(Analyze, RefusesWhatCannotBeCompared) {
    const std::string recording = sample("a.sscope");
    EXPECT_THAT(said({"compare", recording}, 2), HasSubstr("two recordings or more"));
    const std::string bad = write("bad.toml", "rules = ['nonsense']\n");
    EXPECT_THAT(said({"compare", recording, recording, "--gate", bad}, 2),
                AllOf(HasSubstr("bad.toml:1:10"), HasSubstr("is not a rule")));
    const std::string unknown = write("unknown.toml", "rules = ['x <= 1%']\n");
    EXPECT_THAT(said({"compare", recording, recording, "--gate", unknown}, 2),
                HasSubstr("there is step.time_ns"));
    const std::string key = write("key.toml", "rule = ['x <= 1%']\n");
    EXPECT_THAT(said({"compare", recording, recording, "--gate", key}, 2),
                HasSubstr("unknown key 'rule'"));
    EXPECT_THAT(said({"compare", recording, recording, "--gate", path("no.toml")}, 2),
                HasSubstr("no.toml"));
    test::SampleOptions larger;
    larger.blocks = 8;
    EXPECT_THAT(said({"compare", recording, sample("b.sscope", larger)}, 2),
                AllOf(HasSubstr("different models"), HasSubstr("--anyway")));
    EXPECT_THAT(said({"compare", recording, path("b.sscope"), "--anyway"}),
                HasSubstr("different models"));
}

}  // namespace
}  // namespace shardscope::cli
