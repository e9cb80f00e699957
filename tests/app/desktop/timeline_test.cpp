// Keys and mouse on the timeline, and what it costs to draw.
#include "app/desktop/models/open_recording.h"
#include "app/desktop/models/rank_order.h"
#include "app/desktop/models/time_scale.h"
#include "app/desktop/pages/timeline/canvas/timeline_canvas.h"
#include "app/desktop/pages/timeline/canvas/timeline_geometry.h"
#include "app/desktop/pages/timeline/tables/table_panel.h"
#include "app/desktop/pages/timeline/timeline_page.h"
#include "app/desktop/pages/timeline/tracks/lane_painter.h"
#include "app/desktop/pages/timeline/tracks/minimap.h"
#include "tests/app/desktop/window_fixture.h"

#include <gmock/gmock.h>

#include <QContextMenuEvent>
#include <QImage>
#include <QLineEdit>
#include <QMenu>
#include <QPainter>
#include <QScrollBar>
#include <QTabBar>
#include <QToolButton>
#include <QWheelEvent>
#include <algorithm>
#include <memory>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

class TimelineTest : public WindowTest {
protected:
    void SetUp() override {
        WindowTest::SetUp();
        m_window->showPage(u"timeline"_s);
        openSample();
        m_window->showPage(u"timeline"_s);
        settle();
        m_page = qobject_cast<TimelinePage*>(m_window->page(u"timeline"_s));
        m_canvas = &m_page->canvas();
    }

    void press(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
        QTest::keyClick(m_canvas, key, modifiers);
        settle();
    }

    /// A point in the middle of the widest slice of a lane in view.
    QPoint pointOn(LaneAddress key) {
        const LaneRow* row = m_canvas->lanes().row(key);
        for (int x = kLabelWidth + 2; x < m_canvas->viewport()->width(); x += 3) {
            const QPoint point(x, kRulerHeight + row->y + 3);
            const auto hit = m_canvas->hitAt(point);
            if (hit && hit->key == key && hit->slice.count == 1 &&
                hit->slice.range.begin >= m_canvas->view().begin)
                return point;
        }
        return {};
    }

    TimelinePage* m_page = nullptr;
    TimelineCanvas* m_canvas = nullptr;
};

TEST_F(TimelineTest, KeysZoomAndMove) {
    const TimeRange before = m_canvas->view();
    press(Qt::Key_W);
    EXPECT_LT(m_canvas->view().duration(), before.duration());
    press(Qt::Key_S);
    EXPECT_NEAR(m_canvas->view().duration().seconds(), before.duration().seconds(), 1e-6);
    press(Qt::Key_D);
    EXPECT_GT(m_canvas->view().begin, before.begin);
    press(Qt::Key_A);
    EXPECT_NEAR(m_canvas->view().begin.seconds(), before.begin.seconds(), 1e-6);
    press(Qt::Key_Up);
    EXPECT_LT(m_canvas->view().duration(), before.duration());
    press(Qt::Key_Right);
    press(Qt::Key_Left);
    press(Qt::Key_Down);
    press(Qt::Key_F);
    EXPECT_EQ(m_canvas->view(), m_window->loader().recording()->bounds());
}

TEST_F(TimelineTest, DraggingSelectsARangeAndZZoomsToIt) {
    QWidget* area = m_canvas->viewport();
    QTest::mousePress(area, Qt::LeftButton, Qt::NoModifier, QPoint(300, 100));
    QTest::mouseMove(area, QPoint(500, 120));
    QTest::mouseRelease(area, Qt::LeftButton, Qt::NoModifier, QPoint(500, 120));
    settle();
    const auto range = m_window->selection().current().range;
    ASSERT_TRUE(range);
    keepPicture(u"timeline-range"_s);
    press(Qt::Key_Z);
    EXPECT_EQ(m_canvas->view(), *range);
    press(Qt::Key_Escape);
    EXPECT_FALSE(m_window->selection().current().range);
}

