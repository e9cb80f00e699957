// `shardscope verify` from the outside: what it reads, what it asks ranks for, what it concludes.
#include "tests/app/cli/program.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <fstream>

namespace shardscope::cli {
namespace {

using testing::HasSubstr;

class Verify : public CliTest {
protected:
    Verify() {
        std::ofstream(path("reference.json")) << R"({
            "config": {"vocab": 64, "context": 32, "layers": 2, "heads": 2, "hidden": 32},
            "hyper": {"lr": 6e-4, "beta1": 0.9, "beta2": 0.95, "eps": 1e-8, "weight_decay": 0.1,
                      "clip": 1.0},
            "layout": {"steps": 20, "accumulate": 2, "global_batch": 8, "context_plus_one": 33}})";
        for (const char* name : {"weights.bin", "tokens.bin", "weights_after.bin"}) {
            std::ofstream(path(name)) << "bytes";
        }
    }
    std::unique_ptr<Program> verify(std::vector<std::string> more = {}) {
        more.insert(more.begin(), {"verify", path("")});
        return start(more);
    }
};

TEST_F(Verify, PassesBelowTheLimits) {
    const auto program = verify({"--ranks", "3"});
    EXPECT_EQ(program->wait(), 0) << program->err();
    EXPECT_THAT(program->out(),
                HasSubstr("zero3 in fp32 on 3 cpu ranks, 20 steps of 27968 parameters"));
    EXPECT_THAT(program->out(), HasSubstr("PASS"));
}

TEST_F(Verify, FailsAboveThem) {
    environment["FAKE_RANK_ERROR"] = "5e-6";  // too much for the loss alone
    const auto program = verify({"--json", "--strategy", "single"});
    EXPECT_EQ(program->wait(), 1);
    const auto json = nlohmann::json::parse(program->out());
    EXPECT_EQ(json.at("schema"), "shardscope.verify/1");
    EXPECT_EQ(json.at("ranks"), 1);
    EXPECT_EQ(json.at("pass"), false);
    EXPECT_EQ(json.at("errors").at("loss").at("pass"), false);
    EXPECT_EQ(json.at("errors").at("weights").at("pass"), true);
}

/// What PyTorch's own bf16 strays differs with the shape: the reference brings it.
TEST_F(Verify, BFloat16IsHeldToTheSpreadThatTheReferenceBrings) {
    environment["FAKE_RANK_ERROR"] = "3e-4";
    const std::vector<std::string> narrow = {"--precision", "bf16", "--json"};
    const auto foreign = verify(narrow);
    EXPECT_EQ(foreign->wait(), 1);
    EXPECT_EQ(nlohmann::json::parse(foreign->out()).at("limits_of_reference"), false);
    std::ifstream file(path("reference.json"));
    auto reference = nlohmann::json::parse(file);
    reference["bf16_spread"] = {{"loss", 2.9e-4}, {"gradient_norm", 1e-3}, {"weights", 1e-2}};
    std::ofstream(path("reference.json")) << reference;
    const auto own = verify(narrow);
    EXPECT_EQ(own->wait(), 0) << own->err();
    const auto json = nlohmann::json::parse(own->out());
    EXPECT_EQ(json.at("limits_of_reference"), true);
    EXPECT_DOUBLE_EQ(json.at("errors").at("loss").at("limit").get<double>(), 1.25 * 2.9e-4);
    reference["bf16_spread"]["loss"] = -1;
    std::ofstream(path("reference.json")) << reference;
    EXPECT_EQ(verify(narrow)->wait(), 3);
}

TEST_F(Verify, DoesNotTakeNaNForAPass) {
    environment["FAKE_RANK_ERROR"] = "nan";
    EXPECT_EQ(verify()->wait(), 1);
}

TEST_F(Verify, AMissingOrMalformedFolderIsUnreadable) {
    const auto missing = start({"verify", path("nothing")});
    EXPECT_EQ(missing->wait(), 3);
    EXPECT_THAT(missing->err(), HasSubstr("nothing/reference.json"));
    std::filesystem::remove(path("tokens.bin"));
    const auto incomplete = verify();
    EXPECT_EQ(incomplete->wait(), 3);
    EXPECT_THAT(incomplete->err(), HasSubstr("lacks tokens.bin"));
    std::ofstream(path("reference.json")) << R"({"config": 3})";
    const auto malformed = verify();
    EXPECT_EQ(malformed->wait(), 3);
    EXPECT_THAT(malformed->err(), HasSubstr("is not a reference"));
}

TEST_F(Verify, UnknownStrategyIsUsage) {
    const auto program = verify({"--strategy", "zero4"});
    EXPECT_EQ(program->wait(), 2);
    EXPECT_THAT(program->err(), HasSubstr("did you mean 'zero1'"));
}

}  // namespace
}  // namespace shardscope::cli
