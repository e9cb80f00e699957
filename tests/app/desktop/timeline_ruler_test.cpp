// What stands on the ruler, at every width and however many steps there are.
#include "app/desktop/pages/timeline/canvas/timeline_ruler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

double measure(const QString& text) {
    return static_cast<double>(text.size()) * 7;
}

std::vector<StepMark> stepsOf(int count, std::int64_t length, std::int64_t gap = 0) {
    std::vector<StepMark> steps;
    for (int i = 0; i < count; ++i) {
        const std::int64_t begin = i * (length + gap);
        steps.push_back({{i}, {{begin}, {begin + length}}});
    }
    return steps;
}

/// Texts with their begins and ends, none of which may touch the next.
template <class Marks, class Begin>
void expectApart(const Marks& marks, double width, Begin begin) {
    double free = -1e9;
    for (const auto& mark : marks) {
        if (mark.text.isEmpty()) continue;
        EXPECT_GE(begin(mark), free) << mark.text.toStdString();
        free = begin(mark) + measure(mark.text);
        EXPECT_LE(free, std::max(width, measure(mark.text)) + 1) << mark.text.toStdString();
    }
}

TEST(RulerTicks, TextsAreApartAtEveryWidthAndZoom) {
    std::mt19937_64 random(3);
    const auto steps = stepsOf(40, 7'000'000, 100'000);
    for (int i = 0; i < 400; ++i) {
        const auto length = static_cast<std::int64_t>(
            std::pow(10, std::uniform_real_distribution<double>(2.4, 10)(random)));
        const auto begin = std::uniform_int_distribution<std::int64_t>(0, 280'000'000)(random);
        const double width = std::uniform_real_distribution<double>(110, 1900)(random);
        const TimeScale scale{{{begin}, {begin + length}}, width};
        for (const auto kind : {RulerTime::kAbsolute, RulerTime::kRelative, RulerTime::kStep}) {
            const auto ticks = rulerTicks(scale, kind, {begin}, steps, measure);
            expectApart(ticks, width, [](const RulerTick& tick) { return tick.x + 4; });
            if (kind == RulerTime::kRelative) {
                EXPECT_FALSE(ticks.empty()) << width << " px, " << length << " ns";
            }
            if (kind == RulerTime::kAbsolute && width > 600) {
                EXPECT_GE(ticks.size(), 3U);
            }
        }
    }
}

TEST(RulerTicks, CountFromWhatOneAskedFor) {
    const TimeScale scale{{{1'003'000'000}, {1'013'000'000}}, 700};
    const auto steps = stepsOf(3, 500'000'000);
    const auto first = [&](RulerTime kind) {
        return rulerTicks(scale, kind, {1'003'000'000}, steps, measure).front();
    };
    EXPECT_EQ(first(RulerTime::kAbsolute).text, u"1.003\u2009s"_s);
    EXPECT_EQ(first(RulerTime::kRelative).text.left(2), u"+0"_s);
    EXPECT_EQ(first(RulerTime::kRelative).x, 0);
    EXPECT_EQ(first(RulerTime::kStep).text, u"+3\u2009ms"_s) << "step 2 began at 1 s";
}

TEST(RulerTicks, StepTimeIsSaidInWords) {
    const auto steps = stepsOf(20, 10'000'000, 1'000'000);
    EXPECT_EQ(stepTime(steps, {12 * 11'000'000 + 3'200'000}, {100'000}),
              u"step 12 + 3.2\u2009ms"_s);
    EXPECT_EQ(stepTime(steps, {12 * 11'000'000 + 10'500'000}, {100'000}), QString())
        << "between two";
    EXPECT_EQ(stepTime({}, {5}, {1}), QString());
    EXPECT_EQ(formatOffset({-1'500}, {100}), u"−1.5\u2009µs"_s);
}

TEST(RulerSteps, ManyAreNamedAtStridesAndNeverABarcode) {
    for (const int count : {1, 3, 40, 774, 61'011}) {
        const auto steps = stepsOf(count, 1'000'000, 10'000);
        for (const double width : {110.0, 400.0, 1'000.0, 1'900.0}) {
            const TimeScale scale{{{0}, {count * std::int64_t{1'010'000}}}, width};
            const auto shown = rulerSteps(scale, steps, measure);
            expectApart(shown, width, [](const RulerStep& step) { return step.textX; });
            const auto named =
                std::ranges::count_if(shown, [](const auto& step) { return !step.text.isEmpty(); });
            EXPECT_GE(named, 1) << count << " steps on " << width << " px";
            EXPECT_LE(static_cast<double>(shown.size()), width / 5 + 1);
        }
    }
}

TEST(RulerSteps, TicksStandAtRoundNumbersWhateverStepTheViewBeginsWith) {
    const auto steps = stepsOf(774, 1'000'000);
    const TimeScale scale{{{3'000'000}, {774'000'000}}, 1'000};
    const auto shown = rulerSteps(scale, steps, measure);
    ASSERT_GT(shown.size(), 20U);
    for (const RulerStep& step : shown) {
        if (!step.begins) continue;
        const auto number = std::llround(static_cast<double>(scale.time(step.x).ns) / 1e6);
        EXPECT_EQ(number % 5, 0) << "there is room for every fifth: 6.5 pixels";
    }
}

TEST(RulerSteps, TheStepOneIsInsideIsNamed) {
    const auto steps = stepsOf(10, 1'000'000);
    const TimeScale inside{{{3'400'000}, {3'600'000}}, 500};
    auto shown = rulerSteps(inside, steps, measure);
    ASSERT_EQ(shown.size(), 1U);
    EXPECT_EQ(shown[0].text, u"step 3"_s);
    EXPECT_FALSE(shown[0].begins);
    EXPECT_GE(shown[0].textX, 0);
    const TimeScale partial{{{3'100'000}, {5'500'000}}, 1'000};
    shown = rulerSteps(partial, steps, measure);
    ASSERT_GE(shown.size(), 2U);
    EXPECT_EQ(shown[0].text, u"step 3"_s);
    EXPECT_EQ(shown[1].text, u"step 4"_s) << "after one that began before the left edge";
}

}  // namespace
}  // namespace shardscope::desktop
