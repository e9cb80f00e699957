#include "app/desktop/models/chart_data.h"
#include "app/desktop/models/selection.h"
#include "app/desktop/models/table_model.h"
#include "app/desktop/pages/memory/memory_model.h"
#include "app/desktop/pages/memory/memory_query.h"
#include "app/desktop/pages/newrun/run_form.h"
#include "app/desktop/pages/timeline/canvas/timeline_canvas.h"
#include "app/desktop/pages/timeline/details/slice_details.h"
#include "app/desktop/pages/timeline/lanes/lane_layout.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"

#include <gmock/gmock.h>

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <set>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using ::testing::ElementsAre;

TableModel* filledModel(QObject* parent) {
    auto* model = new TableModel(parent);
    model->setTable({{u"name"_s, {}, false}, {u"value"_s, u"what it is"_s, true}},
                    {{{u"b"_s, {}, 0, Meaning::kCompute}, {u"2"_s, u"2 ns"_s, 2, Meaning::kNone}},
                     {{u"a"_s, {}, 0, Meaning::kGather}, {u"10"_s, {}, 10, Meaning::kNone}}});
    return model;
}

TEST(TableModel, KeepsTheContractOfItemModels) {
    QObject owner;
    TableModel* model = filledModel(&owner);
    QAbstractItemModelTester tester(model, QAbstractItemModelTester::FailureReportingMode::Fatal);
    model->sort(1, Qt::DescendingOrder);
    model->setTable({}, {});
    EXPECT_EQ(model->rowCount(), 0);
}

TEST(TableModel, SortsNumbersByValueAndNotByText) {
    QObject owner;
    TableModel* model = filledModel(&owner);
    model->sort(1, Qt::DescendingOrder);
    EXPECT_EQ(model->index(0, 1).data().toString(), u"10"_s);
    model->sort(0, Qt::AscendingOrder);
    EXPECT_EQ(model->index(0, 0).data().toString(), u"a"_s);
}

TEST(TableModel, CopiesAsTabSeparatedText) {
    QObject owner;
    EXPECT_EQ(filledModel(&owner)->toText(), u"name\tvalue\nb\t2\na\t10"_s);
}

TEST(SelectionModel, GoesBackAndForward) {
    SelectionModel model;
    QSignalSpy changed(&model, &SelectionModel::selectionChanged);
    model.selectRange({{0}, {10}});
    model.selectRanks({{1}});
    model.goBack();
    EXPECT_TRUE(model.current().ranks.empty());
    EXPECT_TRUE(model.current().range.has_value());
    model.goBack();
    EXPECT_TRUE(model.current().isEverything());
    EXPECT_FALSE(model.canGoBack());
    model.goForward();
    EXPECT_TRUE(model.current().range.has_value());
    EXPECT_EQ(changed.count(), 5);
}

TEST(SelectionModel, SelectingAgainCutsTheWayForward) {
    SelectionModel model;
    model.selectRange({{0}, {10}});
    model.goBack();
    model.selectRange({{5}, {6}});
    EXPECT_FALSE(model.canGoForward());
    model.selectRange({{5}, {6}});
    model.goBack();
    EXPECT_TRUE(model.current().isEverything());
}

TEST(SelectionModel, PagesArePartOfTheWay) {
    SelectionModel model;
    QSignalSpy pages(&model, &SelectionModel::pageChanged);
    QSignalSpy selections(&model, &SelectionModel::selectionChanged);
    model.visit(u"overview"_s);
    EXPECT_FALSE(model.canGoBack()) << "one begins somewhere";
    model.show({u"timeline"_s, {TimeRange{{0}, {10}}, {}, {}}});
    EXPECT_EQ(pages.count(), 1);
    EXPECT_EQ(selections.count(), 1);
    model.visit(u"timeline"_s);
    model.visit(u"memory"_s);
    EXPECT_TRUE(model.current().range) << "another page of the same selection";
    model.goBack();
    EXPECT_EQ(model.view().page, u"timeline"_s);
    model.goBack();
    EXPECT_EQ(model.view(), (View{u"overview"_s, {}})) << "what was shown elsewhere is one step";
    EXPECT_EQ(pages.count(), 4);
    EXPECT_EQ(selections.count(), 2);
    model.goForward();
    model.reset();
    EXPECT_EQ(model.view(), (View{u"timeline"_s, {}}));
    EXPECT_FALSE(model.canGoBack());
}