TEST_F(TimelineTest, ShiftDragMovesTheView) {
    const TimeRange before = m_canvas->view();
    QWidget* area = m_canvas->viewport();
    QTest::mousePress(area, Qt::LeftButton, Qt::ShiftModifier, QPoint(500, 100));
    QTest::mouseMove(area, QPoint(400, 100));
    QTest::mouseRelease(area, Qt::LeftButton, Qt::ShiftModifier, QPoint(400, 100));
    EXPECT_GT(m_canvas->view().begin, before.begin);
    EXPECT_FALSE(m_window->selection().current().range);
}

TEST_F(TimelineTest, CtrlWheelZoomsAtThePointer) {
    const TimeRange before = m_canvas->view();
    QWheelEvent wheel(QPointF(600, 100), QPointF(600, 100), {}, QPoint(0, 120), Qt::NoButton,
                      Qt::ControlModifier, Qt::NoScrollPhase, false);
    QApplication::sendEvent(m_canvas->viewport(), &wheel);
    EXPECT_LT(m_canvas->view().duration(), before.duration());
    EXPECT_GT(m_canvas->view().begin, before.begin);
}

TEST_F(TimelineTest, StepsFromCollectiveToCollectiveAndRankToRank) {
    const LaneAddress lane{{0}, lanes::kCommunication.id};
    const QPoint point = pointOn(lane);
    ASSERT_FALSE(point.isNull());
    QTest::mouseClick(m_canvas->viewport(), Qt::LeftButton, Qt::NoModifier, point);
    ASSERT_TRUE(m_canvas->selectedSlice());
    const SliceView first = m_canvas->selectedSlice()->slice;
    QTest::mouseMove(m_canvas->viewport(), point + QPoint(2, 2));
    keepPicture(u"timeline-slice"_s);
    press(Qt::Key_Period);
    EXPECT_GT(m_canvas->selectedSlice()->slice.range.begin, first.range.begin);
    press(Qt::Key_Comma);
    EXPECT_EQ(m_canvas->selectedSlice()->slice.range, first.range);
    press(Qt::Key_N);
    EXPECT_EQ(m_canvas->selectedSlice()->key.rank, RankId{1});
    EXPECT_EQ(m_canvas->selectedSlice()->slice.correlation, first.correlation);
    press(Qt::Key_N, Qt::ShiftModifier);
    EXPECT_EQ(m_canvas->selectedSlice()->key.rank, RankId{0});
    press(Qt::Key_Escape);
    EXPECT_FALSE(m_canvas->selectedSlice());
}

TEST_F(TimelineTest, MarksAreWhereOneAsksForThem) {
    QSignalSpy asked(m_canvas, &TimelineCanvas::markRequested);
    press(Qt::Key_M);
    press(Qt::Key_D);
    press(Qt::Key_M);
    ASSERT_EQ(asked.size(), 2);
    EXPECT_LT(asked[0][0].value<Timestamp>(), asked[1][0].value<Timestamp>());
}

TEST_F(TimelineTest, ClickingARankFoldsIt) {
    const int before = m_canvas->lanes().height;
    QTest::mouseClick(m_canvas->viewport(), Qt::LeftButton, Qt::NoModifier,
                      QPoint(20, kRulerHeight + 8));
    settle();
    EXPECT_LT(m_canvas->lanes().height, before);
}

TEST_F(TimelineTest, KeysWorkFromTheFirstMomentOn) {
    EXPECT_TRUE(m_canvas->hasFocus()) << "the page is shown";
    m_window->showPage(u"overview"_s);
    m_window->showPage(u"timeline"_s);
    EXPECT_TRUE(m_canvas->hasFocus());
    openSample();
    EXPECT_TRUE(m_canvas->hasFocus()) << "another recording came";
}

