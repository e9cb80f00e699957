// The Problems page: one list with the badge and the Overview, what was checked, three states.
#include "app/desktop/pages/problems/problems_page.h"
#include "app/desktop/shell/top_bar.h"
#include "app/desktop/widgets/finding_list.h"
#include "profiler/analysis/rules/notices.h"
#include "tests/app/desktop/small_trace.h"
#include "tests/app/desktop/window_fixture.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QPushButton>
#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using analysis::CheckState;

class ProblemsTest : public WindowTest {
protected:
    [[nodiscard]] ProblemsPage& page() {
        return *qobject_cast<ProblemsPage*>(m_window->page(page_ids::kProblems));
    }
    /// The page in front, with the answer that it asked for.
    const ProblemsView& shown() {
        m_window->showPage(page_ids::kProblems);
        settle();
        return page().view();
    }
    QPushButton* badge() {
        for (auto* button : m_window->findChild<TopBar*>()->findChildren<QPushButton*>())
            if (button->text().contains(u"problem"_s)) return button;
        return nullptr;
    }
    static const CheckRow* check(const ProblemsView& view, const QString& what) {
        const auto found = std::find_if(view.checks.begin(), view.checks.end(),
                                        [&](const CheckRow& each) { return each.what == what; });
        return found == view.checks.end() ? nullptr : &*found;
    }
    [[nodiscard]] static int stated(const ProblemsView& view, CheckState state) {
        return static_cast<int>(
            std::count_if(view.checks.begin(), view.checks.end(),
                          [state](const CheckRow& each) { return each.state == state; }));
    }
};

TEST_F(ProblemsTest, AHealthyRecordingSaysWhatWasChecked) {
    openSample();
    const ProblemsView& view = shown();
    EXPECT_EQ(problemCount(view.findings), 0);
    EXPECT_TRUE(page().frame().headline().startsWith(u"No problems"_s));
    ASSERT_NE(check(view, u"events of each step"_s), nullptr);
    EXPECT_EQ(check(view, u"events of each step"_s)->state, CheckState::kFine);
    EXPECT_TRUE(check(view, u"events of each step"_s)->found.contains(u" of "_s));
    EXPECT_EQ(check(view, u"what recording cost"_s)->state, CheckState::kUnknown);
    EXPECT_EQ(stated(view, CheckState::kProblem), 0);
    EXPECT_EQ(badge()->isVisible(), false);
    keepPicture(u"problems-healthy"_s);
}

TEST_F(ProblemsTest, TheBadgeOpensItAndCountsWhatItLists) {
    openSample({.dropGathersOfStep = 4, .dropped = 70});
    QPushButton* button = badge();
    ASSERT_NE(button, nullptr);
    ASSERT_TRUE(button->isVisible());
    QTest::mouseClick(button, Qt::LeftButton);
    EXPECT_EQ(m_window->currentPage(), page_ids::kProblems);
    settle();
    const int count = problemCount(page().view().findings);
    EXPECT_GT(count, 0);
    EXPECT_TRUE(button->text().startsWith(QString::number(count))) << button->text().toStdString();
    EXPECT_EQ(count,
              analysis::problemCount(analysis::notices(m_window->loader().recording()->report)));
    EXPECT_TRUE(page().frame().headline().startsWith(QString::number(count)));
    EXPECT_EQ(check(page().view(), u"events of each step"_s)->state, CheckState::kProblem);
    EXPECT_EQ(check(page().view(), u"events dropped or lost"_s)->state, CheckState::kProblem);
    keepPicture(u"problems-lacking"_s);
}

TEST_F(ProblemsTest, ASelectionLeavesTheListUnlessItIsAskedFor) {
    openSample({.dropGathersOfStep = 4});
    const auto before = shown().findings.size();
    m_window->selection().selectSteps({{2}, {3}});
    settle();
    EXPECT_EQ(shown().findings.size(), before);
    auto scopes = page().findChildren<QComboBox*>();
    const auto scope = std::find_if(scopes.begin(), scopes.end(), [](const QComboBox* each) {
        return each->accessibleName() == u"What is judged"_s;
    });
    ASSERT_NE(scope, scopes.end());
    EXPECT_TRUE((*scope)->isVisible());
    (*scope)->setCurrentIndex(1);
    settle();
    // as the Overview lists them
    const auto* list = m_window->page(page_ids::kOverview)->findChild<FindingList*>();
    ASSERT_NE(list, nullptr);
    EXPECT_EQ(check(page().view(), u"events of each step"_s)->state, CheckState::kUnknown)
        << "a certificate is of a whole recording";
    m_window->selection().clear();
    settle();
    EXPECT_FALSE((*scope)->isVisible());
    EXPECT_EQ(check(page().view(), u"events of each step"_s)->state, CheckState::kProblem);
}

