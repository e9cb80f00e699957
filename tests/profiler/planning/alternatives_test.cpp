#include "profiler/planning/forecast.h"
#include "tests/profiler/planning/played_recording.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

namespace shardscope::planning {
namespace {

using run::RunConfig;
using run::Strategy;
using test::Pace;

constexpr theory::LinkModel kLink{50e-6, 0.5e9};

RunConfig configOf(Strategy strategy, std::int32_t ranks) {
    RunConfig config;
    config.model = *run::findModelPreset("tiny");
    config.data = run::kSyntheticData;
    config.threads = 1;
    return overRanks(config, ranks, strategy);
}

ComputeTimes learned(const RunConfig& config) {
    const auto recording = test::playRecording(config, Pace{}, kLink, 8);
    return *computeTimesOf(recording.summary, recording.ranks);
}

const Alternative* find(const Alternatives& found, const std::string& text) {
    for (const Alternative& each : found.all)
        if (each.text == text) return &each;
    return nullptr;
}

TEST(Alternatives, AreOtherSettingsEachOnce) {
    const ComputeTimes times = learned(configOf(Strategy::kZero3, 2));
    const LinkTimes link(kLink, "given");
    const Alternatives found = alternativesOf(times, &link);
    std::set<std::string> texts;
    std::set<Varied> varied;
    for (const Alternative& each : found.all) {
        EXPECT_TRUE(texts.insert(each.text).second) << each.text;
        EXPECT_TRUE(run::validate(each.config)) << each.text;
        EXPECT_EQ(each.config == times.config, each.varied == Varied::kLink) << each.text;
        varied.insert(each.varied);
    }
    EXPECT_EQ(varied.size(), kAll<Varied>.size());
    for (const char* text : {"1 rank", "4 ranks", "zero1", "prefetch 0", "2 micro-steps",
                             "bandwidth x 2", "gathered for the whole step"})
        EXPECT_NE(find(found, text), nullptr) << text;
    EXPECT_EQ(find(found, "2 ranks"), nullptr) << "it has two";
}

TEST(Alternatives, TakeAsLongAsTheyTake) {
    const ComputeTimes times = learned(configOf(Strategy::kZero3, 2));
    const LinkTimes link(kLink, "given");
    const Alternatives found = alternativesOf(times, &link);
    for (const char* text : {"zero2", "prefetch 0", "4 ranks", "gathered until backward"}) {
        const Alternative& each = *find(found, text);
        const Duration recorded = test::playRecording(each.config, Pace{}, kLink, 8).step;
        EXPECT_NEAR(each.forecast.step.time.seconds() / recorded.seconds(), 1, 1e-3) << text;
    }
    const Duration now = found.recorded.step.time;
    EXPECT_LT(find(found, "communication takes no time")->forecast.step.waiting.ns, 1000);
    EXPECT_LT(find(found, "bandwidth x 2")->forecast.step.time, now);
    EXPECT_GT(find(found, "bandwidth / 2")->forecast.step.time, now);
    EXPECT_GT(find(found, "latency x 10")->forecast.step.time, now);
}

TEST(Alternatives, OfOneRankKnowNoOthers) {
    const ComputeTimes times = learned(configOf(Strategy::kSingle, 1));
    for (const Alternative& each : alternativesOf(times, nullptr).all)
        EXPECT_EQ(each.config.ranks, 1) << each.text;
    const LinkTimes link(kLink, "given");
    EXPECT_NE(find(alternativesOf(times, &link), "2 ranks"), nullptr);
}

}  // namespace
}  // namespace shardscope::planning
