// The flame graph widget: what is where, zoom, search, keys; and what its data says.
#include "app/desktop/widgets/pictures/flame_graph.h"

#include "app/desktop/models/format.h"
#include "app/desktop/widgets/pictures/column_chart.h"

#include <gtest/gtest.h>

#include <QMenu>
#include <QSignalSpy>
#include <QTest>
#include <algorithm>
#include <cmath>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kRowHigh = 18;

/// all 1000: a 600 (aa 400, ab 100), b 300, and a hundred of 1 each.
std::shared_ptr<const FlameData> sample() {
    FlameData data;
    data.names = {u"all"_s, u"a"_s, u"b"_s, u"aten::aa"_s, u"aten::ab"_s, u"small"_s};
    data.cells = {{0, 1000, 0, 0, 0, 0},
                  {0, 600, 100, 1, 1, 0, Meaning::kCompute},
                  {600, 300, 300, 2, 2, 0, Meaning::kHost}};
    for (int i = 0; i < 100; ++i) data.cells.push_back({900.0 + i, 1, 1, 1, 5, 0, Meaning::kCopy});
    const std::size_t third = data.cells.size();
    data.cells.push_back({0, 400, 400, 4, 3, 1, Meaning::kCompute});
    data.cells.push_back({400, 100, 100, 1, 4, 1, Meaning::kCompute});
    data.rows = {0, 1, third, data.cells.size()};
    return std::make_shared<const FlameData>(data);
}

class FlameGraphTest : public ::testing::Test {
protected:
    void SetUp() override {
        m_graph.resize(1000, m_graph.height());
        m_graph.setIcicle(true);
        m_graph.setData(sample(), u"operators"_s);
        m_graph.show();
        ASSERT_TRUE(QTest::qWaitForWindowExposed(&m_graph));
        m_graph.setFixedWidth(1000);
    }
    static QPoint at(int x, int row) { return {x, row * kRowHigh + kRowHigh / 2}; }
    void click(QPoint where) { QTest::mouseClick(&m_graph, Qt::LeftButton, {}, where); }

    FlameGraph m_graph;
};

TEST_F(FlameGraphTest, CellsLieWhereTheirTimeIs) {
    EXPECT_EQ(m_graph.cellAt(at(500, 0)), std::optional<std::size_t>(0));
    EXPECT_EQ(m_graph.cellAt(at(300, 1)), std::optional<std::size_t>(1));
    EXPECT_EQ(m_graph.cellAt(at(450, 2)), std::optional<std::size_t>(104));
    EXPECT_FALSE(m_graph.cellAt(at(800, 2)));
    EXPECT_NEAR(m_graph.areaOf(2).left(), 600, 1);
    EXPECT_NEAR(m_graph.areaOf(2).width(), 300, 1);
    m_graph.setIcicle(false);
    EXPECT_GT(m_graph.areaOf(0).top(), m_graph.areaOf(1).top());
}

TEST_F(FlameGraphTest, AClickZoomsInAndBackspaceOut) {
    const QSignalSpy picked(&m_graph, &FlameGraph::cellPicked);
    click(at(300, 1));
    EXPECT_EQ(picked.count(), 1);
    EXPECT_EQ(m_graph.zoomed(), 1u);
    EXPECT_NEAR(m_graph.areaOf(1).width(), 1000, 1);
    EXPECT_TRUE(m_graph.areaOf(2).isEmpty());
    QTest::keyClick(&m_graph, Qt::Key_Backspace);
    EXPECT_EQ(m_graph.zoomed(), 0u);
    click(at(450, 2));
    EXPECT_EQ(m_graph.zoomed(), 104u);
    QTest::keyClick(&m_graph, Qt::Key_Escape);
    EXPECT_EQ(m_graph.zoomed(), 1u) << "out by one";
    QTest::keyClick(&m_graph, Qt::Key_Home);
    EXPECT_EQ(m_graph.zoomed(), 0u);
}

TEST_F(FlameGraphTest, KeysZoomAndMove) {
    QTest::keyClick(&m_graph, Qt::Key_W);
    const double zoomed = m_graph.areaOf(1).width();
    EXPECT_GT(m_graph.areaOf(2).width(), 300);
    QTest::keyClick(&m_graph, Qt::Key_D);
    EXPECT_LT(m_graph.areaOf(1).width(), zoomed);
    QTest::keyClick(&m_graph, Qt::Key_A);
    for (int i = 0; i < 4; ++i) QTest::keyClick(&m_graph, Qt::Key_S);
    EXPECT_NEAR(m_graph.areaOf(0).width(), 1000, 1) << "no farther out than everything";
}

