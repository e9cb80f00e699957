// What stands on the ruler, at every width and however many steps there are.
#include "app/desktop/pages/timeline/canvas/timeline_ruler.h"

#include "app/desktop/models/time_scale.h"
#include "app/desktop/pages/timeline/canvas/timeline_canvas.h"
#include "app/desktop/pages/timeline/canvas/timeline_geometry.h"
#include "app/desktop/pages/timeline/canvas/timeline_legend.h"
#include "app/desktop/pages/timeline/details/slice_panel.h"
#include "app/desktop/pages/timeline/tables/find_bar.h"
#include "app/desktop/pages/timeline/tables/table_panel.h"
#include "app/desktop/pages/timeline/timeline_page.h"
#include "app/desktop/widgets/theme.h"
#include "tests/app/desktop/window_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QApplication>
#include <QContextMenuEvent>
#include <QJsonDocument>
#include <QJsonObject>
#include <QMenu>
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

using ::testing::ElementsAre;

constexpr TimeRange kBounds{{0}, {1'000'000}};

TEST(TimeScale, PixelAndTimeAreInverse) {
    const TimeScale scale{{{1000}, {3000}}, 200};
    EXPECT_DOUBLE_EQ(scale.x({2000}), 100);
    EXPECT_EQ(scale.time(100), Timestamp{2000});
    EXPECT_EQ(scale.resolution(), Duration{10});
}

