// The window on screens that are scaled: ctest runs these at QT_SCALE_FACTOR 1, 1.5 and 2.
#include "app/desktop/pages/timeline/canvas/timeline_canvas.h"
#include "app/desktop/pages/timeline/canvas/timeline_geometry.h"
#include "app/desktop/pages/timeline/details/slice_details.h"
#include "app/desktop/pages/timeline/timeline_page.h"
#include "app/desktop/pages/timeline/tracks/column_strip.h"
#include "app/desktop/pages/timeline/tracks/minimap.h"
#include "app/desktop/widgets/pictures/heat_map.h"
#include "app/desktop/widgets/pictures/stacked_area.h"
#include "tests/app/desktop/window_fixture.h"

#include <QImage>
#include <cmath>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

class ScaleTest : public WindowTest {
protected:
    [[nodiscard]] double ratio() const { return m_window->devicePixelRatioF(); }
};

TEST_F(ScaleTest, PicturesAreAsFineAsTheScreen) {
    if (const double asked = qEnvironmentVariable("QT_SCALE_FACTOR").toDouble(); asked > 0) {
        EXPECT_DOUBLE_EQ(ratio(), asked);
    }
    openSample();
    for (const QString& id : {u"overview"_s, u"timeline"_s, u"memory"_s}) {
        m_window->showPage(id);
        settle();
        const QImage picture = m_window->grab().toImage();
        EXPECT_EQ(picture.size(), (QSizeF(m_window->size()) * ratio()).toSize());
    }
}

/// How often the colour changes from one pixel of the screen to the next, along a row of a picture.
int changesAlong(const QImage& image, int y, int from, int to) {
    int changes = 0;
    for (int x = from + 1; x < to; ++x)
        if (image.pixel(x, y) != image.pixel(x - 1, y)) ++changes;
    return changes;
}

TEST_F(ScaleTest, AHeatMapHasACellAPixelOfTheScreen) {
    HeatMap map;
    map.setTitles(u"step"_s, u"rank"_s, u"share"_s);
    map.resize(500, 100);
    const int columns = static_cast<int>(std::lround(map.plot().width() * ratio()));
    HeatData data;
    data.rows = {u"rank 0"_s};
    data.maximum = 1;
    for (int i = 0; i < columns; ++i) {
        data.columns.push_back(QString::number(i));
        data.values.push_back(i % 2 == 0 ? 0.0F : 1.0F);
    }
    map.setMap(std::move(data));
    map.resize(500, map.height());
    const QImage picture = map.grab().toImage();
    const QRectF plot = map.plot();
    const int y = static_cast<int>(plot.center().y() * ratio());
    const int left = static_cast<int>(plot.left() * ratio());
    EXPECT_GE(changesAlong(picture, y, left, left + columns), columns - 3);
}

TEST_F(ScaleTest, BandsOverTimeHaveAColumnAPixelOfTheScreen) {
    StackedArea area;
    area.resize(500, 200);
    const int columns = area.plotWidth();
    EXPECT_GE(columns, static_cast<int>(400 * ratio()));
    AreaBand band{u"parameters"_s, Meaning::kCompute, {}};
    for (int i = 0; i < columns; ++i) band.values.push_back(i % 2 == 0 ? 0 : 1000);
    area.setBands({band}, {{0}, {1'000'000'000}}, 1000);
    const QImage picture = area.grab().toImage();
    const int y = static_cast<int>(100 * ratio());
    EXPECT_GE(
        changesAlong(picture, y, static_cast<int>(80 * ratio()), static_cast<int>(400 * ratio())),
        static_cast<int>(320 * ratio()) - 8);
}

TEST(ScaleStrip, ColumnsAreThoseOfTheScreen) {
    for (const double fine : {1.0, 1.5, 2.0}) {
        ColumnStrip strip(100, ColumnStrip::Mix::kDominant, fine);
        const int columns = static_cast<int>(100 * fine);
        for (int i = 0; i < columns; i += 2)
            strip.add(i / fine, (i + 1) / fine, 1, qRgb(255, 0, 0));
        QImage image(columns, static_cast<int>(10 * fine), QImage::Format_RGB32);
        image.setDevicePixelRatio(fine);
        image.fill(Qt::white);
        QPainter painter(&image);
        strip.paint(painter, QRectF(0, 0, 100, 10));
        painter.end();
        EXPECT_EQ(strip.width(), 100);
        EXPECT_GE(changesAlong(image, 5, 0, columns), columns - 2) << fine;
        EXPECT_EQ(image.pixelColor(0, 5), QColor(255, 0, 0));
    }
}

class ScaledTimelineTest : public ScaleTest {
protected:
    void SetUp() override {
        ScaleTest::SetUp();
        m_window->showPage(u"timeline"_s);
        openSample();
        m_page = qobject_cast<TimelinePage*>(m_window->page(u"timeline"_s));
        m_canvas = &m_page->canvas();
        settle();
    }
    TimelinePage* m_page = nullptr;
    TimelineCanvas* m_canvas = nullptr;
};

/// What is painted at a pixel is what a click there finds.
TEST_F(ScaledTimelineTest, AClickFindsTheSliceThatIsSeenThere) {
    const QImage picture = m_canvas->viewport()->grab().toImage();
    const Theme& theme = Theme::of(m_canvas);
    int seen = 0, same = 0;
    std::optional<TimelineHit> clicked;
    QPoint at;
    for (int y = 0; y < picture.height(); ++y) {
        for (int x = static_cast<int>(kLabelWidth * ratio()) + 1; x < picture.width(); ++x) {
            const QPointF place((x + 0.5) / ratio(), (y + 0.5) / ratio());
            const auto hit = m_canvas->hitAt(place);
            if (!hit || hit->role != LaneRole::kCommunication || hit->slice.count != 1 ||
                hit->slice.operation != CollectiveOp::kReduceScatter)
                continue;
            ++seen;
            if (picture.pixelColor(x, y) != theme.fill(Meaning::kReduction).colour) continue;
            ++same;
            const auto here = m_canvas->hitAt(place.toPoint());
            if (!here || here->slice != hit->slice) continue;  // a click comes by whole pixels
            clicked = hit;
            at = place.toPoint();
        }
    }
    ASSERT_GT(seen, 100);
    EXPECT_GT(same, seen / 4) << "the rest is hatched, has an edge or a name on it";
    ASSERT_TRUE(clicked);
    QTest::mouseClick(m_canvas->viewport(), Qt::LeftButton, Qt::NoModifier, at);
    settle();
    ASSERT_TRUE(m_canvas->selectedSlice());
    EXPECT_TRUE(m_canvas->selectedSlice()->slice == clicked->slice);
}

TEST_F(ScaledTimelineTest, TheMinimapIsAsFineAsTheScreen) {
    auto* map = m_page->findChild<Minimap*>();
    auto density = std::make_shared<MinimapDensity>();
    map->setPlot(100, 400);
    const int pixels = static_cast<int>(400 * ratio());
    for (int i = 0; i < pixels; ++i) density->compute.push_back(i % 2 == 0 ? 0.0F : 1.0F);
    density->communication.assign(density->compute.size(), 0.0F);
    density->rest.assign(density->compute.size(), 0.0F);
    map->setDensity(density);
    map->setView(m_window->loader().recording()->bounds());
    const QImage picture = map->grab().toImage();
    EXPECT_GE(changesAlong(picture, static_cast<int>(20 * ratio()), static_cast<int>(110 * ratio()),
                           static_cast<int>(490 * ratio())),
              static_cast<int>(380 * ratio()) - 8);
}

}  // namespace
}  // namespace shardscope::desktop