TEST(Decimation, KeepsSpikes) {
    QVector<QPointF> points;
    for (int i = 0; i < 10'000; ++i)
        points.push_back({static_cast<double>(i), i == 5'001 ? 99.0 : 1.0});
    const auto kept = decimated(points, 100);
    EXPECT_LE(kept.size(), 100);
    EXPECT_TRUE(std::any_of(kept.begin(), kept.end(), [](QPointF p) { return p.y() == 99.0; }));
}

TEST(TimelineKeys, LetterKeysCountByTheirPlace) {
    EXPECT_EQ(TimelineCanvas::commandOf(Qt::Key_Z, 25, Qt::NoModifier),
              TimelineCommand::kZoomIn);  // AZERTY
    EXPECT_EQ(TimelineCanvas::commandOf(Qt::Key_W, 52, Qt::NoModifier), TimelineCommand::kNone);
    EXPECT_EQ(TimelineCanvas::commandOf(Qt::Key_W, 0, Qt::NoModifier), TimelineCommand::kZoomIn);
    EXPECT_EQ(TimelineCanvas::commandOf(Qt::Key_N, 0, Qt::ShiftModifier),
              TimelineCommand::kPreviousRank);
    EXPECT_EQ(TimelineCanvas::commandOf(Qt::Key_A, 38, Qt::ControlModifier),
              TimelineCommand::kNone);
}

TEST(TimelineKeys, ArrowsAreFollowedWithoutBracketsToo) {
    for (const Qt::KeyboardModifiers held :
         {Qt::KeyboardModifiers(), Qt::KeyboardModifiers(Qt::GroupSwitchModifier)}) {
        EXPECT_EQ(TimelineCanvas::commandOf(Qt::Key_BracketLeft, 34, held),
                  TimelineCommand::kFollowBack);
        EXPECT_EQ(TimelineCanvas::commandOf(Qt::Key_BracketRight, 35, held),
                  TimelineCommand::kFollowForward);
    }
    EXPECT_EQ(TimelineCanvas::commandOf(Qt::Key_Left, 113, Qt::ControlModifier),
              TimelineCommand::kFollowBack);
    EXPECT_EQ(TimelineCanvas::commandOf(Qt::Key_Right, 114, Qt::ControlModifier),
              TimelineCommand::kFollowForward);
    EXPECT_EQ(TimelineCanvas::commandOf(Qt::Key_Period, 59, Qt::ShiftModifier),
              TimelineCommand::kNextSlice)
        << "AZERTY";
}

TEST(MemoryModel, StacksEveryCategoryOnce) {
    std::vector<MemoryCategory> all;
    for (int i = 0; i < kMemoryCategoryCount; ++i) all.push_back(static_cast<MemoryCategory>(i));
    EXPECT_THAT(stackOrder(), testing::UnorderedElementsAreArray(all));
    for (MemoryCategory category : all) EXPECT_STRNE(toWord(category), "unknown");
}

TEST(MemoryColumns, SumIsTheHighestTotalOfItsTime) {
    MemoryColumnsBuilder builder({0}, {{0}, {20}}, 2);
    // activations peak at 8 while temporaries peak at 6, but never together: total 10
    builder.addCategory(MemoryCategory::kActivation,
                        {{{{0}, {10}}, 0, 8, 4}, {{{10}, {20}}, 4, 4, 4}});
    builder.addCategory(MemoryCategory::kTemporary,
                        {{{{0}, {10}}, 0, 6, 0}, {{{10}, {20}}, 0, 0, 0}});
    const MemoryColumns columns = builder.build({{{{0}, {10}}, 0, 10, 4}, {{{10}, {20}}, 4, 4, 4}});
    EXPECT_DOUBLE_EQ(columns.total(0), 10);
    EXPECT_DOUBLE_EQ(columns.total(1), 4);
}

TEST(MemoryColumns, ValuesLastUntilTheNextOne) {
    MemoryColumnsBuilder builder({0}, {{0}, {40}}, 4);
    builder.addCategory(MemoryCategory::kActivation, {{{{0}, {10}}, 5, 5, 5}});
    const MemoryColumns columns = builder.build({{{{0}, {10}}, 5, 5, 5}});
    EXPECT_THAT(columns.categories[static_cast<std::size_t>(MemoryCategory::kActivation)],
                ElementsAre(5, 5, 5, 5));
}

RecordingSummary twoRanks() {
    RecordingSummary summary;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
        RankFacts facts;
        facts.rank = {rank};
        summary.ranks.push_back(facts);
        summary.lanes.push_back({{rank}, {1}, LaneRole::kCompute, "compute", "", 0});
        summary.lanes.push_back({{rank}, {3}, LaneRole::kCommunication, "communication", "", 1});
        summary.lanes.push_back({{rank},
                                 memoryLane(MemoryCategory::kActivation),
                                 LaneRole::kCounter,
                                 "memory: activations",
                                 "bytes",
                                 2});
        summary.lanes.push_back(
            {{rank}, kMemoryTotalLane, LaneRole::kCounter, "memory", "bytes", 3});
    }
    return summary;
}

TEST(LaneLayout, RowsDoNotOverlap) {
    const LaneLayout layout = layOutLanes(twoRanks(), {});
    for (std::size_t i = 1; i < layout.rows.size(); ++i) {
        EXPECT_GE(layout.rows[i].y, layout.rows[i - 1].y + layout.rows[i - 1].height);
    }
    EXPECT_EQ(layout.rows.size(), 8U);  // header, compute, communication, memory, twice
    EXPECT_EQ(layout.rowAt(layout.rows[2].y + 1), &layout.rows[2]);
}

TEST(LaneLayout, FoldedRanksKeepASummaryBesideTheirName) {
    LaneLayoutOptions options;
    options.collapsed.insert(RankId{0});
    const LaneLayout layout = layOutLanes(twoRanks(), options);
    EXPECT_EQ(layout.rows.size(), 6U);
    EXPECT_TRUE(layout.rows[0].collapsed);
    EXPECT_EQ(layout.rows[1].kind, LaneRow::Kind::kSummary);
    EXPECT_EQ(layout.rows[1].y, layout.rows[0].y);
    EXPECT_THAT(layout.rows[1].parts, ElementsAre(LaneAddress{{0}, {1}}));
    EXPECT_EQ(layout.rowAt(layout.rows[0].y + 1), &layout.rows[0]);
}

TEST(LaneLayout, LanesLieAsTheRecordingOrdersThem) {
    // As the reader gives them: by order, which need not be that of the ids.
    RecordingSummary summary = twoRanks();
    summary.ranks.resize(1);
    summary.lanes = {{{0}, {3}, LaneRole::kCommunication, "communication", "", 3},
                     {{0}, {6}, LaneRole::kCommunication, "communication in group 1", "", 4},
                     {{0}, {5}, LaneRole::kCounter, "CPU time", "ns", 7}};
    std::vector<QString> names;
    for (const LaneRow& row : layOutLanes(summary, {}).rows) names.push_back(row.name);
    EXPECT_THAT(names, ElementsAre(u"rank 0"_s, u"communication"_s,
                                   u"communication · rank 0 of group 1"_s, u"CPU"_s));
}

TEST(LaneLayout, SaysOnWhichOfSeveralHostsARankIs) {
    RecordingSummary summary = twoRanks();
    const auto notes = [&] {
        std::vector<QString> found;
        for (const LaneRow& row : layOutLanes(summary, {}).rows)
            if (row.kind == LaneRow::Kind::kHeader) found.push_back(row.note);
        return found;
    };
    summary.hosts.resize(1);
    summary.hosts[0].name = "node-a";
    EXPECT_THAT(notes(), ElementsAre(QString(), QString()));
    summary.hosts.push_back(summary.hosts[0]);
    summary.hosts[1].host = 1;
    summary.hosts[1].name = "node-b";
    summary.ranks[1].host = 1;
    EXPECT_THAT(notes(), ElementsAre(u"on node-a"_s, u"on node-b"_s));
    summary.hosts[0].name.clear();  // most traces do not say it
    EXPECT_THAT(notes(), ElementsAre(QString(), u"on node-b"_s));
}

TEST(LaneLayout, HasRoomForTheLevelsOfCollectivesOfSeveralHosts) {
    RecordingSummary summary = twoRanks();
    const auto depths = [&] {
        std::set<int> found;
        for (const LaneRow& row : layOutLanes(summary, {}).rows)
            if (row.role == LaneRole::kCommunication && row.kind == LaneRow::Kind::kSpans)
                found.insert(row.depths);
        return found;
    };
    summary.hosts.resize(1);
    EXPECT_THAT(depths(), ElementsAre(1));
    summary.hosts.resize(2);
    EXPECT_THAT(depths(), ElementsAre(2));
}

TEST(LaneLayout, ShowsOnlySelectedRanks) {
    LaneLayoutOptions options;
    options.ranks = {RankId{1}};
    const LaneLayout layout = layOutLanes(twoRanks(), options);
    for (const LaneRow& row : layout.rows) EXPECT_EQ(row.key.rank, RankId{1});
}

TEST(SliceLabels, GoFromLongToShort) {
    SliceView slice;
    slice.name = u"all-gather"_s;
    slice.operation = CollectiveOp::kAllGather;
    slice.layer = {3};
    EXPECT_THAT(sliceLabels(LaneRole::kCommunication, slice),
                ElementsAre(u"all-gather block 3"_s, u"AG block 3"_s, u"AG 3"_s));
    slice.count = 12;
    EXPECT_THAT(sliceLabels(LaneRole::kCommunication, slice), ElementsAre(u"12 ×"_s));
}

TEST(RunForm, SaysWhyARunCannotStart) {
    run::RunConfig config;
    config.model.hidden = 385;
    const RunPrediction prediction = predict(config, {{}, 2, {1LL << 34}, {1LL << 34}});
    EXPECT_FALSE(prediction.problem.isEmpty());
    EXPECT_TRUE(prediction.memory.empty());
}

TEST(RunForm, BytesNeedAVocabularyOf256) {
    run::RunConfig config;
    config.model.vocabulary = 64;
    config.data = "corpus.txt";
    EXPECT_TRUE(predict(config, {{}, 2, {1LL << 34}, {1LL << 34}}).problem.contains(u"256"_s));
}

TEST(RunForm, PredictsMemoryOfTheChosenStrategy) {
    run::RunConfig config;
    const RunPrediction prediction = predict(config, {{}, 2, {1LL << 34}, {1LL << 34}});
    EXPECT_TRUE(prediction.problem.isEmpty()) << prediction.problem.toStdString();
    EXPECT_EQ(prediction.parameters, u"10,774,272 parameters"_s);
    const auto chosen = std::find_if(prediction.memory.begin(), prediction.memory.end(),
                                     [](const StackedBar& bar) { return bar.emphasised; });
    ASSERT_NE(chosen, prediction.memory.end());
    EXPECT_EQ(chosen->label, u"ZeRO-3 × 2"_s);
    EXPECT_GT(chosen->sum(), 16.0 * 10'774'272 / 2);
    EXPECT_TRUE(prediction.headline.startsWith(u"Fits"_s));
}

/// As everywhere else: the prefix follows the size.
TEST(RunForm, GivesTheModelsWorkWithThePrefixOfItsSize) {
    const auto work = [](int batch) {
        run::RunConfig config;
        config.batch = batch;
        for (const auto& [name, value] : predict(config, {{}, 2, {1LL << 34}, {1LL << 34}}).traffic)
            if (name == u"model FLOPs"_s) return value;
        return QString();
    };
    EXPECT_TRUE(work(8).endsWith(u"\u2009GFLOP"_s)) << work(8).toStdString();
    EXPECT_TRUE(work(8 * 64).endsWith(u"\u2009TFLOP"_s)) << work(8 * 64).toStdString();
}

TEST(RunForm, WarnsOfMoreThreadsThanCores) {
    run::RunConfig config;
    config.ranks = 4;
    EXPECT_FALSE(predict(config, {{}, 2, {1LL << 34}, {1LL << 34}}).warning.isEmpty());
    EXPECT_TRUE(predict(config, {{}, 8, {1LL << 34}, {1LL << 34}}).warning.isEmpty());
}

/// How much slower is known once the run has tried it: from 0.65 of fp32's speed upwards.
TEST(RunForm, WarnsOfNarrowTypesWithoutSayingHowSlowTheyAre) {
    run::RunConfig config;
    config.precision = run::Precision::kBFloat16;
    const MachineFacts machine{{}, 8, {1LL << 34}, {1LL << 34}};
    EXPECT_TRUE(
        predict(config, machine).warning.startsWith(u"bf16 is slower than fp32 on a CPU"_s));
    EXPECT_FALSE(predict(config, machine).warning.contains(u"times"_s));
    config.device = run::Device::kCuda;
    EXPECT_TRUE(predict(config, machine).warning.isEmpty());
}

TEST(RunForm, WrappedCommandHoldsTheSameFlags) {
    const QString line =
        u"shardscope record --model shakespeare --strategy zero3 --ranks 2 --output somewhere.sscope"_s;
    const QString wrapped = wrappedCommand(line);
    EXPECT_TRUE(wrapped.contains(u" \\\n"_s));
    EXPECT_EQ(QString(wrapped).replace(u"\\\n"_s, QString()).simplified(), line);
}

}  // namespace
}  // namespace shardscope::desktop