TEST_F(FlameGraphTest, ArrowsGoFromCellToCell) {
    QTest::keyClick(&m_graph, Qt::Key_Down);
    EXPECT_EQ(m_graph.selected(), std::optional<std::size_t>(0));
    QTest::keyClick(&m_graph, Qt::Key_Down);
    EXPECT_EQ(m_graph.selected(), std::optional<std::size_t>(1));
    QTest::keyClick(&m_graph, Qt::Key_Down);
    EXPECT_EQ(m_graph.selected(), std::optional<std::size_t>(103));
    QTest::keyClick(&m_graph, Qt::Key_Right);
    EXPECT_EQ(m_graph.selected(), std::optional<std::size_t>(104));
    QTest::keyClick(&m_graph, Qt::Key_Up);
    EXPECT_EQ(m_graph.selected(), std::optional<std::size_t>(1));
    EXPECT_TRUE(m_graph.accessibleDescription().contains(u"a: "_s));
    QTest::keyClick(&m_graph, Qt::Key_Return);
    EXPECT_EQ(m_graph.zoomed(), 1u);
}

TEST_F(FlameGraphTest, ASearchSaysHowMuchOfTheTimeItFinds) {
    m_graph.setSearch(u"ATEN"_s);
    EXPECT_EQ(m_graph.found().cells, 2u);
    EXPECT_EQ(m_graph.found().count, 5);
    EXPECT_DOUBLE_EQ(m_graph.found().share, 0.5);
    m_graph.setSearch(u"a"_s);
    EXPECT_DOUBLE_EQ(m_graph.found().share, 0.7) << "what lies within a found one counts once";
    m_graph.setSearch(u"nowhere"_s);
    EXPECT_EQ(m_graph.found().cells, 0u);
}

TEST_F(FlameGraphTest, CellsThatShareAPixelAreSeen) {
    m_graph.setFixedWidth(240);
    const QImage picture = m_graph.grab().toImage();
    const QColor ground = picture.pixelColor(picture.width() - 2, picture.height() - 3);
    const double scale = picture.devicePixelRatio();
    const QColor small = picture.pixelColor(QPointF(230 * scale, 27 * scale).toPoint());
    EXPECT_NE(small, ground);
}

TEST_F(FlameGraphTest, AMenuOffersWhatThePageAdds) {
    std::vector<std::size_t> opens;
    QObject::connect(&m_graph, &FlameGraph::menuOpens, &m_graph,
                     [&](QMenu*, std::size_t cell) { opens.push_back(cell); });
    QContextMenuEvent event(QContextMenuEvent::Mouse, at(300, 1), m_graph.mapToGlobal(at(300, 1)));
    QCoreApplication::sendEvent(&m_graph, &event);
    EXPECT_EQ(opens, std::vector<std::size_t>{1});
    for (QMenu* menu : m_graph.findChildren<QMenu*>()) menu->close();
}

TEST_F(FlameGraphTest, WithoutDataKeysDoNothing) {
    m_graph.setData(std::make_shared<const FlameData>(), {});
    for (const auto key : {Qt::Key_W, Qt::Key_Down, Qt::Key_Return, Qt::Key_Escape, Qt::Key_Home})
        QTest::keyClick(&m_graph, key);
    click(at(10, 0));
    EXPECT_FALSE(m_graph.selected());
    EXPECT_TRUE(m_graph.areaOf(0).isEmpty());
}

TEST(FlameData, SaysTimeShareAndCount) {
    const auto data = sample();
    EXPECT_EQ(flameText(*data, 103),
              u"aten::aa: %1 of %2 (%3), self %1, 4 times"_s.arg(
                  formatDuration({400}), formatDuration({1000}), formatPercent(0.4)));
    FlameData compared = *data;
    compared.cells[1].change = -0.25F;
    EXPECT_TRUE(flameText(compared, 1).endsWith(formatSignedPercent(-0.25)));
    EXPECT_EQ(data->rowOf(0), 0u);
    EXPECT_EQ(data->rowOf(104), 2u);
}

StackedBar column(const QString& name, double exposed, double hidden) {
    StackedBar bar;
    bar.label = name;
    bar.total = u"in all"_s;
    bar.segments = {{exposed, Meaning::kGather, u"exposed"_s, u"some"_s},
                    {hidden, Meaning::kGather, u"hidden"_s, u"more"_s, true}};
    return bar;
}

class ColumnChartTest : public ::testing::Test {
protected:
    void SetUp() override {
        m_columns.resize(600, 240);
        m_columns.setTitles(u"ms"_s, u"layer"_s);
        m_columns.setGroups({{u"0"_s, {column(u"gather 0"_s, 3, 1), column(u"scatter 0"_s, 1, 0)}},
                             {u"1"_s, {column(u"gather 1"_s, 8, 2)}}});
        m_columns.show();
        ASSERT_TRUE(QTest::qWaitForWindowExposed(&m_columns));
    }
    ColumnChart m_columns;
};