TEST_F(TimelineTest, WhatIsSaidOfThePointerFollowsTheView) {
    QSignalSpy hover(m_canvas, &TimelineCanvas::hoverChanged);
    const QPoint at(600, kRulerHeight + 10);  // beside the name of a rank
    movePointer(m_canvas->viewport(), at);
    ASSERT_FALSE(hover.isEmpty());
    for (const Qt::Key key : {Qt::Key_W, Qt::Key_D, Qt::Key_F}) {
        const QString before = hover.back().front().toString();
        const auto moves = hover.size();
        press(key);
        EXPECT_GT(hover.size(), moves);
        EXPECT_NE(hover.back().front().toString(), before) << "another moment is under it";
    }
}

TEST_F(TimelineTest, TheMinimapMovesAndResizesTheView) {
    Minimap& map = m_page->minimap();
    const TimeRange bounds = m_window->loader().recording()->bounds();
    int lanesLeft = 0, lanesWidth = 0;
    QObject::connect(m_canvas, &TimelineCanvas::plotChanged, m_canvas, [&](int at, int width) {
        lanesLeft = at;
        lanesWidth = width;
    });
    press(Qt::Key_P);  // lays out anew, and says where the lanes are
    ASSERT_GT(lanesWidth, 0);
    const auto xOf = [&](Timestamp time) {
        return lanesLeft +
               static_cast<int>(TimeScale{bounds, static_cast<double>(lanesWidth)}.x(time));
    };
    const TimeRange before = m_canvas->view();
    QTest::mouseClick(&map, Qt::LeftButton, Qt::NoModifier,
                      QPoint(xOf({bounds.begin.ns + bounds.duration().ns / 4}), 20));
    EXPECT_NEAR(m_canvas->view().duration().seconds(), before.duration().seconds(), 1e-6);
    EXPECT_LT(m_canvas->view().begin, before.begin);
    const TimeRange moved = m_canvas->view();
    const QPoint edge(xOf(moved.end), 20);
    QTest::mousePress(&map, Qt::LeftButton, Qt::NoModifier, edge);
    QTest::mouseMove(&map, edge + QPoint(60, 0));
    QTest::mouseRelease(&map, Qt::LeftButton, Qt::NoModifier, edge + QPoint(60, 0));
    EXPECT_EQ(m_canvas->view().begin, moved.begin);
    EXPECT_GT(m_canvas->view().end, moved.end);
    const QImage plain = map.grab().toImage();
    map.setHits({{bounds.begin.ns + bounds.duration().ns / 10}});
    EXPECT_NE(map.grab().toImage(), plain) << "what was found is marked";
}

TEST_F(TimelineTest, ZOnASliceLeavesRoomAroundIt) {
    const QPoint point = pointOn({{0}, lanes::kCommunication.id});
    ASSERT_FALSE(point.isNull());
    QTest::mouseClick(m_canvas->viewport(), Qt::LeftButton, Qt::NoModifier, point);
    const TimeRange slice = m_canvas->selectedSlice()->slice.range;
    press(Qt::Key_Z);
    EXPECT_LT(m_canvas->view().begin, slice.begin);
    EXPECT_GT(m_canvas->view().end, slice.end);
    EXPECT_LT(m_canvas->view().duration().ns, slice.duration().ns * 3);
}

