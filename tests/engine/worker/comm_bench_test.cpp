// `shardscope bench comm` with the real shardscope-rank, beside a Python that answers as if it had
// PyTorch.
#include "tests/app/cli/program.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <utility>

namespace shardscope::cli {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class CommBench : public CliTest {
protected:
    CommBench() { environment["SHARDSCOPE_RANK_PROGRAM"] = SHARDSCOPE_RANK; }
};

TEST_F(CommBench, SetsCommunicatorsBesideEachOtherAndPyTorch) {
    const std::string python = path("python with torch");
    std::ofstream(python) << "#!/bin/sh\n"
                             "echo '{\"torch\": \"9.9\", \"ranks\": 2, \"rows\": [{\"operation\": "
                             "\"all-reduce\", \"bytes\": 1000, \"ns\": [900000000]}]}'\n";
    std::filesystem::permissions(python, std::filesystem::perms::owner_all);
    environment["SHARDSCOPE_PYTHON"] = python;
    const std::vector<std::string> arguments{
        "bench",        "comm",       "--ranks", "2", "--sizes",       "1kB,64kB",
        "--operations", "all-reduce", "--steps", "3", "--repetitions", "2",
        "--output",     path("comm"), "--json"};
    const auto program = start(arguments);
    ASSERT_EQ(program->wait(), 0) << program->err();
    const json document = json::parse(program->out());
    EXPECT_EQ(document.at("schema"), "shardscope.bench/1");
    const json& rows = document.at("collectives");
    ASSERT_EQ(rows.size(), 4u);
    for (const json& row : rows) {
        EXPECT_EQ(row.at("rounds"), 6);
        EXPECT_GT(row.at("time_ns"), 0);
        EXPECT_GT(row.at("bus_bytes_per_s"), 0);
        EXPECT_EQ(row.at("against_torch").is_null(), row.at("size_bytes") != 1'000);
        if (!row.at("against_torch").is_null()) {
            EXPECT_GT(row.at("against_torch"), 1);
        }
    }
    EXPECT_TRUE(std::filesystem::exists(path("comm/all-reduce.svg")));
    const auto again = start(arguments);
    ASSERT_EQ(again->wait(), 0) << again->err();
    EXPECT_THAT(again->err(), AllOf(HasSubstr("was there"), Not(HasSubstr(" s\n"))));
}

TEST_F(CommBench, SaysThatThereIsNoPyTorch) {
    environment["SHARDSCOPE_PYTHON"] = "/bin/false";
    const auto program =
        start({"bench", "comm", "--ranks", "2", "--sizes", "1kB", "--operations", "all-reduce",
               "--steps", "1", "--repetitions", "1", "--output", path("comm")});
    ASSERT_EQ(program->wait(), 0) << program->err();
    EXPECT_THAT(program->err(), HasSubstr("Not measured beside"));
    EXPECT_THAT(program->out(), HasSubstr("how torch.distributed compares is unknown"));
}

TEST_F(CommBench, RefusesWhatCannotBe) {
    const std::vector<std::pair<std::vector<std::string>, const char*>> cases = {
        {{"--sizes", "many"}, "'many'"},
        {{"--operations", "all-reduse"}, "did you mean 'all-reduce'"},
        {{"--ranks", "1"}, "need two ranks or more"},
        {{"--device", "tpu"}, "tpu"}};
    for (const auto& [more, sentence] : cases) {
        std::vector<std::string> arguments{"bench", "comm", "--output", path("comm")};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const auto program = start(arguments);
        EXPECT_EQ(program->wait(), 2) << sentence;
        EXPECT_THAT(program->err(), HasSubstr(sentence));
    }
    EXPECT_FALSE(std::filesystem::exists(path("comm")));
}

TEST_F(CommBench, NormsAreTimedByWidth) {
    const auto program =
        start({"bench", "norms", "--shapes", "64x32,64x128", "--precision", "fp32,bf16", "--steps",
               "3", "--repetitions", "2", "--output", path("norms"), "--json"});
    ASSERT_EQ(program->wait(), 0) << program->err();
    const json document = json::parse(program->out());
    const json& rows = document.at("norms");
    ASSERT_EQ(rows.size(), 16u) << "4 ways, 2 widths, 2 types";
    for (const json& row : rows) {
        EXPECT_EQ(row.at("rows"), 64);
        for (const char* key : {"forward_ns", "backward_ns", "forward_bytes_per_s", "against_own"})
            EXPECT_GT(row.at(key), 0) << key;
    }
    EXPECT_EQ(rows[0].at("against_own"), 1.0);
    EXPECT_TRUE(std::filesystem::exists(path("norms/norms_bf16.svg")));
    const auto wrong = start({"bench", "norms", "--shapes", "64", "--output", path("other")});
    EXPECT_EQ(wrong->wait(), 2);
    EXPECT_THAT(wrong->err(), HasSubstr("'64' is no shape of a norm"));
}

}  // namespace
}  // namespace shardscope::cli