TEST_F(ColumnChartTest, StandOnOneScale) {
    const QRectF low = m_columns.columnAt(0, 0), high = m_columns.columnAt(1, 0);
    EXPECT_NEAR(high.height() / low.height(), 10.0 / 4, 0.05);
    EXPECT_EQ(low.bottom(), high.bottom());
    EXPECT_LT(low.right(), m_columns.columnAt(0, 1).left() + 1);
    EXPECT_LE(high.right(), m_columns.plot().right());
    EXPECT_TRUE(m_columns.columnAt(1, 1).isNull());
}

TEST_F(ColumnChartTest, AMarkAboveAllColumnsIsOnTheScale) {
    const double before = m_columns.columnAt(1, 0).height();
    m_columns.setMarks({{20, u"peak"_s}});
    EXPECT_NEAR(m_columns.columnAt(1, 0).height() / before, 0.5, 0.02);
    const QImage image = m_columns.grab().toImage();
    const QRectF area = m_columns.plot();
    const auto darkest = [&](double y) {
        int least = 255;
        for (int x = static_cast<int>(area.left()) + 2; x < static_cast<int>(area.right()); ++x)
            least = std::min(least, image.pixelColor(x, static_cast<int>(y)).lightness());
        return least;
    };
    const double at = area.bottom() - area.height() / 1.05;
    EXPECT_LT(std::min({darkest(at - 1), darkest(at), darkest(at + 1)}), 100) << "a line across";
    m_columns.setMarks({});
    EXPECT_EQ(m_columns.columnAt(1, 0).height(), before);
}

TEST_F(ColumnChartTest, AClickSaysWhichOne) {
    QSignalSpy clicked(&m_columns, &ColumnChart::columnActivated);
    QTest::mouseClick(&m_columns, Qt::LeftButton, {}, m_columns.columnAt(1, 0).center().toPoint());
    ASSERT_EQ(clicked.size(), 1);
    EXPECT_EQ(clicked[0][0].toInt(), 1);
    EXPECT_EQ(clicked[0][1].toInt(), 0);
    EXPECT_EQ(m_columns.cursorText(), u"gather 1: in all · exposed some · hidden more"_s);
    // beside the columns there is nothing to choose
    QTest::mouseClick(&m_columns, Qt::LeftButton, {},
                      QPoint(m_columns.width() - 10, m_columns.height() / 2));
    EXPECT_EQ(clicked.size(), 1);
}

TEST_F(ColumnChartTest, KeysGoFromColumnToColumn) {
    QSignalSpy chosen(&m_columns, &ColumnChart::columnActivated);
    QTest::keyClick(&m_columns, Qt::Key_Right);
    QTest::keyClick(&m_columns, Qt::Key_Right);
    EXPECT_TRUE(m_columns.cursorText().startsWith(u"scatter 0"_s));
    QTest::keyClick(&m_columns, Qt::Key_End);
    QTest::keyClick(&m_columns, Qt::Key_Right);
    QTest::keyClick(&m_columns, Qt::Key_Return);
    ASSERT_EQ(chosen.size(), 1);
    EXPECT_EQ(chosen[0][0].toInt(), 1);
    EXPECT_TRUE(m_columns.accessibleDescription().startsWith(u"gather 1"_s));
    // one stays where one is while the same columns are shown in another light
    m_columns.setGroups({{u"0"_s, {column(u"gather 0"_s, 3, 1), column(u"scatter 0"_s, 1, 0)}},
                         {u"1"_s, {column(u"gather 1"_s, 8, 2)}}});
    QTest::keyClick(&m_columns, Qt::Key_Left);
    EXPECT_TRUE(m_columns.cursorText().startsWith(u"scatter 0"_s));
    m_columns.setGroups({{u"0"_s, {column(u"gather 0"_s, 3, 1)}}});
    EXPECT_TRUE(m_columns.cursorText().isEmpty());
}

TEST_F(ColumnChartTest, HiddenIsPalerThanExposed) {
    const QImage image = m_columns.grab().toImage();
    const QRectF bar = m_columns.columnAt(1, 0);
    const auto lightness = [&](double share) {
        return image
            .pixelColor(bar.center().toPoint().x(),
                        static_cast<int>(bar.bottom() - bar.height() * share))
            .saturation();
    };
    EXPECT_GT(lightness(0.4), lightness(0.9));
}

TEST_F(ColumnChartTest, WithoutColumnsNothingHappens) {
    m_columns.setGroups({});
    QSignalSpy chosen(&m_columns, &ColumnChart::columnActivated);
    QTest::keyClick(&m_columns, Qt::Key_Right);
    QTest::keyClick(&m_columns, Qt::Key_Return);
    QTest::mouseClick(&m_columns, Qt::LeftButton, {}, QPoint(100, 100));
    EXPECT_EQ(chosen.size(), 0);
}

}  // namespace
}  // namespace shardscope::desktop