TEST_F(TimelineTest, LanesArePinnedHiddenAndFilteredByKeys) {
    const LaneAddress operators{{0}, lanes::kOperators.id};
    const auto pointAt = [&](LaneAddress key) {
        const LaneRow* row = m_canvas->lanes().row(key);
        movePointer(m_canvas->viewport(), QPoint(40, kRulerHeight + row->y + 4));
    };
    pointAt(operators);
    press(Qt::Key_P);
    ASSERT_EQ(m_canvas->lanes().pinned, 1U);
    EXPECT_EQ(m_canvas->lanes().rows[0].key, operators);
    pointAt(operators);
    press(Qt::Key_H);
    EXPECT_EQ(m_canvas->lanes().row(operators), nullptr);
    press(Qt::Key_H, Qt::ShiftModifier);
    EXPECT_NE(m_canvas->lanes().row(operators), nullptr);
    press(Qt::Key_C, Qt::ShiftModifier);
    EXPECT_EQ(m_canvas->lanes().row(operators), nullptr);
    press(Qt::Key_E, Qt::ShiftModifier);
    EXPECT_NE(m_canvas->lanes().row(operators), nullptr);
    press(Qt::Key_P, Qt::ControlModifier);
    QWidget* field = QApplication::focusWidget();
    ASSERT_NE(field, m_canvas);
    QTest::keyClicks(field, u"oper"_s);
    EXPECT_EQ(m_canvas->laneOptions().filter, u"oper"_s);
    EXPECT_EQ(m_canvas->lanes().row({{0}, lanes::kPhases.id}), nullptr);
    QTest::keyClick(field, Qt::Key_Escape);
    EXPECT_TRUE(m_canvas->hasFocus());
    EXPECT_NE(m_canvas->lanes().row({{0}, lanes::kPhases.id}), nullptr);
}

TEST_F(TimelineTest, TheMenuOfALaneDoesWhatItSays) {
    const LaneAddress operators{{0}, lanes::kOperators.id};
    const LaneRow* row = m_canvas->lanes().row(operators);
    const QPoint at(40, kRulerHeight + row->y + 4);
    QContextMenuEvent event(QContextMenuEvent::Mouse, at, m_canvas->viewport()->mapToGlobal(at));
    QApplication::sendEvent(m_canvas->viewport(), &event);
    auto* menu = m_canvas->findChild<QMenu*>();
    ASSERT_NE(menu, nullptr);
    const auto actions = menu->actions();
    const auto pin = std::find_if(actions.begin(), actions.end(), [](const QAction* action) {
        return action->text().startsWith(u"Pin"_s);
    });
    ASSERT_NE(pin, actions.end());
    (*pin)->trigger();
    menu->close();
    ASSERT_EQ(m_canvas->lanes().pinned, 1U);
    EXPECT_EQ(m_canvas->lanes().rows[0].key, operators);
}

TEST_F(TimelineTest, WhatIsLookedAtStaysWhereItIsWhenRowsAboveGrow) {
    m_window->resize(1280, 560);
    settle();
    const LaneAddress below{{1}, lanes::kPhases.id};
    m_canvas->verticalScrollBar()->setValue(m_canvas->lanes().row(below)->y);
    const auto place = [&] {
        return m_canvas->lanes().row(below)->y - m_canvas->verticalScrollBar()->value();
    };
    const int before = place();
    const int height = m_canvas->lanes().height;
    m_canvas->setDepths({{{LaneAddress{{0}, lanes::kOperators.id}}, 6}});
    ASSERT_GT(m_canvas->lanes().height, height);
    EXPECT_EQ(place(), before);
}

TEST_F(TimelineTest, TheRulerCountsFromWhatRAsksFor) {
    const auto ruler = [&] {
        return m_canvas->viewport()->grab().toImage().copy(300, 0, 600, kRulerHeight);
    };
    movePointer(m_canvas->viewport(), QPoint(5, 5));
    const QImage absolute = ruler();
    press(Qt::Key_R);
    const QImage relative = ruler();
    EXPECT_NE(relative, absolute);
    press(Qt::Key_R);
    EXPECT_NE(ruler(), relative);
    press(Qt::Key_R);
    EXPECT_EQ(ruler(), absolute);
}

TEST_F(TimelineTest, LanesScrollBelowTheRulerAndHeadersStay) {
    m_window->resize(1280, 600);
    settle();
    const auto ruler = [&] {
        const QImage picture = m_canvas->viewport()->grab().toImage();
        return picture.copy(m_canvas->lanes().rows.empty() ? 0 : 300, 0, 600, kRulerHeight);
    };
    movePointer(m_canvas->viewport(), QPoint(5, 5));
    const QImage before = ruler();
    m_canvas->verticalScrollBar()->setValue(40);
    settle();
    ASSERT_GT(m_canvas->verticalScrollBar()->value(), 0);
    EXPECT_EQ(ruler(), before);
    keepPicture(u"timeline-scrolled"_s);
}

