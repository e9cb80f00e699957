// The bar on top, and legends, in windows that are too narrow for what they say.
#include "app/desktop/shell/top_bar.h"

#include "app/desktop/widgets/legend.h"

#include <gtest/gtest.h>

#include <QLabel>
#include <QPushButton>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

TEST(TopBar, ShortensTitleAndSelectionWhereThereIsNoRoomForBoth) {
    const QString title = u"run.sscope · torchrun train_gpt.py · 2 ranks"_s;
    const QString selection = u"steps 0–19 · ranks all · 0.06 s – 22.09 s"_s;
    QWidget window;  // alone it would never be narrower than what it says
    TopBar bar(&window);
    bar.setTitle(title, {});
    bar.setSelection(selection, false);
    bar.resize(1600, 44);
    window.resize(1600, 44);
    window.show();
    const auto* label = bar.findChild<QLabel*>();
    const auto* button = bar.findChild<QPushButton*>();
    EXPECT_EQ(label->text(), title);
    EXPECT_EQ(button->text(), selection);
    bar.resize(500, 44);
    EXPECT_TRUE(label->text().endsWith(u'…')) << label->text().toStdString();
    EXPECT_TRUE(button->text().startsWith(u"steps"_s) && button->text().endsWith(u'…'));
    EXPECT_EQ(label->toolTip(), title) << "all of it";
    EXPECT_TRUE(button->toolTip().startsWith(selection));
    bar.resize(1600, 44);
    EXPECT_EQ(label->text(), title);
    EXPECT_TRUE(label->toolTip().isEmpty());
    EXPECT_EQ(button->text(), selection);
}

TEST(Legend, EndsALongNameInAnEllipsisAndSaysItOnHover) {
    const QString name = u"reserved by the caching allocator of the device"_s;
    Legend legend;
    legend.setEntries({{name, Meaning::kCompute, false}, {u"short"_s, Meaning::kCopy, false}});
    legend.resize(800, 40);
    legend.show();
    EXPECT_TRUE(legend.toolTip().isEmpty());
    legend.resize(120, 60);
    EXPECT_EQ(legend.toolTip(), name);
}

}  // namespace
}  // namespace shardscope::desktop
