#include "app/desktop/widgets/pictures/column_chart.h"

#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QTest>
#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

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
