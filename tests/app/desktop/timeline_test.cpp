// Keys and mouse on the timeline, and what it costs to draw.
#include "app/desktop/pages/timeline/lane_painter.h"
#include "app/desktop/pages/timeline/timeline_canvas.h"
#include "app/desktop/pages/timeline/timeline_geometry.h"
#include "app/desktop/pages/timeline/timeline_page.h"
#include "tests/app/desktop/window_fixture.h"

#include <gmock/gmock.h>

#include <QImage>
#include <QPainter>
#include <QWheelEvent>

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

TEST(LanePainter, DrawsNoMoreRectanglesThanPixels) {
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
    EXPECT_LE(lanes.painted(), 802);
    EXPECT_GE(lanes.painted(), 400);
}

TEST(LanePainter, CounterColumnsKeepTheHighestValue) {
    LaneFrame frame;
    frame.points = {{{{0}, {10}}, 1, 1, 1}, {{{10}, {12}}, 0, 9, 2}, {{{12}, {100}}, 2, 2, 2}};
    const auto columns = counterColumns(frame, {{{0}, {100}}, 10}, 10);
    EXPECT_EQ(columns[0], 1);
    EXPECT_EQ(columns[1], 9);
    EXPECT_EQ(columns[9], 2);
}

TEST(LanePainter, ZeroLengthEventsAreStillOnePixelWide) {
    SliceView slice;
    slice.range = {{500}, {500}};
    LaneRow row;
    EXPECT_GE(
        LanePainter::sliceArea(QRectF(0, 0, 100, 20), row, slice, {{{0}, {1000}}, 100}).width(), 1);
}

}  // namespace
}  // namespace shardscope::desktop
