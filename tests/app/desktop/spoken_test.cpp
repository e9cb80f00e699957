// What a screen reader is told of pictures: what they show, and what the cursor is on when it
// moves.
#include "app/desktop/pages/timeline/canvas/timeline_canvas.h"
#include "app/desktop/pages/timeline/canvas/timeline_geometry.h"
#include "app/desktop/pages/timeline/details/slice_details.h"
#include "app/desktop/pages/timeline/timeline_page.h"
#include "app/desktop/pages/timeline/tracks/minimap.h"
#include "app/desktop/widgets/chart_panel.h"
#include "app/desktop/widgets/pictures/address_map.h"
#include "app/desktop/widgets/pictures/column_chart.h"
#include "app/desktop/widgets/pictures/gauges.h"
#include "app/desktop/widgets/pictures/heat_map.h"
#include "app/desktop/widgets/pictures/picture.h"
#include "app/desktop/widgets/pictures/stacked_area.h"
#include "app/desktop/widgets/pictures/stacked_bars.h"
#include "tests/app/desktop/window_fixture.h"

#include <gmock/gmock.h>

#include <QAccessible>
#include <cmath>
#include <set>

// Without a screen reader Qt sends nothing, and only its platform can say that there is one: what
// stands in for that is private. Of these only what is called here, by the names that Qt exports.
class QPlatformAccessibility {
public:
    void setActive(bool active);
};
class QPlatformIntegration {
public:
    [[nodiscard]] QPlatformAccessibility* accessibility() const;
};

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using ::testing::HasSubstr;
using ::testing::Not;

QString told(QObject* object, QAccessible::Text what = QAccessible::Description) {
    QAccessibleInterface* spoken = QAccessible::queryAccessibleInterface(object);
    return spoken == nullptr ? u"not there"_s : spoken->text(what);
}

/// Hears what a screen reader would of one widget, while it lives.
class Listener {
public:
    explicit Listener(QObject* object) {
        m_heard.clear();
        m_object = object;
        m_before = QAccessible::installUpdateHandler(hear);
        setActive(true);
    }
    ~Listener() {
        QAccessible::installUpdateHandler(m_before);
        setActive(false);
        m_object = nullptr;
    }
    Q_DISABLE_COPY_MOVE(Listener)

    /// Since the last time it was asked.
    [[nodiscard]] static QStringList take() { return std::exchange(m_heard, {}); }

private:
    /// The platform without one of its own, as the offscreen one is: no member is looked at.
    static void setActive(bool active) {
        static const QPlatformIntegration plain;
        plain.accessibility()->setActive(active);
        ASSERT_EQ(QAccessible::isActive(), active);
    }
    static void hear(QAccessibleEvent* event) {
        if (event->object() == m_object && event->type() == QAccessible::DescriptionChanged)
            m_heard << told(m_object);
    }

    static inline QObject* m_object = nullptr;
    static inline QStringList m_heard;
    QAccessible::UpdateHandler m_before;
};

class SpokenTimelineTest : public WindowTest {
protected:
    void open(const test::SampleOptions& options = {}) {
        m_window->showPage(u"timeline"_s);
        openSample(options);
        m_page = qobject_cast<TimelinePage*>(m_window->page(u"timeline"_s));
        m_canvas = &m_page->canvas();
    }
    /// A click on some slice of a lane in sight; of `role`.
    [[nodiscard]] bool clickOn(LaneRole role) {
        for (int y = kRulerHeight + 2; y < m_canvas->viewport()->height(); y += 4) {
            for (int x = kLabelWidth + 8; x < m_canvas->viewport()->width(); x += 5) {
                const auto hit = m_canvas->hitAt(QPoint(x, y));
                if (!hit || hit->role != role || hit->slice.count != 1) continue;
                QTest::mouseClick(m_canvas->viewport(), Qt::LeftButton, Qt::NoModifier,
                                  QPoint(x, y));
                settle();
                return m_canvas->selectedSlice().has_value();
            }
        }
        return false;
    }
    void press(Qt::Key key) {
        QTest::keyClick(m_canvas, key);
        settle();
    }
    [[nodiscard]] QString detailsNow() const {
        const RecordingPtr recording = m_window->loader().recording();
        const TimelineHit hit = *m_canvas->selectedSlice();
        return spokenSlice(sliceDetails(*recording, *recording->lane(hit.key), hit.slice));
    }

