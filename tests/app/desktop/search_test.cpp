#include "app/desktop/pages/timeline/tables/search.h"

#include "app/desktop/pages/timeline/canvas/timeline_canvas.h"
#include "app/desktop/pages/timeline/tables/find_bar.h"
#include "app/desktop/pages/timeline/tables/table_panel.h"
#include "app/desktop/pages/timeline/timeline_page.h"
#include "app/desktop/widgets/data_table.h"
#include "storage/model/rank_facts.h"
#include "tests/app/desktop/window_fixture.h"
#include "tests/support/result_matchers.h"

#include <gmock/gmock.h>

#include <QLabel>
#include <QLineEdit>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using test::IsOk;

class SearchTest : public ::testing::Test {
protected:
    void SetUp() override {
        ASSERT_TRUE(m_folder.isValid());
        const std::string path = m_folder.filePath(u"run.sscope"_s).toStdString();
        test::SampleOptions options;
        options.gpu = true;
        ASSERT_THAT(test::writeSampleRecording(path, options), IsOk());
        auto reader = storage::openRecording(path);
        ASSERT_THAT(reader, IsOk());
        m_reader = std::move(*reader);
        m_summary = *m_reader->summary();
    }

    /// All of it, a piece at a time.
    SearchResultPtr find(const SearchText& text, const std::vector<RankId>& ranks = {}) {
        Search search(text, m_summary, ranks, false);
        SearchResultPtr found;
        do {
            const auto more = search.searchOn(*m_reader, {}, std::chrono::milliseconds(0));
            EXPECT_THAT(more, IsOk());
            if (!more) break;
            found = *more;
        } while (!found->isComplete());
        return found;
    }

    /// By looking at every event.
    std::uint64_t countOf(const QString& text, std::optional<RankId> only = {}) {
        std::uint64_t count = 0;
        for (const LaneFacts& lane : m_summary.lanes) {
            if (lane.role == LaneRole::kCounter || (only && lane.rank != *only)) continue;
            const auto spans = m_reader->spans(lane.rank, lane.lane, m_summary.bounds);
            EXPECT_THAT(spans, IsOk());
            if (!spans) continue;
            for (const SpanEvent& span : *spans) {
                const bool named = QString::fromUtf8(m_reader->text(lane.rank, span.name))
                                       .contains(text, Qt::CaseInsensitive);
                count += named || QString::fromUtf8(m_reader->text(lane.rank, span.arguments))
                                      .contains(text, Qt::CaseInsensitive);
            }
        }
        return count;
    }

    QTemporaryDir m_folder;
    std::unique_ptr<storage::RecordingReader> m_reader;
    RecordingSummary m_summary;
};

TEST_F(SearchTest, FindsNamesAndArgumentsOfAllLanes) {
    for (const QString& text : {u"LINEAR"_s, u"shapes"_s, u"all-gather"_s, u"cudaLaunch"_s}) {
        const SearchResultPtr found = find({text, false});
        EXPECT_EQ(found->count, countOf(text)) << text.toStdString();
        EXPECT_GT(found->count, 0U) << text.toStdString();
        EXPECT_FALSE(found->moments.empty());
    }
}

TEST_F(SearchTest, SaysWhereItWasFound) {
    const SearchResultPtr byName = find({u"aten::linear"_s, false});
    EXPECT_FALSE(byName->hits.front().byArguments);
    const SearchResultPtr byArguments = find({u"shapes"_s, false});
    EXPECT_TRUE(byArguments->hits.front().byArguments);
    EXPECT_TRUE(std::is_sorted(
        byName->hits.begin(), byName->hits.end(),
        [](const SearchHit& a, const SearchHit& b) { return a.span.start < b.span.start; }));
}

TEST_F(SearchTest, SaysOfAMatchThatItLiesBeforeTheSteps) {
    const Timestamp first = m_summary.steps.front().start;
    int before = 0;
    for (const SearchHit& hit : find({u"calibration"_s, false})->hits) {
        if (hit.span.phase != Phase::kCalibration) continue;
        EXPECT_EQ(placeOf(hit, m_summary), u"in calibration, before the first step"_s);
        ++before;
    }
    EXPECT_GT(before, 0);
    for (const SearchHit& hit : find({u"linear"_s, false})->hits)
        EXPECT_EQ(placeOf(hit, m_summary).isEmpty(),
                  hit.span.start >= first && hit.span.phase != Phase::kCalibration);
}

TEST_F(SearchTest, KeepsToTheSelectedRanks) {
    const RankId rank = m_summary.ranks.back().rank;
    const SearchResultPtr found = find({u"linear"_s, false}, {rank});
    EXPECT_EQ(found->count, countOf(u"linear"_s, rank));
    EXPECT_EQ(found->hits.front().key.rank, rank);
}

TEST_F(SearchTest, TakesRegularExpressions) {
    EXPECT_EQ(find({u"^aten::lin.*r$"_s, true})->count, find({u"aten::linear"_s, false})->count);
    EXPECT_EQ(find({u"^aten::lin.*r$"_s, false})->count, 0U);
    EXPECT_FALSE((SearchText{u"("_s, true}).error().isEmpty());
    EXPECT_TRUE((SearchText{u"("_s, false}).error().isEmpty());
}

TEST_F(SearchTest, WhatNobodySaysIsNotFound) {
    const SearchResultPtr found = find({u"no such thing"_s, false});
    EXPECT_EQ(found->count, 0U);
    EXPECT_TRUE(found->moments.empty());
}

