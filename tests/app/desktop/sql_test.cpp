// The SQL page: completion, answers, errors, curves, kept statements.
#include "app/desktop/pages/sql/sql_page.h"
#include "app/desktop/widgets/chart_panel.h"
#include "app/desktop/widgets/data_table.h"
#include "tests/app/desktop/window_fixture.h"

#include <QAbstractItemView>
#include <QCompleter>
#include <QLabel>
#include <QPushButton>
#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

class SqlPageTest : public WindowTest {
protected:
    SqlPage& page() { return *qobject_cast<SqlPage*>(m_window->page(page_ids::kSql)); }
    void openPage() {
        ASSERT_NO_FATAL_FAILURE(openSample());
        m_window->showPage(page_ids::kSql);
        settle();
    }
    void ask(const QString& sql) {
        page().editor().setPlainText(sql);
        page().run();
        settle();
    }
    bool says(const QString& text) {
        const auto labels = page().findChildren<QLabel*>();
        return std::any_of(labels.begin(), labels.end(),
                           [&](const QLabel* label) { return label->text().contains(text); });
    }
};

TEST_F(SqlPageTest, AnswersAsTableAndCurve) {
    ASSERT_NO_FATAL_FAILURE(openPage());
    ask(u"SELECT step, max(end_ns - start_ns) AS ns FROM steps GROUP BY step ORDER BY step"_s);
    EXPECT_EQ(page().table().table()->allRows(), 10);
    EXPECT_TRUE(says(u"10 rows in "_s));
    const auto* curve = page().findChild<ChartPanel*>();
    ASSERT_NE(curve, nullptr);
    EXPECT_TRUE(curve->isVisible());
    ask(u"SELECT name FROM operators LIMIT 3"_s);
    EXPECT_EQ(page().table().table()->allRows(), 3);
    EXPECT_FALSE(curve->isVisible()) << "no column of numbers";
    keepPicture(u"sql"_s);
}

TEST_F(SqlPageTest, SaysWhatIsWrongAndKeepsTheAnswerBefore) {
    ASSERT_NO_FATAL_FAILURE(openPage());
    ask(u"SELECT 1 AS one"_s);
    ask(u"SELECT a FROM nowhere"_s);
    EXPECT_TRUE(says(u"no such table: nowhere"_s));
    EXPECT_EQ(page().table().table()->allRows(), 1);
    ask(u"DELETE FROM steps"_s);
    EXPECT_TRUE(says(u"SQL: "_s)) << "nothing is written";
    ask(u"SELECT 2"_s);
    EXPECT_TRUE(says(u"1 row in "_s));
}

TEST_F(SqlPageTest, EndsAStatementThatIsCancelled) {
    ASSERT_NO_FATAL_FAILURE(openPage());
    page().editor().setPlainText(
        u"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"_s);
    page().run();
    const auto buttons = page().findChildren<QPushButton*>();
    const auto cancel = std::find_if(buttons.begin(), buttons.end(), [](const QPushButton* each) {
        return each->text() == u"Cancel"_s;
    });
    ASSERT_NE(cancel, buttons.end());
    EXPECT_TRUE((*cancel)->isEnabled());
    (*cancel)->click();
    EXPECT_TRUE(says(u"Cancelled"_s));
    ask(u"SELECT 3"_s);
    EXPECT_TRUE(says(u"1 row in "_s));
}

TEST_F(SqlPageTest, EveryExampleRuns) {
    ASSERT_NO_FATAL_FAILURE(openPage());
    for (const auto& [name, sql] : exampleQueries()) {
        ask(sql);
        EXPECT_FALSE(says(u"SQL: "_s)) << name.toStdString();
        EXPECT_TRUE(says(u" in "_s)) << name.toStdString();
    }
}

TEST_F(SqlPageTest, ObeysTheSelection) {
    ASSERT_NO_FATAL_FAILURE(openPage());
    const QString sql =
        u"SELECT count(*) AS n FROM steps WHERE start_ns >= :begin_ns AND "
        "end_ns <= :end_ns"_s;
    ask(sql);
    const auto first = [this] {
        return page().table().table()->index(0, 0).data(Qt::DisplayRole).toString();
    };
    EXPECT_EQ(first(), u"20"_s);
    m_window->selection().selectSteps({{4}, {4}});
    settle();
    ask(sql);
    EXPECT_EQ(first(), u"2"_s) << "of both ranks";
}

TEST_F(SqlPageTest, CompletesTablesAndColumns) {
    ASSERT_NO_FATAL_FAILURE(openPage());
    SqlEditor& editor = page().editor();
    editor.clear();
    editor.setFocus();
    QTest::keyClicks(&editor, u"SELECT last_arr"_s);
    const auto* completer = editor.findChild<QCompleter*>();
    ASSERT_NE(completer, nullptr);
    EXPECT_EQ(completer->currentCompletion(), u"last_arrival_ns"_s);
    ASSERT_TRUE(completer->popup()->isVisible());
    QTest::keyClick(completer->popup(), Qt::Key_Return);
    EXPECT_EQ(editor.toPlainText(), u"SELECT last_arrival_ns"_s);
    editor.clear();
    QTest::keyClicks(&editor, u"SELECT events.du"_s);
    EXPECT_EQ(completer->currentCompletion(), u"events.duration_ns"_s);
}

TEST(SqlQueries, AreKeptByName) {
    QTemporaryDir folder;
    const QString file = folder.filePath(u"desktop.ini"_s);
    EXPECT_TRUE(keptQueries(file).empty());
    const Queries queries{{u"mine"_s, u"SELECT 1;\n-- \"ä\", 2"_s}, {u"other"_s, u"SELECT 2"_s}};
    keepQueries(file, queries);
    EXPECT_EQ(keptQueries(file), queries);
    keepQueries(file, {});
    EXPECT_TRUE(keptQueries(file).empty());
}

TEST(SqlQueries, NamesOfMomentsAreWholeWords) {
    const TimeRange range{{5}, {9}};
    EXPECT_EQ(withSelection(u":begin_ns :end_ns :end_nsx"_s, range), u"5 9 :end_nsx"_s);
}

}  // namespace
}  // namespace shardscope::desktop