    TimelinePage* m_page = nullptr;
    TimelineCanvas* m_canvas = nullptr;
};

TEST_F(SpokenTimelineTest, SaysTheSliceThatIsClickedAndSteppedTo) {
    open();
    EXPECT_EQ(told(m_canvas, QAccessible::Name), u"Timeline of all ranks"_s);
    EXPECT_THAT(told(m_canvas).toStdString(), HasSubstr(" lanes of 2 ranks"));
    const Listener listener(m_canvas);
    ASSERT_TRUE(clickOn(LaneRole::kCompute));
    QStringList heard = Listener::take();
    ASSERT_FALSE(heard.isEmpty());
    const QString first = heard.back();
    EXPECT_EQ(first, detailsNow());
    const TimelineHit hit = *m_canvas->selectedSlice();
    EXPECT_TRUE(first.contains(u"rank %1"_s.arg(hit.key.rank.value))) << first.toStdString();
    for (const char* word : {"lane ", "phase ", "start ", "duration ", "\u2009ms"})
        EXPECT_THAT(first.toStdString(), HasSubstr(word));
    press(Qt::Key_Period);
    heard = Listener::take();
    ASSERT_EQ(heard.size(), 1) << "once for each move";
    EXPECT_EQ(heard.back(), detailsNow());
    EXPECT_NE(heard.back(), first);
    press(Qt::Key_Comma);
    EXPECT_EQ(Listener::take(), QStringList{first});
    press(Qt::Key_Escape);
    heard = Listener::take();
    ASSERT_EQ(heard.size(), 1);
    EXPECT_THAT(heard.back().toStdString(), HasSubstr(" lanes of 2 ranks")) << "none is chosen";
}

TEST_F(SpokenTimelineTest, KeysAloneChooseASliceAndChangeItsLane) {
    open();
    ASSERT_FALSE(m_canvas->selectedSlice());
    const Listener listener(m_canvas);
    press(Qt::Key_Period);
    ASSERT_TRUE(m_canvas->selectedSlice()) << "the first in sight";
    const LaneAddress first = m_canvas->selectedSlice()->key;
    std::set<LaneAddress> lanes{first};
    for (int i = 0; i < 3; ++i) {
        QTest::keyClick(m_canvas, Qt::Key_Down, Qt::ControlModifier);
        settle();
        EXPECT_TRUE(lanes.insert(m_canvas->selectedSlice()->key).second) << i;
        EXPECT_TRUE(m_canvas->selectedSlice()->slice.range.intersects(m_canvas->view()));
    }
    for (int i = 0; i < 3; ++i) {
        QTest::keyClick(m_canvas, Qt::Key_Up, Qt::ControlModifier);
        settle();
    }
    EXPECT_EQ(m_canvas->selectedSlice()->key, first);
    const QStringList heard = Listener::take();
    EXPECT_GE(heard.size(), 7);
    EXPECT_EQ(heard.back(), detailsNow());
}

TEST_F(SpokenTimelineTest, SaysWhereAnArrowLeads) {
    test::SampleOptions options;
    options.gpu = true;
    open(options);
    m_canvas->act(LaneAction::kUnfoldAll, nullptr);
    settle();
    ASSERT_TRUE(clickOn(LaneRole::kCompute));
    const Listener listener(m_canvas);
    const TimelineHit before = *m_canvas->selectedSlice();
    for (const Qt::Key key : {Qt::Key_BracketLeft, Qt::Key_BracketRight}) {
        press(key);
        const QStringList heard = Listener::take();
        ASSERT_EQ(heard.size(), 1) << key;
        EXPECT_EQ(heard.back(), detailsNow());
    }
    EXPECT_EQ(m_canvas->selectedSlice()->slice, before.slice) << "and back";
}

