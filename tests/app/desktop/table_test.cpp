#include "app/desktop/models/format.h"
#include "app/desktop/models/table_model.h"
#include "app/desktop/pages/timeline/canvas/timeline_canvas.h"
#include "app/desktop/pages/timeline/tables/range_kind.h"
#include "app/desktop/pages/timeline/tables/range_table.h"
#include "app/desktop/pages/timeline/tables/table_panel.h"
#include "app/desktop/pages/timeline/tables/timeline_tables.h"
#include "app/desktop/pages/timeline/timeline_page.h"
#include "app/desktop/widgets/data_table.h"
#include "app/desktop/widgets/legend.h"
#include "engine/run/config/run_config.h"
#include "storage/model/repaired.h"
#include "tests/app/desktop/window_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QHeaderView>
#include <QHelpEvent>
#include <QLineEdit>
#include <QMenu>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTabBar>
#include <QTest>
#include <QToolTip>
#include <QVBoxLayout>
#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

std::vector<TableColumn> columns() {
    return {{u"name"_s, {}, false, true, false, 100},
            {u"time"_s, u"how long it took"_s, true, false, false, 100},
            {u"share"_s, {}, true, false, false, 100}};
}

TableRows rows() {
    return {{TableCell::ofText(u"mm, \"big\""_s), TableCell::of(Duration{24'543'210}),
             TableCell::of(Share{0.1234567})},
            {TableCell::ofText(u"gelu"_s), TableCell::of(Duration{55'000'001}),
             TableCell::unknown(u"was not recorded"_s)}};
}

TEST(TableCell, SaysItsExactValueOnHover) {
    TableModel model;
    model.setTable(columns(), rows());
    EXPECT_EQ(model.index(0, 1).data(Qt::ToolTipRole).toString(), u"24,543,210\u2009ns"_s);
    EXPECT_EQ(model.index(0, 2).data(Qt::ToolTipRole).toString(), u"12.34567\u2009%"_s);
    EXPECT_EQ(model.index(1, 2).data(Qt::ToolTipRole).toString(), u"was not recorded"_s);
}

TEST(TableModel, ColumnsOfWhichNothingIsKnownCanBeLeftOut) {
    auto shown = columns();
    TableRows known = rows();
    dropUnknownColumns(shown, known);
    EXPECT_EQ(shown.size(), 3U) << "one row knows its share";
    known[0][2] = TableCell::unknown({});
    dropUnknownColumns(shown, known);
    ASSERT_EQ(shown.size(), 2U);
    EXPECT_EQ(shown[1].title, u"time"_s);
    EXPECT_EQ(known[0].size(), 2U);
    known[0][0] = known[1][0] = TableCell::unknown({});
    dropUnknownColumns(shown, known);
    EXPECT_EQ(shown.size(), 2U) << "the first says what a row is of";
}

TEST(TableModel, CopiesFullPrecisionWithUnitsInTheHeader) {
    TableModel model;
    model.setTable(columns(), rows());
    EXPECT_EQ(model.toText(),
              u"name\ttime [ns]\tshare\n"
              "mm, \"big\"\t24543210\t0.1234567\n"
              "gelu\t55000001\t"_s);
    EXPECT_EQ(model.toText({0}, TableModel::TextFormat::kCsv),
              u"name,time [ns],share\r\n\"mm, \"\"big\"\"\",24543210,0.1234567\r\n"_s);
    EXPECT_EQ(model.cellText(model.index(0, 1)), u"24543210"_s);
}

TEST(TableModel, NewCellsOfTheSameRowsKeepSelectionAndOrder) {
    DataTable table(u"table"_s);
    table.setTable(columns(), rows());
    table.table()->sort(1, Qt::DescendingOrder);
    table.selectSource(0);
    TableRows later = rows();
    later[0][1] = TableCell::of(Duration{99'000'000});
    table.updateTable(columns(), later);
    EXPECT_EQ(table.table()->sourceRow(0), 0) << "the largest is first again";
    const QModelIndexList selected = table.selectionModel()->selectedRows();
    ASSERT_EQ(selected.size(), 1);
    EXPECT_EQ(table.table()->sourceRow(selected.front().row()), 0);
    later.push_back(rows()[1]);
    table.updateTable(columns(), later);
    EXPECT_EQ(table.table()->rowCount(), 3);
}

