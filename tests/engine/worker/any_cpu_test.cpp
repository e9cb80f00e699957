// Training and verifying with the instruction sets of other CPUs: oneDNN and LibTorch's own kernels
// held to each of three levels, in every combination. `run_on_other_cpus` beside this file does the
// same for our own code, which cannot be held, on emulated CPUs.
#include "engine/run/config/run_config.h"
#include "tests/app/cli/program.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <tuple>

namespace shardscope::cli {
namespace {

using nlohmann::json;

/// ONEDNN_MAX_CPU_ISA and ATEN_CPU_CAPABILITY.
using Held = std::tuple<const char*, const char*>;

class AnyCpu : public CliTest, public testing::WithParamInterface<Held> {
protected:
    AnyCpu() {
        environment["SHARDSCOPE_RANK_PROGRAM"] = SHARDSCOPE_RANK;
        environment["ONEDNN_MAX_CPU_ISA"] = std::get<0>(GetParam());
        environment["ATEN_CPU_CAPABILITY"] = std::get<1>(GetParam());
    }
    void expectLearns() {
        const std::vector<std::string> flags = {
            "--layers",  "2",  "--heads",          "2", "--hidden", "32",
            "--context", "32", "--batch",          "2", "--steps",  "4",
            "--threads", "1",  "--evaluate-every", "0", "--force",  "--json"};
        const auto program = startRecord(flags);
        ASSERT_EQ(program->wait(), 0) << program->err();
        const json end = json::parse(program->out());
        EXPECT_EQ(end.at("steps_done"), 4);
        EXPECT_LT(end.at("loss_last"), end.at("loss_first"));
    }
};
INSTANTIATE_TEST_SUITE_P(Levels, AnyCpu,
                         testing::Combine(testing::Values("AVX512_CORE", "AVX2", "SSE41"),
                                          testing::Values("avx512", "avx2", "default")),
                         [](const auto& level) {
                             return std::string(std::get<0>(level.param)) + "_" +
                                    std::get<1>(level.param);
                         });

TEST_P(AnyCpu, Trains) {
    expectLearns();
}

/// Slowly where there are no instructions for it, and to the end all the same.
TEST_P(AnyCpu, FollowsTheReferenceInBFloat16) {
    const std::string folder = SHARDSCOPE_REFERENCE_FOLDER;
    if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no reference in " << folder;
    const auto program = start({"verify", folder, "--strategy", "zero3", "--precision", "bf16"});
    EXPECT_EQ(program->wait(), 0) << program->out() << program->err();
}

TEST_P(AnyCpu, FollowsTheReferenceInEveryStrategy) {
    const std::string folder = SHARDSCOPE_REFERENCE_FOLDER;
    if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no reference in " << folder;
    for (const run::Strategy strategy : kAll<run::Strategy>) {
        std::vector<std::string> flags = {"verify", folder, "--strategy", toWord(strategy)};
        if (strategy == run::Strategy::kHsdp) flags.insert(flags.end(), {"--shard-ranks", "2"});
        const auto program = start(flags);
        EXPECT_EQ(program->wait(), 0) << toWord(strategy) << "\n"
                                      << program->out() << program->err();
    }
}

}  // namespace
}  // namespace shardscope::cli
