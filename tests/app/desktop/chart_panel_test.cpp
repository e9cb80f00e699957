// The chart: what it shows, and what pointer and keys do to it.
#include "app/desktop/widgets/chart_panel.h"

#include "app/desktop/widgets/theme.h"
#include "tests/app/desktop/double_click.h"

#include <gmock/gmock.h>

#include <QApplication>
#include <QImage>
#include <QSignalSpy>
#include <QTest>
#include <QWheelEvent>
#include <cmath>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

QVector<QPointF> ramp(int points) {
    QVector<QPointF> line;
    for (int i = 0; i < points; ++i) line.push_back({static_cast<double>(i), i * 0.5});
    return line;
}

class ChartPanelTest : public ::testing::Test {
protected:
    ChartPanelTest() {
        m_chart.resize(476, 272);  // a plot of 400 x 200
        m_chart.setTitles(u"Loss"_s, u"nats"_s, u"step"_s);
        m_chart.setSeries({{u"training"_s, ramp(101)}});
        m_chart.show();
    }

    QPoint at(double x, double y = 0.5) {
        const QRectF plot = m_chart.plot();
        return {static_cast<int>(
                    std::lround(plot.left() + m_chart.horizontal().position(x, plot.width()))),
                static_cast<int>(plot.top() + plot.height() * y)};
    }
    void drag(double from, double to, Qt::KeyboardModifiers keys = {}) {
        QTest::mousePress(&m_chart, Qt::LeftButton, keys, at(from));
        for (const QPoint& where : {at((from + to) / 2), at(to)}) {
            QMouseEvent move(QEvent::MouseMove, where, m_chart.mapToGlobal(QPointF(where)),
                             Qt::NoButton, Qt::LeftButton, keys);
            QApplication::sendEvent(&m_chart, &move);
        }
        QTest::mouseRelease(&m_chart, Qt::LeftButton, keys, at(to));
    }
    QImage picture() { return m_chart.grab().toImage(); }
    int coloured(const QImage& image, const QColor& colour, const QRectF& where) {
        int count = 0;
        for (int y = static_cast<int>(where.top()); y < where.bottom(); ++y)
            for (int x = static_cast<int>(where.left()); x < where.right(); ++x)
                if (image.pixelColor(x, y).rgb() == colour.rgb()) ++count;
        return count;
    }

    ChartPanel m_chart;
};

TEST_F(ChartPanelTest, DrawsItsLineFromCornerToCorner) {
    const QImage image = picture();
    const QColor colour = lineColour(Theme::of(&m_chart), Meaning::kCompute);
    const QRectF plot = m_chart.plot();
    const QRectF lowLeft(plot.left(), plot.center().y(), plot.width() / 2, plot.height() / 2);
    const QRectF highLeft(plot.left(), plot.top(), plot.width() / 2, plot.height() / 2);
    EXPECT_GT(coloured(image, colour, lowLeft), 20);
    EXPECT_EQ(coloured(image, colour, highLeft.adjusted(0, 0, -8, -8)), 0);
}

TEST_F(ChartPanelTest, SaysItsLastValueToWhoCannotSeeIt) {
    EXPECT_EQ(m_chart.accessibleName(), u"Loss in nats over step, training last 50.0 at 100"_s);
}

TEST_F(ChartPanelTest, ADragSelectsAStretch) {
    QSignalSpy selected(&m_chart, &ChartPanel::rangeSelected);
    QSignalSpy activated(&m_chart, &ChartPanel::activated);
    drag(60, 20);
    ASSERT_EQ(selected.count(), 1);
    EXPECT_NEAR(selected[0][0].toDouble(), 20, 0.5);
    EXPECT_NEAR(selected[0][1].toDouble(), 60, 0.5);
    EXPECT_EQ(activated.count(), 0);
    QTest::mouseClick(&m_chart, Qt::LeftButton, {}, at(30));
    ASSERT_EQ(activated.count(), 1);
    EXPECT_NEAR(activated[0][0].toDouble(), 30, 0.5);
}

