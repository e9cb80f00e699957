#include "app/desktop/pages/timeline/canvas/timeline_canvas.h"
#include "app/desktop/pages/timeline/canvas/timeline_geometry.h"
#include "app/desktop/pages/timeline/details/slice_panel.h"
#include "app/desktop/pages/timeline/tables/find_bar.h"
#include "app/desktop/pages/timeline/tables/table_panel.h"
#include "app/desktop/pages/timeline/timeline_page.h"
#include "tests/app/desktop/window_fixture.h"

#include <QApplication>
#include <QContextMenuEvent>
#include <QJsonDocument>
#include <QJsonObject>
#include <QMenu>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

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