TEST_F(SpokenTimelineTest, TheMinimapSaysWhichPartIsShown) {
    open();
    auto* map = m_page->findChild<Minimap*>();
    const Listener listener(map);
    const TimeRange before = m_canvas->view();
    QTest::keyClick(map, Qt::Key_Right);
    settle();
    EXPECT_GT(m_canvas->view().begin, before.begin);
    const QStringList heard = Listener::take();
    ASSERT_FALSE(heard.isEmpty());
    EXPECT_THAT(heard.back().toStdString(), HasSubstr("is shown; over the whole run compute "));
    QTest::keyClick(map, Qt::Key_Left);
    EXPECT_EQ(m_canvas->view(), before);
}

TEST(Spoken, AChartSaysItsExtremesAndThePointAtItsCursor) {
    ChartPanel chart;
    chart.setTitles(u"Loss"_s, u"nats"_s, u"step"_s);
    chart.setDefinition(u"Mean over tokens"_s);
    LineSeries line;
    line.name = u"training"_s;
    line.points = {{10, 5}, {20, 2}, {30, 3}};
    chart.setSeries({line});
    EXPECT_EQ(told(&chart, QAccessible::Name),
              u"Loss in nats over step, training last 3.00 at 30.0"_s);
    EXPECT_EQ(QAccessible::queryAccessibleInterface(&chart)->role(), QAccessible::Chart);
    const std::string summary = told(&chart).toStdString();
    for (const char* part : {"step from 10.0 to 30.0", "training lowest 2.00 at 20.0",
                             "highest 5.00 at 10.0", "Mean over tokens"})
        EXPECT_THAT(summary, HasSubstr(part));
    const Listener listener(&chart);
    QTest::keyClick(&chart, Qt::Key_Right);
    QTest::keyClick(&chart, Qt::Key_Right);
    EXPECT_EQ(Listener::take(),
              (QStringList{u"step 10: 5.00\u2009nats"_s, u"step 20: 2.00\u2009nats"_s}));
    chart.hideCursor();
    EXPECT_EQ(told(&chart).toStdString(), summary);
}

TEST(Spoken, AHeatMapSaysItsHighestAndTheCellAtItsCursor) {
    HeatMap map;
    map.setTitles(u"step"_s, u"rank"_s, u"waited"_s);
    HeatData data;
    data.rows = {u"rank 0"_s, u"rank 1"_s};
    data.columns = {u"7"_s, u"8"_s};
    data.values = {0.1F, 0.2F, 0.5F, 0.3F};
    data.maximum = 0.5F;
    map.setMap(data);
    EXPECT_THAT(told(&map).toStdString(), HasSubstr("highest: rank 1 · step 7"));
    const Listener listener(&map);
    QTest::keyClick(&map, Qt::Key_Right);
    QTest::keyClick(&map, Qt::Key_Down);
    const QStringList heard = Listener::take();
    ASSERT_EQ(heard.size(), 2);
    EXPECT_TRUE(heard[0].startsWith(u"rank 0 · step 7"_s)) << heard[0].toStdString();
    EXPECT_TRUE(heard[1].startsWith(u"rank 1 · step 7"_s)) << heard[1].toStdString();
}

std::vector<StackedBar> twoBars() {
    return {{u"4"_s, u"3 ms"_s, {{3, Meaning::kCompute, u"compute"_s, u"3 ms"_s}}},
            {u"5"_s, u"7 ms"_s, {{7, Meaning::kCompute, u"compute"_s, u"7 ms"_s}}}};
}

TEST(Spoken, ColumnsSayTheHighestAndWhereKeysLead) {
    ColumnChart columns;
    columns.setTitles(u"ms"_s, u"step"_s);
    columns.setColumns(twoBars());
    EXPECT_EQ(told(&columns, QAccessible::Name), u"ms by step: 2 columns"_s);
    EXPECT_EQ(told(&columns), u"highest: step 5: 7 ms"_s);
    QSignalSpy activated(&columns, &ColumnChart::activated);
    const Listener listener(&columns);
    QTest::keyClick(&columns, Qt::Key_End);
    QTest::keyClick(&columns, Qt::Key_Left);
    QTest::keyClick(&columns, Qt::Key_Return);
    EXPECT_EQ(Listener::take(),
              (QStringList{u"step 5: 7 ms · compute 7 ms"_s, u"step 4: 3 ms · compute 3 ms"_s}));
    ASSERT_EQ(activated.size(), 1);
    EXPECT_EQ(activated.front().front().toInt(), 0);
}