TEST_F(ChartPanelTest, ControlAndDragZoomsAndTwoClicksShowEverything) {
    QSignalSpy selected(&m_chart, &ChartPanel::rangeSelected);
    drag(20, 60, Qt::ControlModifier);
    EXPECT_EQ(selected.count(), 0);
    EXPECT_NEAR(m_chart.horizontal().low, 20, 0.5);
    EXPECT_NEAR(m_chart.horizontal().high, 60, 0.5);
    EXPECT_LT(m_chart.vertical().high, 40) << "y follows what is seen";
    doubleClick(&m_chart, at(40));
    EXPECT_EQ(m_chart.horizontal(), (AxisRange{0, 100}));
}

TEST_F(ChartPanelTest, TheWheelZoomsRoundThePointerOnlyWithControl) {
    const QPointF where = at(50);
    const auto turn = [&](Qt::KeyboardModifiers keys) {
        QWheelEvent wheel(where, m_chart.mapToGlobal(where), {}, {0, 120}, Qt::NoButton, keys,
                          Qt::NoScrollPhase, false);
        QApplication::sendEvent(&m_chart, &wheel);
        return wheel.isAccepted();
    };
    EXPECT_FALSE(turn(Qt::NoModifier)) << "it belongs to the page";
    EXPECT_FALSE(m_chart.isZoomed());
    turn(Qt::ControlModifier);
    EXPECT_NEAR(m_chart.horizontal().low, 10, 1);
    EXPECT_NEAR(m_chart.horizontal().high, 90, 1);
}

TEST_F(ChartPanelTest, KeysMoveTheCursorAndSelect) {
    QSignalSpy activated(&m_chart, &ChartPanel::activated);
    QTest::keyClick(&m_chart, Qt::Key_Right);
    QTest::keyClick(&m_chart, Qt::Key_Right);
    EXPECT_EQ(m_chart.cursorText(), u"step 1: 0.500\u2009nats"_s);
    QTest::keyClick(&m_chart, Qt::Key_Left);
    QTest::keyClick(&m_chart, Qt::Key_Return);
    ASSERT_EQ(activated.count(), 1);
    EXPECT_EQ(activated[0][0].toDouble(), 0);
    QTest::keyClick(&m_chart, Qt::Key_Plus);
    EXPECT_TRUE(m_chart.isZoomed());
    QTest::keyClick(&m_chart, Qt::Key_0);
    EXPECT_FALSE(m_chart.isZoomed());
}

TEST_F(ChartPanelTest, LinkedChartsShareCursorAndZoom) {
    ChartPanel other;
    other.resize(400, 240);
    other.setTitles(u"Rate"_s, {}, u"step"_s);
    other.setSeries({{u"rate"_s, ramp(101)}});
    linkCharts({&m_chart, &other});
    QTest::mouseMove(&m_chart, at(40));
    drag(20, 60, Qt::ControlModifier);
    EXPECT_EQ(other.horizontal(), m_chart.horizontal());
    EXPECT_TRUE(other.cursorText().startsWith(u"step "_s));
    EXPECT_EQ(other.cursorText() + u"\u2009nats"_s, m_chart.cursorText());
}

TEST_F(ChartPanelTest, ValuesUnderThePointerHaveTheirUnit) {
    m_chart.setTitles(u"Memory in use"_s, u"MiB, largest rank"_s, u"time, s"_s);
    m_chart.setSeries({{u"peak"_s, ramp(101)}, {u"theory"_s, ramp(101)}});
    m_chart.showCursor(50);
    EXPECT_EQ(m_chart.cursorText(), u"time 50\u2009s: peak 25.0\u2009MiB, theory 25.0\u2009MiB"_s);
    m_chart.setTitles(u"Blocked in communication"_s, u"% of the step"_s, u"step"_s);
    EXPECT_TRUE(m_chart.cursorText().endsWith(u"\u2009%"_s)) << m_chart.cursorText().toStdString();
}