TEST(TimeScale, ZoomKeepsTheAnchorInItsPlace) {
    const TimeRange before{{200'000}, {600'000}};
    const TimeRange after = zoomed(before, 0.5, {300'000}, kBounds);
    EXPECT_EQ(after.duration(), Duration{200'000});
    EXPECT_EQ(Timestamp{300'000} - after.begin, Duration{50'000});
}

TEST(TimeScale, ZoomNeverLeavesTheRecording) {
    EXPECT_EQ(zoomed({{200'000}, {600'000}}, 100, {300'000}, kBounds), kBounds);
    EXPECT_GT(zoomed({{200'000}, {200'300}}, 1e-6, {200'100}, kBounds).duration().ns, 0);
}

TEST(TimeScale, PanStopsAtTheEdges) {
    EXPECT_EQ(panned({{0}, {1000}}, -5, kBounds).begin, Timestamp{0});
    EXPECT_EQ(panned({{999'000}, {1'000'000}}, 5, kBounds).end, Timestamp{1'000'000});
    EXPECT_EQ(panned({{1000}, {2000}}, 0.5, kBounds).begin, Timestamp{1500});
}

TEST(Ticks, StandAtOneTwoFive) {
    EXPECT_THAT(niceTicks(0, 10, 5), ElementsAre(0, 2, 4, 6, 8, 10));
    EXPECT_DOUBLE_EQ(niceStep(0.9, 3), 0.5);
    EXPECT_DOUBLE_EQ(niceStep(100, 4), 50);
}

TEST(Ticks, BytesGetBinaryTicks) {
    const auto ticks = binaryTicks(250.0 * 1048576, 4);
    ASSERT_GE(ticks.size(), 3U);
    EXPECT_DOUBLE_EQ(ticks[1] - ticks[0], 100.0 * 1048576);
}

// What the legend of the timeline names: what a recording can show, in the colours of the Overview.

using ::testing::Contains;
using ::testing::Not;

OpenRecording withLanes(std::initializer_list<LaneRole> roles) {
    OpenRecording recording;
    recording.summary.run.model = "tiny";  // a trace does not say who waited
    std::uint32_t id = 0;
    for (const LaneRole role : roles)
        recording.summary.lanes.push_back({{0}, {id++}, role, "", "", 0});
    return recording;
}

QStringList names(const std::vector<LegendEntry>& entries) {
    QStringList texts;
    for (const LegendEntry& entry : entries) texts << entry.text;
    return texts;
}

TEST(TimelineLegend, NamesCollectivesOnlyWhereThereAreSome) {
    EXPECT_THAT(names(timelineLegend(withLanes({LaneRole::kCompute}), false)),
                Not(Contains(u"all-gather (AG)"_s)));
    const auto all =
        names(timelineLegend(withLanes({LaneRole::kCompute, LaneRole::kCommunication}), false));
    EXPECT_THAT(all, Contains(u"all-gather (AG)"_s));
    EXPECT_THAT(all, Contains(u"waiting"_s));
}

TEST(TimelineLegend, AHeatMapHasNoHatches) {
    const auto recording = withLanes({LaneRole::kCompute, LaneRole::kCommunication});
    EXPECT_THAT(names(timelineLegend(recording, true)), Not(Contains(u"waiting"_s)));
}

TEST(TimelineLegend, CollectivesHaveTheColoursOfTheLedger) {
    using analysis::LedgerPart;
    EXPECT_EQ(meaningOf(CollectiveOp::kAllReduce), meaningOf(LedgerPart::kExposedAllReduce));
    EXPECT_EQ(meaningOf(CollectiveOp::kAllGather), meaningOf(LedgerPart::kExposedGather));
    EXPECT_EQ(meaningOf(CollectiveOp::kReduceScatter),
              meaningOf(LedgerPart::kExposedReduceScatter));
    EXPECT_EQ(meaningOf(CollectiveOp::kBroadcast), meaningOf(LedgerPart::kExposedOther));
    EXPECT_NE(Theme::light().fill(Meaning::kAllReduce).colour,
              Theme::light().fill(Meaning::kOtherCollective).colour)
        << "two parts of a step in one bar";
}

TEST(SliceMenu, CopiesAtFullPrecision) {
    LaneFacts lane;
    lane.rank = {3};
    lane.name = "stream 7";
    SliceView slice;
    slice.name = u"gemm"_s;
    slice.range = {{1'234'567}, {1'239'999}};
    slice.arguments = uR"({"registers":57})"_s;
    const QJsonObject object = QJsonDocument::fromJson(sliceJson(lane, slice).toUtf8()).object();
    EXPECT_EQ(object["name"_L1].toString(), u"gemm"_s);
    EXPECT_EQ(object["rank"_L1].toInteger(), 3);
    EXPECT_EQ(object["start_ns"_L1].toInteger(), 1'234'567);
    EXPECT_EQ(object["duration_ns"_L1].toInteger(), 5'432);
    EXPECT_EQ(object["arguments"_L1].toObject()["registers"_L1].toInteger(), 57);
    SliceDetails details;
    details.title = u"gemm"_s;
    details.rows = {{u"rank"_s, u"3"_s}};
    EXPECT_EQ(sliceText(details), u"gemm\nrank\t3"_s);
}

using SliceMenuPage = WindowTest;

TEST_F(SliceMenuPage, OpensOnASliceOnly) {
    openSample();
    m_window->showPage(page_ids::kTimeline);
    settle();
    auto* page = m_window->findChild<TimelinePage*>();
    TimelineCanvas& canvas = page->canvas();
    std::optional<QPoint> at;
    for (int y = kRulerHeight; y < canvas.viewport()->height() && !at; y += 3)
        for (int x = 250; x < canvas.viewport()->width() && !at; x += 7)
            if (const auto hit = canvas.hitAt(QPointF(x, y)); hit && hit->slice.count == 1)
                at = QPoint(x, y);
    ASSERT_TRUE(at);
    const QString name = canvas.hitAt(*at)->slice.name;
    QContextMenuEvent event(QContextMenuEvent::Mouse, *at, canvas.viewport()->mapToGlobal(*at));
    QApplication::sendEvent(canvas.viewport(), &event);
    auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    ASSERT_NE(menu, nullptr);
    ASSERT_EQ(menu->actions()[2]->text(), u"Find all of this name"_s);
    menu->actions()[2]->trigger();
    menu->close();
    settle();
    EXPECT_TRUE(page->findBar().isVisible());
    EXPECT_EQ(page->findBar().search().text, name);
    EXPECT_EQ(page->tables().tab(), TableTab::kFound);
}

}  // namespace
}  // namespace shardscope::desktop
