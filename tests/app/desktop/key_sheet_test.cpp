// The sheet of keys: all of it is read by scrolling down alone. CTest runs what begins with "Scale"
// at other scale factors too, where the screen has less room.
#include "app/desktop/shell/key_sheet.h"

#include "tests/app/desktop/pseudo_language.h"
#include "tests/app/desktop/window_fixture.h"

#include <QCoreApplication>
#include <QLabel>
#include <QScreen>
#include <QScrollArea>
#include <QScrollBar>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

class ScaleKeySheetTest : public WindowTest {
protected:
    void SetUp() override {}
    void TearDown() override {
        m_window.reset();
        QCoreApplication::removeTranslator(&m_language);
    }
    void begin(bool longTexts) {
        if (longTexts) QCoreApplication::installTranslator(&m_language);
        WindowTest::SetUp();
    }
    static void expectAllInSight(const KeySheet& sheet) {
        const auto* area = sheet.findChild<QScrollArea*>();
        ASSERT_NE(area, nullptr);
        EXPECT_EQ(area->horizontalScrollBar()->maximum(), 0);
        EXPECT_LE(area->widget()->width(), area->viewport()->width());
        const auto labels = area->widget()->findChildren<QLabel*>();
        EXPECT_GT(labels.size(), 60);
        for (const QLabel* label : labels) {
            const QRect place(label->mapTo(area->widget(), QPoint()), label->size());
            EXPECT_TRUE(area->widget()->rect().contains(place)) << label->text().toStdString();
            const int high = label->wordWrap() ? label->heightForWidth(label->width())
                                               : label->sizeHint().height();
            EXPECT_GE(label->height(), high) << label->text().toStdString();
            EXPECT_GE(label->width(), label->wordWrap() ? label->minimumSizeHint().width()
                                                        : label->sizeHint().width())
                << label->text().toStdString();
        }
    }

    PseudoLanguage m_language;
};

class ScaleKeySheetTexts : public ScaleKeySheetTest, public ::testing::WithParamInterface<bool> {};

TEST_P(ScaleKeySheetTexts, IsAsWideAsItsRoom) {
    ASSERT_NO_FATAL_FAILURE(begin(GetParam()));
    auto* sheet = new KeySheet(m_window->commands(), m_window.get());
    sheet->show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(sheet));
    EXPECT_LE(sheet->width(), sheet->screen()->availableSize().width());
    EXPECT_LE(sheet->height(), sheet->screen()->availableSize().height());
    expectAllInSight(*sheet);
    const QString folder = qEnvironmentVariable("SHARDSCOPE_TEST_PICTURES");
    if (!folder.isEmpty())
        sheet->grab().save(folder + (GetParam() ? u"/keys-long.png"_s : u"/keys.png"_s));
    for (const QSize size : {QSize(1300, 700), QSize(800, 560), sheet->minimumSizeHint()}) {
        sheet->resize(size);
        QTest::qWait(1);
        expectAllInSight(*sheet);
    }
}

INSTANTIATE_TEST_SUITE_P(, ScaleKeySheetTexts, ::testing::Bool(), [](const auto& chosen) {
    return std::string(chosen.param ? "Long" : "English");
});

}  // namespace
}  // namespace shardscope::desktop