TEST(Spoken, GroupedColumnsSayTheHighestAndWhereKeysLead) {
    ColumnChart columns;
    columns.setTitles(u"ms"_s, u"layer"_s);
    columns.setGroups({{u"0"_s, twoBars()}});
    EXPECT_EQ(told(&columns, QAccessible::Name), u"ms by layer: 2 columns"_s);
    EXPECT_THAT(told(&columns).toStdString(), HasSubstr("highest: 5: 7 ms"));
    const Listener listener(&columns);
    QTest::keyClick(&columns, Qt::Key_Right);
    const QStringList heard = Listener::take();
    ASSERT_EQ(heard.size(), 1);
    EXPECT_THAT(heard.back().toStdString(), HasSubstr("4: 3 ms"));
}

TEST(Spoken, BarsSayAllAndTheOneThatKeysLeadTo) {
    StackedBars bars;
    bars.setAccessibleName(u"Peak by rank"_s);
    bars.setBars(twoBars());
    EXPECT_EQ(told(&bars, QAccessible::Name), u"Peak by rank"_s);
    EXPECT_EQ(told(&bars), u"4 3 ms, 5 7 ms"_s);
    QSignalSpy activated(&bars, &StackedBars::activated);
    const Listener listener(&bars);
    QTest::keyClick(&bars, Qt::Key_Down);
    QTest::keyClick(&bars, Qt::Key_Down);
    QTest::keyClick(&bars, Qt::Key_Space);
    EXPECT_EQ(Listener::take(),
              (QStringList{u"4: 3 ms · compute 3 ms"_s, u"5: 7 ms · compute 7 ms"_s}));
    EXPECT_EQ(activated.size(), 1);
}

TEST(Spoken, MirroredBarsSayAllAndTheOneThatKeysLeadTo) {
    MirroredBars bars;
    bars.setTitles(u"A"_s, u"B"_s, u"difference"_s);
    bars.setBars({{u"compute"_s, Meaning::kCompute, 2, 3, u"2 ms"_s, u"3 ms"_s, u"+1 ms"_s},
                  {u"copies"_s, Meaning::kCopy, 1, 1, u"1 ms"_s, u"1 ms"_s, u"0"_s}});
    EXPECT_THAT(told(&bars).toStdString(), HasSubstr("compute: A 2 ms, B 3 ms, +1 ms; copies"));
    const Listener listener(&bars);
    QTest::keyClick(&bars, Qt::Key_Down);
    QTest::keyClick(&bars, Qt::Key_Down);
    const QStringList heard = Listener::take();
    ASSERT_EQ(heard.size(), 2);
    EXPECT_EQ(heard.back(), u"copies: A 1 ms, B 1 ms, 0"_s);
}