TEST_F(SearchTest, ANewerSearchEndsIt) {
    storage::Generations generations;
    const storage::Generation old = generations.next();
    generations.supersede();
    Search search({u"linear"_s, false}, m_summary, {}, false);
    const auto found = search.searchOn(*m_reader, old, std::chrono::milliseconds(0));
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ErrorCode::kCancelled);
}

class FindPageTest : public WindowTest {
protected:
    void open() {
        openSample();
        m_window->showPage(page_ids::kTimeline);
        settle();
        m_page = m_window->findChild<TimelinePage*>();
        m_page->canvas().setFocus();
    }
    QLineEdit* field() { return m_page->findBar().findChild<QLineEdit*>(); }
    void type(const QString& text) {
        field()->setText(text);
        settle();
    }

    TimelinePage* m_page = nullptr;
};

TEST_F(FindPageTest, SlashOpensItAndEnterGoesFromMatchToMatch) {
    open();
    EXPECT_TRUE(m_page->findBar().isHidden());
    QTest::keyClick(&m_page->canvas(), Qt::Key_Slash);
    ASSERT_TRUE(m_page->findBar().isVisible());
    QSignalSpy hits(m_page, &TimelinePage::hitsChanged);
    type(u"linear"_s);
    EXPECT_TRUE(m_page->findBar().status().endsWith(u" matches"_s))
        << m_page->findBar().status().toStdString();
    EXPECT_FALSE(hits.back().front().value<std::vector<Timestamp>>().empty());
    const TimeRange seen = m_page->canvas().view();
    QTest::keyClick(field(), Qt::Key_Return);
    settle();
    EXPECT_TRUE(m_page->findBar().status().contains(u" of "_s));
    ASSERT_TRUE(m_page->canvas().selectedSlice());
    EXPECT_GE(m_page->canvas().selectedSlice()->slice.range.begin, seen.begin)
        << "the first in sight, not of the run";
    EXPECT_GE(m_page->canvas().selectedSlice()->slice.range.duration().ns * 50,
              m_page->canvas().view().duration().ns)
        << "so large that it can be seen";
    EXPECT_TRUE(m_page->canvas().selectedSlice()->slice.name.contains(u"linear"_s));
    const Timestamp first = m_page->canvas().selectedSlice()->slice.range.begin;
    QTest::keyClick(field(), Qt::Key_Return);
    settle();
    EXPECT_GE(m_page->canvas().selectedSlice()->slice.range.begin, first);
    QTest::keyClick(field(), Qt::Key_Return, Qt::ShiftModifier);
    settle();
    EXPECT_EQ(m_page->canvas().selectedSlice()->slice.range.begin, first);
    keepPicture(u"find"_s);
    QTest::keyClick(field(), Qt::Key_Escape);
    EXPECT_TRUE(m_page->findBar().isHidden());
    EXPECT_TRUE(m_page->canvas().hasFocus());
    EXPECT_EQ(m_page->tables().tab(), TableTab::kRange);
}

TEST_F(FindPageTest, SaysThatTheMatchLiesInCalibration) {
    open();
    QTest::keyClick(&m_page->canvas(), Qt::Key_Slash);
    type(u"calibration"_s);
    EXPECT_FALSE(m_page->findBar().status().contains(u"before the first step"_s));
    QTest::keyClick(field(), Qt::Key_Return);
    settle();
    EXPECT_TRUE(m_page->findBar().status().contains(u" · in calibration, before the first step"_s))
        << m_page->findBar().status().toStdString();
}

TEST_F(FindPageTest, ListsWhatItFound) {
    open();
    QTest::keyClick(&m_page->canvas(), Qt::Key_F, Qt::ControlModifier);
    ASSERT_TRUE(m_page->findBar().isVisible());
    type(u"linear"_s);
    ASSERT_EQ(m_page->tables().tab(), TableTab::kFound);
    DataTable& table = m_page->tables().table();
    EXPECT_GT(table.table()->rowCount(), 1);
    Q_EMIT table.rowActivated(1);
    settle();
    ASSERT_TRUE(m_page->canvas().selectedSlice());
    EXPECT_TRUE(m_page->findBar().status().startsWith(u"2 of "_s));
    type(u"no such thing"_s);
    EXPECT_EQ(m_page->findBar().status(), u"no match"_s);
    EXPECT_EQ(table.table()->rowCount(), 0);
}

TEST_F(FindPageTest, ARowOfTheRangeTableLeadsToItsSlicesAndBack) {
    open();
    QTest::keyClick(&m_page->canvas(), Qt::Key_B);
    settle();
    DataTable& table = m_page->tables().table();
    ASSERT_GT(table.table()->rowCount(), 1);
    const QString name = table.table()->index(1, 0).data().toString();
    Q_EMIT table.rowActivated(table.table()->sourceRow(1));
    settle();
    ASSERT_TRUE(m_page->canvas().selectedSlice());
    EXPECT_EQ(m_page->canvas().selectedSlice()->slice.name, name);
    keepPicture(u"highlighted"_s);
    const auto selected = table.selectionModel()->selectedRows();
    ASSERT_EQ(selected.size(), 1);
    EXPECT_EQ(selected.front().data().toString(), name);
}

}  // namespace
}  // namespace shardscope::desktop
