
#include "app/desktop/pages/timeline/canvas/timeline_canvas.h"
#include "app/desktop/pages/timeline/tables/mark_list.h"
#include "app/desktop/pages/timeline/tables/table_panel.h"
#include "app/desktop/pages/timeline/timeline_page.h"
#include "app/desktop/widgets/data_table.h"
#include "tests/app/desktop/window_fixture.h"
#include "tests/support/result_matchers.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <QDir>
#include <QFile>
#include <QTemporaryDir>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using test::IsOk;
using ::testing::ElementsAre;

const Marks kMarks{{{100}, u"first stall"_s, u"rank 3 is late\nagain"_s}, {{250}, u"mark 1"_s, {}}};

class MarkFileTest : public ::testing::Test {
protected:
    MarkFile file() const {
        return {m_folder.filePath(u"run.sscope"_s), m_folder.filePath(u"user/marks"_s)};
    }
    QTemporaryDir m_folder;
};

TEST(Marks, LieByTime) {
    Marks marks;
    EXPECT_EQ(addMark(marks, {{20}, u"b"_s, {}}), 0U);
    EXPECT_EQ(addMark(marks, {{10}, u"a"_s, {}}), 0U);
    EXPECT_EQ(addMark(marks, {{20}, u"c"_s, {}}), 1U);
    ASSERT_EQ(marks.size(), 2U);
    EXPECT_EQ(marks[1].name, u"b"_s);
}

TEST(Marks, GetANameThatIsNotTaken) {
    EXPECT_EQ(newMarkName({}), u"mark 1"_s);
    EXPECT_EQ(newMarkName(kMarks), u"mark 2"_s);
}

TEST_F(MarkFileTest, KeepsMarksBesideTheRecording) {
    ASSERT_THAT(file().save(u"run"_s, kMarks), IsOk());
    EXPECT_TRUE(QFile::exists(m_folder.filePath(u"run.sscope.marks"_s)));
    EXPECT_EQ(file().load(u"run"_s), kMarks);
    EXPECT_TRUE(file().load(u"another run"_s).empty());
    ASSERT_THAT(file().save(u"run"_s, {}), IsOk());
    EXPECT_FALSE(QFile::exists(m_folder.filePath(u"run.sscope.marks"_s)));
}

TEST_F(MarkFileTest, KeepsThemAtTheUsersWhereItCannot) {
    // what is in the way is not ours to replace
    ASSERT_TRUE(QDir(m_folder.path()).mkdir(u"run.sscope.marks"_s));
    ASSERT_THAT(file().save(u"run"_s, kMarks), IsOk());
    EXPECT_TRUE(QFile::exists(file().inUserFolder()));
    EXPECT_EQ(file().load(u"run"_s), kMarks);
}

TEST_F(MarkFileTest, WritesThroughNoLink) {
    QFile other(m_folder.filePath(u"other"_s));
    ASSERT_TRUE(other.open(QIODevice::WriteOnly));
    other.write("mine");
    other.close();
    ASSERT_TRUE(other.link(m_folder.filePath(u"run.sscope.marks"_s)));
    ASSERT_THAT(file().save(u"run"_s, kMarks), IsOk());
    ASSERT_TRUE(other.open(QIODevice::ReadOnly));
    EXPECT_EQ(other.readAll(), "mine");
    EXPECT_EQ(file().load(u"run"_s), kMarks);
}

TEST(MarkFile, OfAnotherHostIsTheUsers) {
    const MarkFile file(u"ssh://node1/data/run.sscope"_s, u"marks"_s);
    EXPECT_TRUE(file.beside().isEmpty());
}

TEST(MarkJson, OfDamagedTextThereIsNone) {
    EXPECT_TRUE(marksFromJson("{\"version\":1,", u"run"_s).empty());
    EXPECT_TRUE(marksFromJson("[]", u"run"_s).empty());
    EXPECT_TRUE(
        marksFromJson(marksToJson(u"run"_s, kMarks).replace("\"version\": 1", "\"version\": 9"),
                      u"run"_s)
            .empty());
}

class MarkPageTest : public WindowTest {
protected:
    void open() {
        openSample();
        m_window->showPage(page_ids::kTimeline);
        settle();
        m_page = m_window->findChild<TimelinePage*>();
    }
    TimelinePage* m_page = nullptr;
};

TEST_F(MarkPageTest, MarksAreNamedKeptAndFoundAgain) {
    open();
    TimelineCanvas& canvas = m_page->canvas();
    QTest::keyClick(&canvas, Qt::Key_M);
    settle();
    ASSERT_EQ(canvas.marks().size(), 1U);
    EXPECT_EQ(canvas.marks()[0].name, u"mark 1"_s);
    m_page->tables().showTab(TableTab::kMarks);
    TableModel* table = m_page->tables().table().table();
    ASSERT_TRUE(table->setData(table->index(0, 0), u"here it stalls"_s, Qt::EditRole));
    QTest::qWait(1);
    settle();
    EXPECT_EQ(canvas.marks()[0].name, u"here it stalls"_s);
    keepPicture(u"marks"_s);
    for (int i = 0; i < 3; ++i) QTest::keyClick(&canvas, Qt::Key_Escape);
    EXPECT_EQ(canvas.marks().size(), 1U) << "Esc does not delete marks";
    QSignalSpy opened(&m_window->loader(), &RecordingLoader::opened);
    m_window->openFile(m_folder.filePath(u"sample.sscope"_s));
    ASSERT_TRUE(opened.wait(10'000));
    settle();
    const MarkFile file(m_folder.filePath(u"sample.sscope"_s), userMarkFolder());
    EXPECT_TRUE(QFile::exists(file.beside()));
    ASSERT_EQ(canvas.marks().size(), 1U);
    EXPECT_EQ(canvas.marks()[0].name, u"here it stalls"_s);
    m_page->findChild<MarkList*>()->remove(0);
    settle();
    EXPECT_TRUE(canvas.marks().empty());
    EXPECT_FALSE(QFile::exists(file.beside()));
}

}  // namespace
}  // namespace shardscope::desktop