TEST(Spoken, BandsOverTimeSayTheMomentAtTheCursor) {
    StackedArea area;
    area.resize(600, 240);
    area.setTitle(u"rank 0"_s);
    area.setBands({{u"parameters"_s, Meaning::kCompute, {1024, 2048, 4096}}},
                  {{0}, {3'000'000'000}}, 4096);
    area.setPeak(Timestamp{2'000'000'000}, u"peak 4.00 KiB"_s);
    QObject::connect(&area, &StackedArea::cursorMoved, &area, &StackedArea::showCursor);
    EXPECT_THAT(told(&area).toStdString(), HasSubstr("peak 4.00 KiB"));
    QSignalSpy picked(&area, &StackedArea::timePicked);
    const Listener listener(&area);
    QTest::keyClick(&area, Qt::Key_Right);
    QTest::keyClick(&area, Qt::Key_Right);
    const QStringList heard = Listener::take();
    ASSERT_EQ(heard.size(), 2);
    EXPECT_THAT(heard[0].toStdString(), HasSubstr("parameters 1.00\u2009KiB"));
    EXPECT_THAT(heard[1].toStdString(), HasSubstr("parameters 2.00\u2009KiB"));
    QTest::keyClick(&area, Qt::Key_Return);
    ASSERT_EQ(picked.size(), 1);
    EXPECT_NEAR(picked.front().front().value<Timestamp>().seconds(), 1.5, 0.01);
}

TEST(StackedAreas, SayAllAtTheCursorWhateverTheirSize) {
    StackedArea area;
    std::vector<AreaBand> bands;
    for (int i = 0; i < 10; ++i)
        bands.push_back({u"band %1"_s.arg(i), Meaning::kCompute, {1024, 1024}});
    area.setBands(bands, {{0}, {2'000'000'000}}, 10 * 1024);
    area.showCursor(0.5);
    for (const QSize size : {QSize(1000, 400), QSize(600, 120), QSize(260, 120)}) {
        area.resize(size);
        for (const double x : {70.0, size.width() / 2.0, size.width() - 10.0}) {
            const StackedArea::ReadOut out = area.readOut(x);
            EXPECT_EQ(out.lines.size(), 11u);
            EXPECT_TRUE(QRectF(area.rect()).contains(out.box)) << size.width() << ' ' << x;
            const double columns = std::ceil(11.0 / out.rows);
            EXPECT_LE(out.rows * out.line.height(), out.box.height());
            EXPECT_LE(columns * out.line.width(), out.box.width() + 0.01);
        }
    }
}

TEST(Spoken, GaugesSayTheirValues) {
    Gauges gauges;
    Gauge one;
    one.name = u"MFU"_s;
    one.value = u"41 %"_s;
    one.verdict = u"PASS"_s;
    gauges.setGauges({one});
    EXPECT_EQ(told(&gauges), u"MFU: 41 % PASS"_s);
    EXPECT_EQ(QAccessible::queryAccessibleInterface(&gauges)->role(), QAccessible::Chart);
}

TEST(Spoken, TheAddressSpaceSaysTheBlockThatIsPicked) {
    AddressMap map;
    auto data = std::make_shared<AddressData>();
    AddressPart part;
    part.begin = 0x1000, part.end = 0x3000;
    part.blocks = {{0x1000, 0x2000, 0}, {0x2000, 0x3000, 1}};
    data->parts = {part};
    map.setData(data);
    EXPECT_THAT(told(&map).toStdString(), HasSubstr("from 0x1000 to 0x3000"));
    const Listener listener(&map);
    map.selectBlock(1);
    map.describeBlock(u"0x2000 · 4.00 KiB"_s);
    EXPECT_EQ(Listener::take(), QStringList{u"0x2000 · 4.00 KiB"_s});
}

TEST(CursorKeys, GoFromPlaceToPlaceAndStopAtTheEnds) {
    EXPECT_EQ(movedCursor(Qt::Key_Right, -1, 3, Qt::Horizontal), 0);
    EXPECT_EQ(movedCursor(Qt::Key_Left, -1, 3, Qt::Horizontal), 0);
    EXPECT_EQ(movedCursor(Qt::Key_Right, 2, 3, Qt::Horizontal), 2);
    EXPECT_EQ(movedCursor(Qt::Key_Right, 0, 30, Qt::Horizontal, 10), 10);
    EXPECT_EQ(movedCursor(Qt::Key_Left, 4, 30, Qt::Horizontal, 10), 0);
    EXPECT_EQ(movedCursor(Qt::Key_Down, 0, 3, Qt::Vertical), 1);
    EXPECT_EQ(movedCursor(Qt::Key_Down, 0, 3, Qt::Horizontal), std::nullopt);
    EXPECT_EQ(movedCursor(Qt::Key_Home, 2, 3, Qt::Vertical), 0);
    EXPECT_EQ(movedCursor(Qt::Key_End, 0, 3, Qt::Vertical), 2);
    EXPECT_EQ(movedCursor(Qt::Key_Right, -1, 0, Qt::Horizontal), std::nullopt);
}

}  // namespace
}  // namespace shardscope::desktop