TEST_F(TimelineTest, AnotherRecordingBeginsAtTheTopOfTheFirstTab) {
    m_window->resize(1100, 600);
    QTabBar& tabs = m_page->tables().tabs();
    ASSERT_GT(tabs.count(), 1);
    const int last = tabs.count() - 1;
    tabs.setCurrentIndex(last);
    auto* scroll = m_canvas->verticalScrollBar();
    ASSERT_GT(scroll->maximum(), 0);
    scroll->setValue(scroll->maximum());
    settle();
    const auto again = std::make_shared<OpenRecording>(*m_window->loader().recording());
    Q_EMIT m_window->loader().opened(again);
    settle();
    EXPECT_EQ(tabs.currentIndex(), last) << "the same, grown";
    EXPECT_GT(scroll->value(), 0);
    const auto other = std::make_shared<OpenRecording>(*again);
    other->summary.run.id = "another";
    Q_EMIT m_window->loader().opened(other);
    settle();
    EXPECT_EQ(tabs.currentIndex(), 0);
    EXPECT_EQ(scroll->value(), 0);
}

class ManyRanksTest : public WindowTest {
protected:
    void SetUp() override {
        WindowTest::SetUp();
        m_window->showPage(u"timeline"_s);
        test::SampleOptions options;
        options.ranks = 24;
        options.steps = 3;
        openSample(options);
        settle();
        m_canvas = &qobject_cast<TimelinePage*>(m_window->page(u"timeline"_s))->canvas();
    }
    TimelineCanvas* m_canvas = nullptr;
};

TEST_F(ManyRanksTest, AreAHeatMapWhoseRowsOpen) {
    const LaneLayout& lanes = m_canvas->lanes();
    ASSERT_EQ(lanes.rows.size(), 48U);
    keepPicture(u"timeline-heatmap"_s);
    // each row is painted from edge to edge of what its rank did
    const QImage picture = m_canvas->viewport()->grab().toImage();
    const LaneRow tenth = lanes.rows[20];
    const int y = kRulerHeight + tenth.y + tenth.height / 2;
    int painted = 0;
    for (int x = kLabelWidth + 20; x < picture.width(); x += 5)
        painted += picture.pixelColor(x, y).saturation() > 80 ? 1 : 0;
    EXPECT_GT(painted, picture.width() / 20);
    QTest::mouseClick(m_canvas->viewport(), Qt::LeftButton, Qt::NoModifier, QPoint(600, y));
    settle();
    EXPECT_NE(m_canvas->lanes().row({tenth.key.rank, lanes::kOperators.id}), nullptr);
    EXPECT_TRUE(m_canvas->lanes().rows.front().collapsed) << "the others stay as they are";
    keepPicture(u"timeline-heatmap-open"_s);
}

TEST_F(ManyRanksTest, StandInTheOrderOfAFigure) {
    m_canvas->setRankOrder({{23}, {4}});
    EXPECT_EQ(m_canvas->lanes().rows[0].key.rank, RankId{23});
    EXPECT_EQ(m_canvas->lanes().rows[2].key.rank, RankId{4});
    EXPECT_EQ(m_canvas->lanes().rows[4].key.rank, RankId{0});
}