TEST(TableModel, SaysByWhatItIsSortedAndStaysSo) {
    TableModel model;
    model.setTable(columns(), rows());
    model.sort(1, Qt::DescendingOrder);
    EXPECT_EQ(model.headerData(1, Qt::Horizontal, Qt::DisplayRole).toString(), u"time ↓"_s);
    EXPECT_EQ(model.sourceRow(0), 1);
    model.setTable(columns(), rows());
    EXPECT_EQ(model.sourceRow(0), 1);
    EXPECT_EQ(model.rowOfSource(0), 1);
    model.setTable({{u"other"_s, {}}}, {});
    EXPECT_EQ(model.headerData(0, Qt::Horizontal, Qt::DisplayRole).toString(), u"other"_s);
}

TEST(TableModel, FiltersByWords) {
    TableModel model;
    model.setTable(columns(), rows());
    model.setFilter(u"GEL"_s);
    ASSERT_EQ(model.rowCount(), 1);
    EXPECT_EQ(model.sourceRow(0), 1);
    EXPECT_EQ(model.rowOfSource(0), -1);
    EXPECT_EQ(model.allRows(), 2);
    model.setFilter(u"24"_s);
    EXPECT_EQ(model.rowCount(), 0) << "figures are not words";
}

class DataTableTest : public ::testing::Test {
protected:
    void SetUp() override {
        auto* layout = new QVBoxLayout(&m_window);
        m_table = new DataTable(u"table"_s, &m_window);
        m_after = new QLineEdit(&m_window);
        layout->addWidget(m_table);
        layout->addWidget(m_after);
        m_table->setTable(columns(), rows());
        m_window.resize(400, 200);
        m_window.show();
        ASSERT_TRUE(QTest::qWaitForWindowActive(&m_window, 30'000));
        m_table->setFocus();
    }

    static QStringList actionsOf(QMenu* menu) {
        QStringList texts;
        for (const QAction* action : menu->actions()) texts << action->text();
        return texts;
    }

    QWidget m_window;
    DataTable* m_table = nullptr;
    QLineEdit* m_after = nullptr;
};

TEST_F(DataTableTest, TabLeaves) {
    QTest::keyClick(m_table, Qt::Key_Tab);
    EXPECT_TRUE(m_after->hasFocus());
}

TEST_F(DataTableTest, CopiesRowsAndCells) {
    m_table->selectRow(1);
    m_table->setCurrentIndex(m_table->table()->index(1, 1));
    QTest::keyClick(m_table, Qt::Key_C, Qt::ControlModifier);
    EXPECT_EQ(QApplication::clipboard()->text(), u"name\ttime [ns]\tshare\ngelu\t55000001\t"_s);
    QTest::keyClick(m_table, Qt::Key_C, Qt::ControlModifier | Qt::ShiftModifier);
    EXPECT_EQ(QApplication::clipboard()->text(), u"55000001"_s);
}

TEST_F(DataTableTest, HasAMenuOnItsCells) {
    QSignalSpy opens(m_table, &DataTable::menuOpens);
    const QPoint at = m_table->visualRect(m_table->table()->index(0, 1)).center();
    QContextMenuEvent event(QContextMenuEvent::Mouse, at, m_table->viewport()->mapToGlobal(at));
    QApplication::sendEvent(m_table->viewport(), &event);
    auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    ASSERT_NE(menu, nullptr);
    EXPECT_EQ(actionsOf(menu), (QStringList{u"Copy cell"_s, u"Copy rows"_s, u"Copy table"_s,
                                            u"Copy table as CSV"_s}));
    ASSERT_EQ(opens.size(), 1);
    EXPECT_EQ(opens[0][1].toInt(), 0);
    menu->actions()[0]->trigger();
    EXPECT_EQ(QApplication::clipboard()->text(), u"24543210"_s);
    menu->actions()[3]->trigger();
    EXPECT_TRUE(QApplication::clipboard()->text().startsWith(u"name,time [ns]"_s));
    menu->close();
}

TEST_F(DataTableTest, TheMenuThatAKeyOpensSortsByTheColumnToo) {
    m_table->setCurrentIndex(m_table->table()->index(0, 1));
    QContextMenuEvent event(QContextMenuEvent::Keyboard, {1, 1}, {1, 1});
    QApplication::sendEvent(m_table, &event);
    auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    ASSERT_NE(menu, nullptr);
    const QStringList words = actionsOf(menu);
    ASSERT_TRUE(words.contains(u"Smallest first"_s)) << words.join(u", "_s).toStdString();
    for (QAction* action : menu->actions())
        if (action->text() == u"Smallest first"_s) action->trigger();
    EXPECT_EQ(m_table->table()->sortColumn(), 1);
    EXPECT_EQ(m_table->table()->sortOrder(), Qt::AscendingOrder);
    menu->close();
}

TEST_F(DataTableTest, DefinesAColumnOnItsHeader) {
    QHeaderView* header = m_table->horizontalHeader();
    Q_EMIT header->customContextMenuRequested({header->sectionPosition(1) + 10, 5});
    auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    ASSERT_NE(menu, nullptr);
    EXPECT_EQ(actionsOf(menu).front(), u"time: how long it took"_s);
    menu->close();
}

TEST_F(DataTableTest, ScrollsSidewaysWhereColumnsDoNotFit) {
    EXPECT_EQ(m_table->horizontalScrollBar()->maximum(), 0);
    m_window.resize(150, 200);
    QTest::qWait(1);
    EXPECT_GT(m_table->horizontalScrollBar()->maximum(), 0);
}

TEST_F(DataTableTest, NothingIsCutWhereColumnsHaveRoomBetweenThem) {
    const QString source = u"measured on this machine by shardscope calibrate"_s;
    std::vector<TableColumn> wide{{u"peak"_s, {}}, {u"source"_s, {}}, {u"note"_s, {}}};
    for (TableColumn& column : wide) column.minimumWidth = 160;
    m_table->setTable(wide, {{TableCell::ofText(u"fp32"_s), TableCell::ofText(source),
                              TableCell::ofText(u"none"_s)}});
    const auto room = [&](int column, const QString& text) {
        return m_table->columnWidth(column) -
               QFontMetrics(textFont(kTextPixels)).horizontalAdvance(text);
    };
    for (const int width : {1000, 600}) {
        m_window.resize(width, 200);
        QTest::qWait(1);
        EXPECT_GE(room(1, source), 16) << width;
        EXPECT_GE(room(0, u"fp32"_s), 16) << width;
        EXPECT_EQ(m_table->horizontalScrollBar()->maximum(), 0) << width;
    }
    EXPECT_GE(m_table->horizontalHeader()->length(), m_table->viewport()->width())
        << "and all of the width is used";
}

TEST_F(DataTableTest, WhatIsCutIsSaidWholeOnHover) {
    const QString name = u"void at::native::vectorized_elementwise_kernel<4, float>"_s;
    TableCell cell = TableCell::ofText(name);
    cell.tip = u"why it is here"_s;
    m_table->setTable({{u"name"_s, {}}}, {{cell}});
    const auto tip = [this] {
        QToolTip::hideText();
        const QPoint at = m_table->visualRect(m_table->table()->index(0, 0)).center();
        QHelpEvent help(QEvent::ToolTip, at, m_table->viewport()->mapToGlobal(at));
        QApplication::sendEvent(m_table->viewport(), &help);
        return QToolTip::text().replace(u'\n', u' ');
    };
    m_table->setColumnWidth(0, 900);
    EXPECT_EQ(tip(), u"why it is here"_s);
    m_table->setColumnWidth(0, 120);
    EXPECT_EQ(tip(), name + u" why it is here"_s);
}

TEST_F(DataTableTest, SaysWhichRowWasPickedAndWhichIsMeant) {
    QSignalSpy picked(m_table, &DataTable::rowPicked);
    QSignalSpy activated(m_table, &DataTable::rowActivated);
    m_table->table()->sort(1, Qt::DescendingOrder);
    QTest::mouseClick(m_table->viewport(), Qt::LeftButton, Qt::NoModifier,
                      m_table->visualRect(m_table->table()->index(0, 0)).center());
    ASSERT_EQ(picked.size(), 1);
    EXPECT_EQ(picked[0][0].toInt(), 1);
    m_table->setCurrentIndex(m_table->table()->index(0, 0));
    QTest::keyClick(m_table, Qt::Key_Return);
    ASSERT_EQ(activated.size(), 1);
    EXPECT_EQ(activated[0][0].toInt(), 1);
    m_table->selectSource(0);
    EXPECT_EQ(picked.size(), 1) << "only what the user picks is told";
    EXPECT_EQ(m_table->selectionModel()->selectedRows().front().row(), 1);
}

using ::testing::ElementsAre;

SpanEvent span(std::int64_t start, std::int64_t length, std::uint32_t name,
               std::uint8_t depth = 0) {
    SpanEvent event;
    event.start = {start};
    event.duration = {length};
    event.name = {name};
    event.depth = depth;
    return event;
}

LaneFacts lane(LaneRole role, LaneId id, const char* name, RankId rank = {0}) {
    LaneFacts facts;
    facts.rank = rank;
    facts.role = role;
    facts.lane = id;
    facts.name = name;
    return facts;
}

const LaneFacts kOperatorLane = lane(LaneRole::kHost, lanes::kOperators.id, "operators");

QString letter(StringId id) {
    return QString(QChar(u'a' + static_cast<char16_t>(id.value)));
}

RangeTable operatorTable(TimeRange range, const std::vector<SpanEvent>& spans) {
    RangeAggregation aggregation(range, RangeKind::kOperators);
    aggregation.addLane(kOperatorLane, spans, letter);
    return aggregation.table(1);
}

// depth 0  |linear....|mm..|     own time of linear = 10 - 6, the second mm is its own
// depth 1  |..mm......|
TEST(RangeTable, OwnTimeLeavesNestedEventsOut) {
    const RangeTable table =
        operatorTable({{0}, {100}}, {span(0, 10, 0), span(2, 6, 1, 1), span(10, 4, 1)});
    ASSERT_EQ(table.rows.size(), 2U);
    EXPECT_EQ(table.rows[0].name, u"b"_s);
    EXPECT_EQ(table.rows[0].self, Duration{10});
    EXPECT_EQ(table.rows[0].count, 2);
    EXPECT_EQ(table.rows[1].self, Duration{4});
    EXPECT_EQ(table.rows[1].total, Duration{10});
}

TEST(RangeTable, ClipsEveryFigureAtTheRange) {
    // a hundred long, of which four lie inside; another of two; one that only touches the edge
    const RangeTable table =
        operatorTable({{100}, {110}}, {span(4, 100, 0), span(106, 2, 0), span(110, 5, 0)});
    ASSERT_EQ(table.rows.size(), 1U);
    EXPECT_EQ(table.rows[0].count, 2);
    EXPECT_EQ(table.rows[0].total, Duration{6});
    EXPECT_EQ(table.rows[0].median, Duration{3}) << "the mean of the middle two";
    EXPECT_EQ(table.rows[0].maximum, Duration{4});
}

TEST(RangeTable, OwnTimesOfALaneAddUpToNoMoreThanItsRange) {
    // the second begins in the first and ends after it
    const RangeTable table =
        operatorTable({{0}, {20}}, {span(0, 10, 0), span(5, 10, 1, 1), span(15, 5, 2)});
    Duration sum;
    for (const RangeRow& row : table.rows) sum += row.self;
    EXPECT_EQ(sum, Duration{20});
}

TEST(RangeTable, MixesNoKindsAndSetsCalibrationApart) {
    SpanEvent calibration = span(0, 50, 0);
    calibration.phase = Phase::kCalibration;
    const std::vector<SpanEvent> spans{calibration, span(50, 10, 1)};
    EXPECT_THAT(operatorTable({{0}, {60}}, spans).rows,
                ElementsAre(testing::Field(&RangeRow::name, u"b"_s)));
    RangeAggregation apart({{0}, {60}}, RangeKind::kApart);
    apart.addLane(kOperatorLane, spans, letter);
    EXPECT_THAT(apart.table(1).rows, ElementsAre(testing::Field(&RangeRow::name, u"a"_s)));
}

TEST(RangeKind, TellsLanesApart) {
    const LaneId stream = lanes::kStreams.at(0);
    EXPECT_EQ(rangeKind(lane(LaneRole::kCompute, stream, "stream 7")), RangeKind::kKernels);
    EXPECT_EQ(rangeKind(lane(LaneRole::kCommunication, stream, "stream 19: NCCL")),
              RangeKind::kKernels);
    EXPECT_EQ(rangeKind(lane(LaneRole::kCompute, lanes::kPhases.id, "compute")),
              RangeKind::kPhases);
    EXPECT_EQ(rangeKind(lane(LaneRole::kHost, {5}, "thread 1: python_function (CPU)")),
              RangeKind::kPython);
    EXPECT_EQ(rangeKind(lane(LaneRole::kRange, {6}, "thread PyTorch Profiler: Trace")),
              RangeKind::kApart);
    EXPECT_EQ(rangeKind(lane(LaneRole::kCounter, {4}, "resident set")), std::nullopt);
}

TEST(RangeKind, WhatAnswersMostComesFirst) {
    RecordingSummary cpu;
    cpu.lanes = {lane(LaneRole::kCommunication, lanes::kCommunication.id, "communication"),
                 kOperatorLane};
    EXPECT_EQ(rangeKinds(cpu).front(), RangeKind::kOperators);
    cpu.lanes.push_back(lane(LaneRole::kCompute, lanes::kStreams.at(0), "stream 7"));
    EXPECT_EQ(rangeKinds(cpu).front(), RangeKind::kKernels);
}

TEST(RangeRows, SharesNameTheirDenominatorAndStayBelowIt) {
    RangeAggregation aggregation({{0}, {10}}, RangeKind::kOperators);
    aggregation.addLane(kOperatorLane, {span(0, 10, 0)}, letter);
    aggregation.addLane(lane(LaneRole::kHost, {17}, "operators (thread 1)"), {span(0, 5, 0)},
                        letter);
    const RangeTable table = aggregation.table(1);
    OpenRecording recording;
    EXPECT_EQ(rangeCaption(recording, {}, table),
              u"in the whole run · shares of 2 threads × 10.0\u2009ns"_s);
    const TableRows rows = rangeRows(table);
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_DOUBLE_EQ(rows[0][3].sortKey, 0.75);
    EXPECT_EQ(rows[0].back().text, u"2 threads"_s);
}

TEST(RangeCaption, SaysWhichCaptureLevelWouldHaveHeldWhatIsNotThere) {
    OpenRecording recording;
    RangeTable table;
    table.kind = RangeKind::kOperators;
    EXPECT_EQ(rangeCaption(recording, {}, table), u"Operators: nothing recorded in the whole run"_s)
        << "of a file that does not say its level";
    run::RunConfig config;
    config.capture = CaptureLevel::kLight;
    recording.summary.run.configJson = run::toJson(config);
    EXPECT_EQ(rangeCaption(recording, {}, table),
              u"Operators not recorded: record with --capture full"_s);
    table.kind = RangeKind::kCollectives;
    EXPECT_EQ(rangeCaption(recording, {}, table),
              u"Collectives: nothing recorded in the whole run"_s)
        << "the level holds them: there are none";
    Diagnostic repaired;
    repaired.code = kRepairedCode;
    recording.summary.diagnostics.push_back(repaired);
    EXPECT_EQ(rangeCaption(recording, {}, table),
              u"Collectives: nothing salvaged in the whole run"_s)
        << "whether there were any is unknown";
}

TEST(WhereText, SaysWhatIsSelected) {
    OpenRecording recording;
    EXPECT_EQ(whereText(recording, {}), u"in the whole run"_s);
    EXPECT_EQ(whereText(recording, Selection{std::nullopt, StepSpan{{4}, {7}}, {}}),
              u"in steps 4–7"_s);
    EXPECT_EQ(whereText(recording, Selection{std::nullopt, StepSpan{{4}, {4}}, {{1}}}),
              u"in step 4 on rank 1"_s);
    EXPECT_EQ(whereText(recording, Selection{TimeRange{{0}, {5}}, std::nullopt, {}}),
              u"in the selected range"_s);
}

using RangeTablePage = WindowTest;

TEST_F(RangeTablePage, AnotherTabIsAnotherTable) {
    openSample();
    m_window->showPage(page_ids::kTimeline);
    settle();
    auto* page = m_window->findChild<TimelinePage*>();
    TablePanel& tables = page->tables();
    EXPECT_EQ(tables.table().table()->rowCount(), 0) << "folded, nothing is added up";
    QTest::keyClick(&page->canvas(), Qt::Key_B);
    settle();
    ASSERT_EQ(tables.kind(), RangeKind::kOperators);
    const int operators = tables.table().table()->rowCount();
    EXPECT_GT(operators, 0);
    EXPECT_TRUE(tables.caption().startsWith(u"in the whole run"_s))
        << tables.caption().toStdString();
    for (int i = 0; i < tables.tabs().count(); ++i)
        if (tables.tabs().tabText(i) == u"Collectives"_s) tables.tabs().setCurrentIndex(i);
    settle();
    EXPECT_EQ(tables.kind(), RangeKind::kCollectives);
    EXPECT_THAT(tables.table().table()->toText().toStdString(), testing::HasSubstr("all-gather"));
}

/// Of a slice that was clicked the tab is shown, but only while the range has some of it.
TEST_F(RangeTablePage, GoesBackToTheTabThatWasChosen) {
    openSample();
    m_window->showPage(page_ids::kTimeline);
    auto* page = m_window->findChild<TimelinePage*>();
    TablePanel& tables = page->tables();
    QTest::keyClick(&page->canvas(), Qt::Key_B);
    settle();
    ASSERT_EQ(tables.kind(), RangeKind::kOperators);
    const auto& lanes = m_window->loader().recording()->summary.lanes;
    const auto calibration = std::find_if(lanes.begin(), lanes.end(), [](const LaneFacts& lane) {
        return rangeKind(lane) == RangeKind::kCollectives;
    });
    ASSERT_NE(calibration, lanes.end());
    SliceView slice;
    slice.count = 1;
    slice.name = u"all-gather"_s;
    auto* rows = page->findChild<TimelineTables*>();
    ASSERT_NE(rows, nullptr);
    rows->showSlice(*calibration, slice);
    settle();
    EXPECT_EQ(tables.kind(), RangeKind::kCollectives);
    // The first nanosecond of the run: nothing of anything.
    m_window->selection().selectRange({{0}, {1}});
    settle();
    EXPECT_EQ(tables.kind(), RangeKind::kOperators);
    m_window->selection().clear();
    settle();
    EXPECT_EQ(tables.kind(), RangeKind::kOperators) << "once";
}

TEST_F(RangeTablePage, FoldedItIsAsHighAsTheLegend) {
    openSample();
    m_window->showPage(page_ids::kTimeline);
    settle();
    auto* page = m_window->findChild<TimelinePage*>();
    auto* legend = page->findChild<Legend*>();
    ASSERT_TRUE(page->tables().isFolded());
    for (const QSize size : {QSize(1280, 800), QSize(800, 560), QSize(1600, 900)}) {
        m_window->resize(size);
        settle();
        if (!legend->isVisible()) continue;
        EXPECT_GE(legend->height(), legend->heightForWidth(legend->width())) << size.width();
        EXPECT_LE(legend->geometry().right(), page->tables().width());
    }
}

/// A range that was dragged begins and ends within steps: it is none of them.
TEST_F(RangeTablePage, TheHeadlineNamesStepsOnlyWhereStepsAreSelected) {
    openSample();
    m_window->showPage(page_ids::kTimeline);
    settle();
    auto* page = m_window->findChild<TimelinePage*>();
    m_window->selection().selectSteps({{2}, {4}});
    settle();
    EXPECT_TRUE(page->frame().headline().startsWith(u"Steps 2–4: "_s));
    const TimeRange steps = m_window->loader().recording()->timeOf(m_window->selection().current());
    m_window->selection().selectRange({steps.begin - Duration{1000}, steps.end});
    settle();
    EXPECT_TRUE(page->frame().headline().startsWith(u"Selected range: "_s))
        << page->frame().headline().toStdString();
}

}  // namespace
}  // namespace shardscope::desktop