TEST_F(ChartPanelTest, ThinsLongLinesAndKeepsTheirPeaks) {
    QVector<QPointF> line;
    for (int i = 0; i < 100'000; ++i) line.push_back({static_cast<double>(i), 1});
    line[54'321].setY(9);
    m_chart.setSeries({{u"training"_s, line}});
    const QImage image = picture();
    EXPECT_LE(m_chart.drawnPoints(), 404);
    EXPECT_GT(m_chart.vertical().high, 9);
    const QColor colour = lineColour(Theme::of(&m_chart), Meaning::kCompute);
    const int x = at(54'321).x();
    const QRectF above(x - 3, m_chart.plot().top(), 6, m_chart.plot().height() / 2);
    int dark = 0;
    for (int y = static_cast<int>(above.top()); y < above.bottom(); ++y)
        for (int i = 0; i < 6; ++i)
            dark += image.pixelColor(x - 3 + i, y).blueF() - image.pixelColor(x - 3 + i, y).redF() >
                    0.2F;
    EXPECT_GT(dark, 20) << colour.name().toStdString();
}

TEST_F(ChartPanelTest, LogarithmicAxesLeaveOutWhatTheyCannotShow) {
    QVector<QPointF> line{{0, 0}, {1, 1}, {2, 10}, {3, 1000}};
    m_chart.setSeries({{u"training"_s, line}});
    m_chart.setLogarithmic(false, true);
    EXPECT_TRUE(m_chart.vertical().logarithmic);
    EXPECT_GT(m_chart.vertical().low, 0);
    const AxisRange y = m_chart.vertical();
    EXPECT_NEAR(y.position(10, 300) - y.position(1, 300),
                (y.position(1000, 300) - y.position(10, 300)) / 2, 1e-6);
    EXPECT_THAT(axisTicks({1, 1000, true}, 4), ::testing::ElementsAre(1, 10, 100, 1000));
    EXPECT_THAT(axisTicks({1, 10, true}, 8), ::testing::ElementsAre(1, 2, 5, 10));
    picture();
}

TEST_F(ChartPanelTest, HistogramsStandWhereTheirValuesAre) {
    m_chart.setSeries({});
    m_chart.setWholeNumbers(false);
    m_chart.setHistogram(Histogram{10, 5, {1, 0, 0, 4}});
    m_chart.setMarks({{27.5, u"median"_s}});
    EXPECT_EQ(m_chart.horizontal(), (AxisRange{10, 30}));
    m_chart.showCursor(26);
    EXPECT_EQ(m_chart.cursorText(), u"25.0 to 30.0: 4"_s);
    m_chart.hideCursor();
    const QImage image = picture();
    const QRectF plot = m_chart.plot();
    const QColor colour = lineColour(Theme::of(&m_chart), Meaning::kCompute);
    const double quarter = plot.width() / 4;
    const auto bar = [&](int i) {
        return coloured(image, colour,
                        QRectF(plot.left() + i * quarter, plot.top(), quarter, plot.height()));
    };
    EXPECT_GT(bar(0), 1000);
    EXPECT_EQ(bar(1), 0);
    EXPECT_NEAR(bar(3), 4 * bar(0), bar(0) * 0.3);
}

TEST_F(ChartPanelTest, FollowsTheTheme) {
    const QColor light = lineColour(Theme::light(), Meaning::kCompute);
    const QColor dark = lineColour(Theme::darkTheme(), Meaning::kCompute);
    ASSERT_GT(coloured(picture(), light, m_chart.plot()), 20);
    const QPalette before = QApplication::palette();
    QApplication::setPalette(Theme::darkTheme().palette());
    QTest::qWait(1);
    const QImage image = picture();
    QApplication::setPalette(before);
    EXPECT_GT(coloured(image, dark, m_chart.plot()), 20);
    EXPECT_EQ(coloured(image, light, m_chart.plot()), 0);
}

}  // namespace
}  // namespace shardscope::desktop