TEST_F(ManyRanksTest, AreOrderedByTheMenuOfRanks) {
    auto* button = m_canvas->findChild<QToolButton*>();
    ASSERT_NE(button, nullptr);
    EXPECT_TRUE(button->isVisible());
    Q_EMIT button->menu()->aboutToShow();
    const auto entry = [&](const QString& text) -> QAction* {
        for (QAction* action : button->menu()->actions())
            if (action->text() == text) return action;
        return nullptr;
    };
    ASSERT_NE(entry(u"By rank"_s), nullptr);
    EXPECT_TRUE(entry(u"By rank"_s)->isChecked());
    QAction* byTime = entry(u"Highest first: step time"_s);
    ASSERT_NE(byTime, nullptr);
    byTime->trigger();
    settle();
    const auto figures = rankFigures(*wholePart(m_window->loader().recording())->report);
    const auto time = std::find_if(figures.begin(), figures.end(), [](const RankFigure& figure) {
        return figure.name == u"step time"_s;
    });
    ASSERT_NE(time, figures.end());
    const std::vector<RankId> order = highestFirst(*time);
    ASSERT_GT(order.size(), 2u);
    EXPECT_EQ(m_canvas->lanes().rows[0].key.rank, order[0]);
    EXPECT_EQ(m_canvas->lanes().rows[2].key.rank, order[1]);
    Q_EMIT button->menu()->aboutToShow();
    EXPECT_TRUE(entry(u"Highest first: step time"_s)->isChecked());
    entry(u"By rank"_s)->trigger();
    EXPECT_EQ(m_canvas->lanes().rows[0].key.rank, RankId{0});
}

TEST_F(ManyRanksTest, OnlyLanesNearSightAreAskedFor) {
    std::size_t most = 0;
    QObject::connect(
        m_canvas, &TimelineCanvas::pictureRequested, m_canvas,
        [&](const TimelineQuery& query) { most = std::max(most, query.lanes.size()); });
    QTest::keyClick(m_canvas, Qt::Key_E, Qt::ShiftModifier);
    settle();
    m_canvas->verticalScrollBar()->setValue(m_canvas->verticalScrollBar()->maximum() / 2);
    settle();
    EXPECT_GT(most, 0U);
    EXPECT_LT(most, m_canvas->lanes().loadedLanes().size() / 3);
    const LaneRow* row = m_canvas->lanes().rowAt(m_canvas->verticalScrollBar()->value() + 60);
    ASSERT_NE(row, nullptr);
    EXPECT_GT(row->key.rank.value, 5U) << "the middle is in sight";
}

TEST(LanePainter, WhatIsNarrowerThanAPixelIsOneStrip) {
    LaneFrame frame;
    for (std::int64_t i = 0; i < 100'000; ++i) {
        SliceView slice;
        slice.range = {{i * 10}, {i * 10 + 9}};
        slice.waitedUntil = slice.range.begin;
        slice.phase = Phase::kForward;
        frame.slices.push_back(slice);
    }
    LaneRow row;
    row.role = LaneRole::kCompute;
    QImage image(800, 24, QImage::Format_RGB32);
    QPainter painter(&image);
    LanePainter lanes(Theme::light());
    lanes.paintSlices(painter, QRectF(0, 0, 800, 24), row, frame, {{{0}, {1'000'000}}, 800});
    EXPECT_EQ(lanes.painted(), 1);
}

TEST(LanePainter, CounterColumnsKeepTheHighestValue) {
    LaneFrame frame;
    frame.points = {{{{0}, {10}}, 1, 1, 1}, {{{10}, {12}}, 0, 9, 2}, {{{12}, {100}}, 2, 2, 2}};
    const auto columns = counterColumns(frame.points, {{{0}, {100}}, 10}, 10);
    EXPECT_EQ(columns[0], 1);
    EXPECT_EQ(columns[1], 9);
    EXPECT_EQ(columns[9], 2);
    EXPECT_EQ(counterColumns({}, {{{0}, {100}}, 10}, 10)[5], kNoValue) << "not 0: it is unknown";
}

TEST(LanePainter, ZeroLengthEventsAreStillOnePixelWide) {
    SliceView slice;
    slice.range = {{500}, {500}};
    LaneRow row;
    EXPECT_GE(
        LanePainter::sliceArea(QRectF(0, 0, 100, 20), row, slice, 0, {{{0}, {1000}}, 100}).width(),
        1);
}

}  // namespace
}  // namespace shardscope::desktop
