#include "profiler/planning/tuning.h"

#include "profiler/planning/forecast.h"
#include "storage/model/rank_facts.h"
#include "tests/profiler/planning/played_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace shardscope::planning {
namespace {

/// Steps whose truth has effects of axes that the predictor does not know.
struct DrawnGrid {
    TuningTask task;
    double best = 1e9;
    std::size_t points = 1;
    std::set<TuningPoint> measured;

    DrawnGrid(std::vector<std::size_t> axes, double unknown) {
        const auto known = [](const TuningPoint& at) {
            double time = 1;
            for (std::size_t i = 0; i < at.size(); ++i)
                time += 0.2 * std::abs(static_cast<double>(at[i]) - 1.0 - static_cast<double>(i));
            return time;
        };
        const auto truth = [known, unknown](const TuningPoint& at) {
            double time = known(at);
            for (std::size_t i = 0; i < at.size(); ++i)
                time *= 1 + unknown * static_cast<double>((at[i] * 7 + i * 3) % 4) / 3.0;
            return time;
        };
        for (const std::size_t count : axes) points *= count;
        task.axes = std::move(axes);
        task.mostRuns = points / 5;
        task.predict = [known](const TuningPoint& at) { return known(at); };
        task.measure = [this, truth](const TuningPoint& at) -> Result<std::optional<double>> {
            EXPECT_TRUE(measured.insert(at).second) << "nothing is measured twice";
            return truth(at);
        };
        TuningPoint at(task.axes.size(), 0);
        for (std::size_t i = 0; i < points; ++i) {
            best = std::min(best, truth(at));
            std::size_t axis = at.size();
            while (axis > 0 && ++at[axis - 1] == task.axes[axis - 1]) at[--axis] = 0;
        }
    }
    DrawnGrid(const DrawnGrid&) = delete;
    DrawnGrid& operator=(const DrawnGrid&) = delete;
};

TEST(Tuning, FindsTheBestOfThreeGridsInAFifthOfTheirRuns) {
    for (const auto& axes :
         std::vector<std::vector<std::size_t>>{{7, 5}, {4, 4, 4}, {3, 4, 3, 4}}) {
        DrawnGrid grid(axes, 0.25);
        const Tuned tuned = tune(grid.task);
        ASSERT_TRUE(tuned.best);
        EXPECT_EQ(tuned.points, grid.points);
        EXPECT_LE(tuned.path.size() * 5, grid.points);
        EXPECT_DOUBLE_EQ(*tuned.path[*tuned.best].measured, grid.best);
    }
}

TEST(Tuning, NeverMeasuresWhatCannotBe) {
    DrawnGrid grid({4, 4}, 0);
    const auto known = grid.task.predict;
    grid.task.predict = [known](const TuningPoint& at) {
        return at[0] == 1 ? std::nullopt : known(at);
    };
    grid.task.mostRuns = 100;
    const Tuned tuned = tune(grid.task);
    EXPECT_EQ(tuned.points, 12u);
    EXPECT_EQ(tuned.path.size(), 12u);
    for (const TuningStep& step : tuned.path) EXPECT_NE(step.point[0], 1u);
}

TEST(Tuning, GoesOnPastAFailureAndKeepsWhatItFoundBeforeAnError) {
    DrawnGrid grid({5, 5}, 0);
    int calls = 0;
    grid.task.measure = [&](const TuningPoint&) -> Result<std::optional<double>> {
        ++calls;
        if (calls == 1) return std::optional<double>();
        if (calls == 4) return failure(ErrorCode::kInterrupted, "interrupted");
        return std::optional(2.0 / calls);
    };
    const Tuned tuned = tune(grid.task);
    ASSERT_EQ(tuned.path.size(), 3u);
    EXPECT_FALSE(tuned.path[0].measured);
    ASSERT_TRUE(tuned.ended && tuned.best);
    EXPECT_EQ(tuned.ended->code, ErrorCode::kInterrupted);
    EXPECT_EQ(*tuned.best, 2u);
}

TEST(Tuning, KeepsToItsBudget) {
    DrawnGrid grid({5, 5}, 0.1);
    int left = 2;
    grid.task.mayGoOn = [&] { return left-- > 0; };
    EXPECT_EQ(tune(grid.task).path.size(), 2u);
    EXPECT_TRUE(tune({{3, 0}, grid.task.predict, grid.task.measure, 9, {}}).path.empty());
}

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
