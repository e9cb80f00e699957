#include "engine/run/config/run_settings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

namespace shardscope::run {
namespace {

std::optional<std::string> textOf(const RunConfig& config, const std::string& name) {
    const auto all = settingsOf(config);
    const auto at = std::find_if(all.begin(), all.end(),
                                 [&](const Setting& each) { return each.name == name; });
    return at == all.end() ? std::nullopt : std::optional(at->text);
}

TEST(RunSettings, SayWhatARunWasSetToDo) {
    RunConfig config;
    config.batch = 4;
    config.model.context = 2048;
    config.accumulate = 2;
    config.seed = 7;
    config.data = "corpus.txt";
    EXPECT_EQ(textOf(config, "batch"),
              "4 sequences x 2,048 tokens per rank, 2 micro-steps per step");
    EXPECT_EQ(textOf(config, "precision"), "fp32");
    EXPECT_EQ(textOf(config, "data"), "corpus.txt");
    EXPECT_EQ(textOf(config, "seed"), "7");
    EXPECT_EQ(textOf(config, "capture"), "full");
    EXPECT_EQ(textOf(config, "threads"), std::nullopt) << "not settled";
    EXPECT_EQ(textOf(config, "link"), std::nullopt);
    config.threads = 3;
    config.linkGigabytesPerSecond = 1.25;
    EXPECT_EQ(textOf(config, "threads"), "3 per rank");
    EXPECT_EQ(textOf(config, "link"), "modelled: 0 us, 1.25 GB/s");
    EXPECT_EQ(textOf(config, "work"), std::nullopt);
    config.work = Work::kMeasuring;
    EXPECT_EQ(textOf(config, "work"), "measuring the machine: nothing was trained");
}

TEST(ModelledLink, IsSaidOnlyOfALinkThatIsNotThere) {
    RunConfig config;
    EXPECT_EQ(modelledLink(config), "");
    config.linkLatencyMicroseconds = 50;
    EXPECT_EQ(modelledLink(config), "") << "a latency alone slows nothing down";
    config.linkGigabytesPerSecond = 1.25;
    EXPECT_EQ(modelledLink(config), "modelled: 50 us, 1.25 GB/s");
}

}  // namespace
}  // namespace shardscope::run
