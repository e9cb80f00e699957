// The Compare page: its figures are those of the question, and each state is told in words.
#include "profiler/questions/compare.h"

#include "app/desktop/pages/recent_files.h"
#include "app/desktop/widgets/pictures/stacked_bars.h"
#include "profiler/analysis/compare/run_figures.h"
#include "storage/recording/read/recording_reader.h"
#include "tests/app/desktop/compare_fixture.h"
#include "tests/app/desktop/small_trace.h"

#include <QAbstractButton>
#include <QFileDialog>
#include <QLabel>
#include <QMimeData>
#include <QPushButton>
#include <QSpinBox>
#include <algorithm>
#include <array>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

class CompareTest : public CompareFixture {
protected:
    /// Of one step of each.
    [[nodiscard]] QList<QSpinBox*> stepBoxes() {
        QList<QSpinBox*> boxes;
        for (auto* each : page().findChildren<QSpinBox*>())
            if (each->accessibleName().startsWith(u"Step of"_s)) boxes << each;
        return boxes;
    }
    [[nodiscard]] QPushButton* button(const QString& text) {
        for (auto* each : page().findChildren<QPushButton*>())
            if (each->text() == text && each->isVisible()) return each;
        return nullptr;
    }
};

questions::Compared asked(const QString& first, const QString& second) {
    auto a = storage::openRecording(first.toStdString()).value();
    auto b = storage::openRecording(second.toStdString()).value();
    questions::CompareOptions options;
    options.anyway = true;
    options.names = sideNames(2);
    return questions::compareRecordings({a.get(), b.get()}, options).value();
}

TEST_F(CompareTest, ShowsTheFiguresOfTheCommandLine) {
    openSample();
    const QString path = other({.blocks = 6, .evaluateEvery = 0});
    comparedWith(path);
    ASSERT_TRUE(page().comparison());
    const questions::Compared expected = asked(m_window->loader().recording()->path, path);
    EXPECT_EQ(questions::toJson({page().comparison()->answer}),
              questions::toJson({expected.answer}));
    const auto cards = compareCards(expected.figures);
    ASSERT_GE(cards.size(), 4u);
    const questions::Table& figures = *findTable(expected.answer, "figures");
    for (const CompareCard& card : cards) {
        const auto row = std::find_if(figures.rows.begin(), figures.rows.end(), [&](const auto& r) {
            return *r[0].text() == card.key.toStdString();
        });
        ASSERT_NE(row, figures.rows.end()) << card.key.toStdString();
        EXPECT_EQ(card.value.joined(), cellText((*row)[figures.columnAt("second")],
                                                figures.unitOf(*row, figures.columnAt("second"))));
        EXPECT_TRUE(card.verdict.endsWith(fromUtf8(*(*row)[figures.columnAt("verdict")].text())));
        EXPECT_FALSE(card.definition.isEmpty());
    }
    EXPECT_TRUE(page().frame().headline().contains(cards.front().value.joined()))
        << page().frame().headline().toStdString();
    EXPECT_FALSE(page().findChild<MirroredBars*>()->bars().empty());
    EXPECT_EQ(stepBoxes().size(), 2);
    keepPicture(u"compare"_s);
}

