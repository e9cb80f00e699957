#include "app/desktop/pages/timeline/tables/range_table.h"

#include "app/desktop/pages/timeline/tables/range_kind.h"
#include "app/desktop/pages/timeline/tables/table_panel.h"
#include "app/desktop/pages/timeline/timeline_page.h"
#include "app/desktop/widgets/data_table.h"
#include "engine/run/config/run_config.h"
#include "storage/model/repaired.h"
#include "tests/app/desktop/window_fixture.h"

#include <gmock/gmock.h>

#include <QTabBar>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
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

}  // namespace
}  // namespace shardscope::desktop