TEST_F(ProblemsTest, ShowsTheStepThatLacksSomething) {
    openSample({.dropGathersOfStep = 4});
    const ProblemsView& view = shown();
    const auto incomplete =
        std::find_if(view.findings.begin(), view.findings.end(),
                     [](const Finding& each) { return each.code == u"recording-incomplete"_s; });
    ASSERT_NE(incomplete, view.findings.end());
    const QString name = u"Show: "_s + incomplete->title;
    QPushButton* show = nullptr;
    for (auto* button : page().findChildren<QPushButton*>())
        if (button->accessibleName() == name) show = button;
    ASSERT_NE(show, nullptr);
    show->click();
    EXPECT_EQ(m_window->currentPage(), page_ids::kTimeline);
    EXPECT_EQ(m_window->selection().current().steps, (StepSpan{{4}, {4}}));
}

TEST_F(ProblemsTest, FiltersBySeverity) {
    openSample({.dropGathersOfStep = 4, .dropped = 70});
    const ProblemsView& view = shown();
    const auto countIn = [&](ProblemFilter filter) {
        std::size_t count = 0;
        for (const ProblemGroup& group : problemGroups(view.findings, filter))
            count += group.findings.size();
        return count;
    };
    EXPECT_EQ(countIn(ProblemFilter::kEverything), view.findings.size());
    EXPECT_EQ(countIn(ProblemFilter::kForAction),
              static_cast<std::size_t>(problemCount(view.findings)));
    EXPECT_EQ(countIn(ProblemFilter::kProblems) + countIn(ProblemFilter::kWarnings) +
                  countIn(ProblemFilter::kNotes),
              view.findings.size());
    EXPECT_EQ(countIn(ProblemFilter::kUnknown), 0u);
    for (const CheckRow& row : desktop::checksOf(view, ProblemFilter::kUnknown))
        EXPECT_EQ(row.state, CheckState::kUnknown);
    EXPECT_EQ(problemFilterNames().size(), static_cast<int>(ProblemFilter::kUnknown) + 1);
}

TEST_F(ProblemsTest, IsExportedWhole) {
    openSample({.dropGathersOfStep = 4});
    const ProblemsView& view = shown();
    const std::vector<Page::Text> texts = page().texts();
    ASSERT_EQ(texts.size(), 3U);
    EXPECT_EQ(texts[2].ending, u"json"_s);
    const QJsonObject told = QJsonDocument::fromJson(texts[2].text.toUtf8()).object();
    EXPECT_EQ(told.value("for_action"_L1).toInt(), problemCount(view.findings));
    EXPECT_EQ(told.value("notices"_L1).toArray().size(), static_cast<int>(view.findings.size()));
    EXPECT_EQ(told.value("checks"_L1).toArray().size(), static_cast<int>(view.checks.size()));
    const PartPtr part = wholePart(m_window->loader().recording());
    const QString csv = exportedProblems(view, *part, ProblemFormat::kCsv);
    EXPECT_EQ(csv.count(u'\n'), static_cast<int>(view.findings.size() + view.checks.size()) + 3);
    for (const Finding& each : view.findings)
        EXPECT_TRUE(exportedProblems(view, *part, ProblemFormat::kMarkdown).contains(each.title));
    EXPECT_EQ(texts[1].text, csv);
}

TEST_F(ProblemsTest, OfATraceSaysWhatItsImportLeftOutAndWhatNobodyCanTell) {
    const QString path = m_folder.filePath(u"small.pt.trace.json"_s);
    writeSmallTrace(path.toStdString());
    QSignalSpy opened(&m_window->loader(), &RecordingLoader::opened);
    m_window->openFile(path);
    ASSERT_TRUE(opened.wait(10'000));
    settle();
    const ProblemsView& view = shown();
    EXPECT_EQ(check(view, u"events of each step"_s)->state, CheckState::kUnknown);
    ASSERT_NE(check(view, u"import"_s), nullptr);
    EXPECT_EQ(check(view, u"import"_s)->state, CheckState::kFine);
    const auto groups = problemGroups(view.findings, ProblemFilter::kEverything);
    EXPECT_TRUE(std::any_of(groups.begin(), groups.end(),
                            [](const auto& group) { return group.title == u"Imported"_s; }));
    keepPicture(u"problems-import"_s);
}

}  // namespace
}  // namespace shardscope::desktop