/// Nothing is open yet: what is wanted are two.
TEST_F(CompareTest, TheEmptyPageLeadsToAComparison) {
    m_window->showPage(page_ids::kCompare);
    EXPECT_EQ(button(u"Start a new run"_s), nullptr);
    ASSERT_NE(button(u"Choose two recordings…"_s), nullptr);
    button(u"Choose two recordings…"_s)->click();
    auto* dialog = page().findChild<QFileDialog*>();
    ASSERT_NE(dialog, nullptr);
    const QString first = writeSample(), second = other({.blocks = 6, .evaluateEvery = 0});
    QSignalSpy opened(&m_window->loader(), &RecordingLoader::opened);
    Q_EMIT dialog->filesSelected({first, second});
    dialog->close();
    ASSERT_TRUE(opened.wait(60'000));
    settle();
    wait();
    EXPECT_EQ(m_window->currentPage(), page_ids::kCompare);
    ASSERT_TRUE(page().comparison());
    EXPECT_EQ(page().comparison()->query.files, QStringList({first, second}));
}

TEST_F(CompareTest, TheEmptyPageOffersTheTwoThatWereOpenLast) {
    const QString older = writeSample(), newer = other({.blocks = 6, .evaluateEvery = 0});
    {
        RecentFiles recent(m_folder.filePath(u"state/recent.json"_s));
        for (const QString& path : {older, newer}) {
            run::RunStarted started;
            started.output = path.toStdString();
            recent.add(started, u"2026-11-30T12:00:00"_s);
        }
    }
    m_window->showPage(page_ids::kCompare);
    QPushButton* both = button(u"Compare other.sscope with sample.sscope"_s);
    ASSERT_NE(both, nullptr);
    QSignalSpy opened(&m_window->loader(), &RecordingLoader::opened);
    both->click();
    ASSERT_TRUE(opened.wait(60'000));
    settle();
    wait();
    ASSERT_TRUE(page().comparison());
    EXPECT_EQ(page().comparison()->query.files, QStringList({older, newer}))
        << "A is the older one";
}

TEST_F(CompareTest, CallsTheRunsByTheirLettersEverywhere) {
    openSample();
    comparedWith(other({.blocks = 6, .evaluateEvery = 0, .finalise = false}));
    ASSERT_TRUE(page().comparison());
    EXPECT_TRUE(says(u"The recording of B was not finalised"_s));
    for (const auto& [key, table] : page().comparison()->tables)
        for (const TableColumn& column : table.columns)
            for (const QString& word : {u"first"_s, u"second"_s, u"count"_s, u"spread"_s})
                EXPECT_NE(column.title, word) << key;
    for (const auto* label : page().findChildren<QLabel*>())
        for (const QString& role : {u"the first run"_s, u"baseline"_s, u"judged"_s})
            EXPECT_FALSE(label->text().contains(role)) << label->text().toStdString();
    const auto* ledger = page().findChild<MirroredBars*>();
    EXPECT_EQ(ledger->titles(), (std::array{u"A"_s, u"B"_s, u"difference"_s}));
    EXPECT_TRUE(says(u"B, other.sscope, against A, sample.sscope."_s));
}

TEST_F(CompareTest, CardsHaveTheTitlesOfTheFigures) {
    openSample();
    comparedWith(other());
    ASSERT_TRUE(page().comparison());
    for (const CompareCard& card : compareCards(page().comparison()->figures))
        EXPECT_EQ(card.title.toLower().toStdString(),
                  analysis::figureTitle(card.key.toStdString()));
}

TEST_F(CompareTest, SwapsBaselineAndRun) {
    openSample();
    comparedWith(other({.blocks = 6, .evaluateEvery = 0}));
    ASSERT_TRUE(page().comparison());
    const auto before = compareCards(page().comparison()->figures);
    EXPECT_EQ(page().comparison()->recordings.back().name, u"other.sscope"_s);
    ASSERT_NE(button(u"Swap"_s), nullptr);
    button(u"Swap"_s)->click();
    wait();
    EXPECT_EQ(page().comparison()->recordings.back().name, u"sample.sscope"_s);
    const auto after = compareCards(page().comparison()->figures);
    ASSERT_EQ(after.size(), before.size());
    for (std::size_t i = 0; i < after.size(); ++i) {
        EXPECT_EQ(after[i].before, before[i].value.joined());
        EXPECT_EQ(after[i].value.joined(), before[i].before);
    }
    page().swap();
    wait();
    EXPECT_EQ(page().comparison()->recordings.back().name, u"other.sscope"_s);
}

TEST_F(CompareTest, WithoutAnotherItSaysHowToGetOne) {
    openSample();
    m_window->showPage(page_ids::kCompare);
    settle();
    EXPECT_TRUE(page().frame().headline().contains(u"not compared with anything yet"_s));
    EXPECT_NE(button(u"Choose a recording…"_s), nullptr);
    EXPECT_EQ(button(u"Swap"_s), nullptr);
    // not with itself, by whatever name
    m_window->compared().add(m_window->loader().recording()->path);
    wait();
    EXPECT_FALSE(page().comparison());
    EXPECT_TRUE(says(u"not compared with itself"_s));
    m_window->compared().add(u"/nowhere.sscope"_s);
    wait();
    EXPECT_FALSE(page().comparison());
    EXPECT_TRUE(says(u"nowhere"_s));
    EXPECT_TRUE(page().frame().headline().contains(u"could not be compared"_s));
    m_window->compared().add(u"ssh://host/run.sscope"_s);
    m_window->compared().remove(u"/nowhere.sscope"_s);
    wait();
    EXPECT_TRUE(says(u"another host"_s));
    m_window->compared().set({});
    wait();
    EXPECT_NE(button(u"Choose a recording…"_s), nullptr);
}

TEST_F(CompareTest, RefusesOtherWorkUntilOneInsists) {
    openSample();
    comparedWith(other({.steps = 0}));
    ASSERT_TRUE(page().comparison());
    EXPECT_TRUE(page().comparison()->refused);
    EXPECT_TRUE(says(u"has no steps"_s));
    keepPicture(u"compare-refused"_s);
    ASSERT_NE(button(u"Compare anyway"_s), nullptr);
    button(u"Compare anyway"_s)->click();
    wait();
    ASSERT_TRUE(page().comparison());
    EXPECT_FALSE(page().comparison()->refused);
    EXPECT_TRUE(page().frame().headline().contains(u"unknown"_s));
}

TEST_F(CompareTest, ImportsATraceToCompareWith) {
    openSample();
    const QString trace = m_folder.filePath(u"small.pt.trace.json"_s);
    writeSmallTrace(trace.toStdString());
    comparedWith(trace);
    ASSERT_TRUE(page().comparison());
    EXPECT_FALSE(page().comparison()->refused);
    EXPECT_TRUE(says(u"it is imported"_s)) << "how it was set up is not known";
    keepPicture(u"compare-import"_s);
}

TEST_F(CompareTest, FollowsTheSelectionInBoth) {
    openSample();
    comparedWith(other());
    ASSERT_TRUE(page().comparison());
    m_window->selection().selectSteps({{2}, {7}});
    settle();
    wait();
    EXPECT_TRUE(page().frame().headline().contains(u"A step takes"_s))
        << page().frame().headline().toStdString();
    for (const ComparedRecording& each : page().comparison()->recordings)
        EXPECT_EQ(stepsOf(each), (StepSpan{{2}, {7}}));
}

TEST_F(CompareTest, OneStepOfEachBeginsAtTheSamePlace) {
    openSample();
    comparedWith(other());
    auto boxes = stepBoxes();
    ASSERT_EQ(boxes.size(), 2);
    EXPECT_EQ(boxes[0]->value(), medianStep(*page().comparison(), 0)->value);
    boxes[0]->setValue(3);
    wait();
    auto reader =
        storage::openRecording(m_window->loader().recording()->path.toStdString()).value();
    const auto steps = readSteps({reader.get()}, {StepIndex{3}});
    ASSERT_TRUE(steps);
    const auto bars = stepBars(**steps).bars;
    ASSERT_EQ(bars.size(), 2u) << "a bar a rank";
    std::size_t rank = 0;
    for (const StackedBar& bar : bars) {
        const questions::StepOfRank& step = (**steps)[0][rank++];
        EXPECT_NEAR(bar.sum(), step.step.range().duration().milliseconds(), 1e-6);
    }
    auto* shown = page().findChild<StackedBars*>();
    Q_EMIT shown->activated(1);
    EXPECT_EQ(m_window->currentPage(), page_ids::kCompare) << "that one is not open";
    Q_EMIT shown->activated(0);
    EXPECT_EQ(m_window->currentPage(), page_ids::kTimeline);
    EXPECT_EQ(m_window->selection().current().steps, (StepSpan{{3}, {3}}));
    EXPECT_EQ(m_window->selection().current().ranks, std::vector{RankId{0}});
}

TEST_F(CompareTest, SeveralBaselinesAreTakenTogether) {
    openSample();
    m_window->showPage(page_ids::kCompare);
    m_window->compared().set({other({}, u"b.sscope"_s), other({}, u"c.sscope"_s)});
    wait();
    ASSERT_TRUE(page().comparison());
    EXPECT_EQ(page().comparison()->recordings.size(), 3u);
    EXPECT_EQ(page().comparison()->recordings.back().name, u"c.sscope"_s);
    EXPECT_TRUE(page().frame().headline().contains(u"no change"_s))
        << page().frame().headline().toStdString();
    EXPECT_EQ(page().findChild<MirroredBars*>()->titles()[0], u"A and B"_s);
    EXPECT_TRUE(says(u"C, c.sscope, against A and B, whose steps are taken together."_s));
    EXPECT_EQ(lossSeries(*page().comparison()).size(), 3u);
    EXPECT_TRUE(lossMarks(*page().comparison()).empty()) << "they are the same";
}

TEST_F(CompareTest, StartComparesMarkedRows) {
    const QString first = other({}, u"first.sscope"_s), second = other({}, u"second.sscope"_s);
    for (const QString& path : {second, first}) {
        QSignalSpy opened(&m_window->loader(), &RecordingLoader::opened);
        m_window->openFile(path);
        ASSERT_TRUE(opened.wait(10'000));
        settle();
    }
    m_window->showPage(page_ids::kStart);
    Page* start = m_window->page(page_ids::kStart);
    const auto find = [start](const QString& name) {
        for (auto* each : start->findChildren<QAbstractButton*>())
            if (each->accessibleName().startsWith(name) || each->text() == name) return each;
        return static_cast<QAbstractButton*>(nullptr);
    };
    for (const QString& name : {u"first.sscope"_s, u"second.sscope"_s}) {
        ASSERT_NE(find(name), nullptr);
        QTest::mouseClick(find(name), Qt::LeftButton, Qt::ControlModifier);
    }
    EXPECT_EQ(m_window->currentPage(), page_ids::kStart) << "marking opens nothing";
    find(u"Compare two recordings…"_s)->click();
    ASSERT_TRUE(QTest::qWaitFor([this] { return page().comparison() != nullptr; }, 20'000));
    EXPECT_EQ(m_window->currentPage(), page_ids::kCompare);
    EXPECT_EQ(page().comparison()->query.names.size(), 2);
}

TEST(MirroredBarsTest, SaysEachRowByKeyAndPointer) {
    MirroredBars bars;
    bars.setTitles(u"A"_s, u"B"_s, u"difference"_s);
    bars.setBars({{u"compute"_s, Meaning::kCompute, 2, 3, u"2 ms"_s, u"3 ms"_s, u"+1 ms"_s},
                  {u"data"_s, Meaning::kCopy, 1, 0, u"1 ms"_s, u"–"_s, u"–"_s}});
    bars.resize(600, bars.sizeHint().height());
    EXPECT_TRUE(bars.accessibleDescription().contains(u"compute: A 2 ms"_s)) << "all rows";
    QSignalSpy hovered(&bars, &MirroredBars::hovered);
    QTest::keyClick(&bars, Qt::Key_Down);
    ASSERT_EQ(hovered.size(), 1);
    EXPECT_EQ(hovered.back()[0].toString(), u"compute: A 2 ms, B 3 ms, +1 ms"_s);
    QTest::keyClick(&bars, Qt::Key_Down);
    QTest::keyClick(&bars, Qt::Key_Down);
    EXPECT_EQ(hovered.back()[0].toString(), u"data: A 1 ms, B –, –"_s);
    EXPECT_EQ(bars.accessibleDescription(), u"data: A 1 ms, B –, –"_s) << "the one of now";
    EXPECT_FALSE(bars.grab().isNull());
}

}  // namespace
}  // namespace shardscope::desktop
