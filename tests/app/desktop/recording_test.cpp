// The loader against sample recordings, and what the models say about them.
#include "app/desktop/loading/job_thread.h"
#include "app/desktop/loading/load_recording.h"
#include "app/desktop/loading/part_loader.h"
#include "app/desktop/loading/recording_loader.h"
#include "app/desktop/models/curves.h"
#include "app/desktop/models/recording_texts.h"
#include "app/desktop/models/step_split.h"
#include "app/desktop/models/training_figures.h"
#include "app/desktop/pages/memory/memory_model.h"
#include "app/desktop/pages/memory/memory_query.h"
#include "app/desktop/pages/memory/moment_query.h"
#include "app/desktop/pages/overview/overview_model.h"
#include "app/desktop/pages/start/recent_list.h"
#include "app/desktop/pages/timeline/details/slice_details.h"
#include "app/desktop/pages/timeline/tables/range_table.h"
#include "app/desktop/pages/timeline/timeline_query.h"
#include "engine/run/config/run_config.h"
#include "storage/model/rank_facts.h"
#include "storage/model/repaired.h"
#include "storage/model/step_facts.h"
#include "tests/support/sample_recording.h"

#include <gmock/gmock.h>

#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <optional>
#include <set>
#include <stdexcept>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// Of all ranks over the whole run.
MemoryQuery memoryQuery(const RecordingPtr& recording, int columns) {
    return {recording->bounds(), columns, ranksByPeak(*wholePart(recording))};
}

/// What a rank recorded, read past the window.
RankEvents eventsOf(const RecordingPtr& recording, RankId rank) {
    auto reader = storage::openRecording(recording->path.toStdString());
    EXPECT_TRUE(reader);
    EXPECT_TRUE((*reader)->summary());
    const TimeRange whole{recording->bounds().begin, recording->bounds().end + Duration{1}};
    auto events = (*reader)->rankEvents(rank, whole);
    EXPECT_TRUE(events);
    return events ? *events : RankEvents{};
}

class LoaderTest : public ::testing::Test {
protected:
    RecordingPtr open(const test::SampleOptions& options = {}) {
        const QString path = m_folder.filePath(u"sample.sscope"_s);
        const auto written = test::writeSampleRecording(path.toStdString(), options);
        EXPECT_TRUE(written) << (written ? "" : written.error().message);
        QSignalSpy opened(&m_loader, &RecordingLoader::opened);
        m_loader.open(path);
        EXPECT_TRUE(opened.wait(10'000));
        return m_loader.recording();
    }

    /// Asks and waits for nothing.
    template <class Answer, class Load, class Query>
    static void ask(Topic& topic, Load load, const Query& query, std::vector<Answer>& answers) {
        topic.ask(
            [load, query](auto& reader, const auto& recording, const auto& generation) {
                return load(reader, recording, query, generation);
            },
            [&answers](const Answer& answer) { answers.push_back(answer); });
    }

    QTemporaryDir m_folder;
    RecordingLoader m_loader;
    Topic m_topic{m_loader, Urgency::kPicture};
};

TEST_F(LoaderTest, OpensARecordingWithItsReport) {
    const RecordingPtr recording = open();
    ASSERT_TRUE(recording);
    EXPECT_TRUE(recording->analysed);
    EXPECT_FALSE(recording->report.ledger.empty());
    EXPECT_EQ(recording->title(), u"shakespeare · zero3 × 2"_s);
    EXPECT_TRUE(incompleteText(*recording).isEmpty()) << incompleteText(*recording).toStdString();
}

TEST_F(LoaderTest, SaysWhyAFileCannotBeOpened) {
    QFile file(m_folder.filePath(u"text.sscope"_s));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write("this is not a recording");
    file.close();
    QSignalSpy failed(&m_loader, &RecordingLoader::openFailed);
    m_loader.open(file.fileName());
    ASSERT_TRUE(failed.wait(10'000));
    EXPECT_EQ(failed.front().at(0).toString(), file.fileName());
    EXPECT_FALSE(failed.front().at(1).toString().isEmpty());
    EXPECT_FALSE(m_loader.recording());
}

TEST_F(LoaderTest, AnswersOnlyTheLatestQuestion) {
    const RecordingPtr recording = open();
    ASSERT_TRUE(recording);
    std::vector<TimelineFramePtr> frames;
    QSignalSpy idle(&m_loader, &RecordingLoader::idle);
    const TimeRange bounds = recording->bounds();
    TimelineQuery query{bounds, {bounds.duration().ns / 500}, {{{0}, lanes::kPhases.id}}};
    for (int i = 1; i <= 20; ++i) {
        query.resolution = {bounds.duration().ns / (100 * i)};
        ask(m_topic, loadTimeline, query, frames);
    }
    ASSERT_TRUE(idle.wait(10'000));
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(frames.front()->query.resolution, query.resolution);
    EXPECT_FALSE(frames.front()->lanes.front().slices.empty());
    EXPECT_TRUE(m_loader.isIdle());
}

TEST_F(LoaderTest, MemoryColumnsReachTheRecordedPeak) {
    const RecordingPtr recording = open();
    ASSERT_TRUE(recording);
    std::vector<MemoryFramePtr> frames;
    ask(m_topic, loadMemory, memoryQuery(recording, 600), frames);
    ASSERT_TRUE(QTest::qWaitFor([&] { return !frames.empty(); }, 10'000));
    const MemoryFramePtr frame = frames.front();
    ASSERT_EQ(frame->ranks.size(), 2U);
    double highest = 0;
    for (std::size_t i = 0; i < frame->ranks[0].size(); ++i)
        highest = std::max(highest, frame->ranks[0].total(i));
    EXPECT_NEAR(highest, static_cast<double>(eventsOf(recording, {0}).peakMemory.count), 1);
}

TEST_F(LoaderTest, OwnersAtThePeakAddUpToIt) {
    const RecordingPtr recording = open();
    ASSERT_TRUE(recording);
    const auto* worst = worstRank(*wholePart(recording));
    ASSERT_NE(worst, nullptr);
    std::vector<MomentFramePtr> frames;
    ask(m_topic, loadMoment, MomentQuery{worst->rank, worst->peakTime}, frames);
    ASSERT_TRUE(QTest::qWaitFor([&] { return !frames.empty(); }, 10'000));
    EXPECT_EQ(frames.front()->alive, worst->peak);
    EXPECT_FALSE(frames.front()->doing.isEmpty());
    Bytes sum;
    for (const BlockOwner& owner : frames.front()->byOwner) sum += owner.size;
    EXPECT_EQ(sum, worst->peak);
}

TEST_F(LoaderTest, NeighboursFollowOnTheLane) {
    const RecordingPtr recording = open();
    ASSERT_TRUE(recording);
    std::vector<std::optional<SliceView>> found;
    const auto phases = eventsOf(recording, {0}).phases;
    ASSERT_GT(phases.size(), 3U);
    const LaneAddress lane{{0}, lanes::kPhases.id};
    ask(m_topic, loadNeighbour, NeighbourQuery{lane, phases[1].range(), 0, true}, found);
    ASSERT_TRUE(QTest::qWaitFor([&] { return found.size() == 1; }, 10'000));
    EXPECT_EQ(found[0].value().range, phases[2].range());
    ask(m_topic, loadNeighbour, NeighbourQuery{lane, phases[2].range(), 0, false}, found);
    ASSERT_TRUE(QTest::qWaitFor([&] { return found.size() == 2; }, 10'000));
    EXPECT_EQ(found[1].value().range, phases[1].range());
}

TEST_F(LoaderTest, HeadlinesNameNumbersAndTheirDenominators) {
    const RecordingPtr recording = open();
    ASSERT_TRUE(recording);
    const PartPtr whole = wholePart(recording);
    const QString overview = overviewHeadline(*whole, whole->figures->ledger);
    EXPECT_TRUE(overview.contains(u"% of step time is compute"_s)) << overview.toStdString();
    EXPECT_TRUE(overview.contains(u"steps 0–9"_s)) << overview.toStdString();
    EXPECT_TRUE(memoryHeadline(*wholePart(recording)).contains(u"MiB on rank"_s));
    EXPECT_TRUE(trainingHeadline(*recording).contains(u"nats in 10 steps"_s));
}

TEST_F(LoaderTest, CoresThatWereTakenAreSaidOnce) {
    const RecordingPtr recording = open();
    ASSERT_TRUE(recording);
    SelectedPart part = *wholePart(recording);
    auto report = std::make_shared<analysis::Report>(*part.report);
    report->cores = {{100}, {50}, {}, {}, {}};
    analysis::RunFinding cores, other;
    cores.code = "cores-taken";
    cores.title = "Ranks waited for a core";
    other.title = "Rank 1 is late";
    report->findings = {cores, other};
    part.report = report;
    const QString headline = overviewHeadline(part, part.figures->ledger);
    EXPECT_TRUE(headline.startsWith(u"Ranks were without a core for 50"_s))
        << headline.toStdString();
    EXPECT_TRUE(overviewSubline(part).startsWith(u"Rank 1 is late."_s));
    report->cores.waited = {20};  // too little for the headline
    EXPECT_TRUE(overviewSubline(part).startsWith(u"Ranks waited for a core."_s));
}

/// As of a run of ours that keeps its optimizer's state on the host.
TEST_F(LoaderTest, HeadlinesNameCopiesThatTakeMost) {
    const RecordingPtr recording = open();
    ASSERT_TRUE(recording);
    analysis::LedgerRow row{{0}, {3}, {100'000'000}, {}};
    row.parts[analysis::at(analysis::LedgerPart::kCompute)] = {20'000'000};
    row.parts[analysis::at(analysis::LedgerPart::kCopies)] = {60'000'000};
    row.parts[analysis::at(analysis::LedgerPart::kHostBound)] = {20'000'000};
    const QString headline = overviewHeadline(*wholePart(recording), ledgerView({row}, {}));
    EXPECT_TRUE(headline.contains(u"copies alone take 60.0"_s)) << headline.toStdString();
}

/// The part of a recording that a selection leaves.
PartPtr partOf(const RecordingPtr& recording, const Selection& selection) {
    auto reader = storage::openRecording(recording->path.toStdString());
    EXPECT_TRUE(reader);
    EXPECT_TRUE((*reader)->summary());
    auto part = readPart(**reader, recording, selection);
    EXPECT_TRUE(part) << (part ? "" : part.error().message);
    return part ? *part : nullptr;
}

TEST_F(LoaderTest, FiguresFollowTheSelection) {
    const RecordingPtr recording = open();
    ASSERT_TRUE(recording);
    Selection selection;
    selection.steps = StepSpan{{5}, {6}};
    selection.ranks = {{1}};
    const PartPtr part = partOf(recording, selection);
    const LedgerView ledger = part->figures->ledger;
    ASSERT_EQ(ledger.ranks, std::vector<RankId>{{1}});
    ASSERT_EQ(ledger.all.rows, 2);
    EXPECT_EQ(ledger.first, StepIndex{5});
    EXPECT_EQ(ledger.last, StepIndex{6});
    EXPECT_EQ(ledgerBars(ledger).size(), 1U);
    EXPECT_EQ(part->report->steadySteps, 2);
    EXPECT_EQ(part->report->warmupStepsLeftOut, 0);
    const auto cards = overviewCards(*part, ledger);
    EXPECT_TRUE(cards[0].detail.contains(u"1 rank"_s)) << cards[0].detail.toStdString();
    EXPECT_TRUE(cards[0].detail.contains(u"of 2 steps"_s)) << cards[0].detail.toStdString();
    for (const MetricPoint& point : part->summary->metrics)
        if (point.name == "loss" && point.step == StepIndex{6}) {
            EXPECT_EQ(cards[5].value.number, formatNumber(point.value));
        }
    EXPECT_EQ(part->report->completeness.complete, recording->report.completeness.complete);
}

TEST_F(LoaderTest, AStepIsSelectedByItsNumberWithoutItsNeighbours) {
    const RecordingPtr recording = open();
    ASSERT_TRUE(recording);
    for (std::int32_t step = 0; step < 10; ++step) {
        Selection selection;
        selection.steps = StepSpan{{step}, {step}};
        EXPECT_EQ(recording->stepsOf(selection), selection.steps);
        const PartPtr part = partOf(recording, selection);
        for (const auto& row : part->report->ledger) EXPECT_EQ(row.step, StepIndex{step});
        // its time touches no step before or behind whole
        EXPECT_EQ(recording->stepsIn(recording->timeOf(selection)), selection.steps);
    }
}

TEST_F(LoaderTest, AStepIsSetAgainstTheMedianAndStandsAmongTheOthers) {
    const RecordingPtr recording = open();
    ASSERT_TRUE(recording);
    Selection selection;
    selection.steps = StepSpan{{5}, {5}};
    const PartPtr part = partOf(recording, selection);
    ASSERT_TRUE(part->against);
    const QString headline = overviewHeadline(*part, part->figures->ledger);
    EXPECT_TRUE(headline.startsWith(u"Step 5 took "_s)) << headline.toStdString();
    EXPECT_TRUE(headline.contains(u" × the median of "_s)) << headline.toStdString();
    EXPECT_EQ(part->around.size(), part->figures->ledger.ranks.size());
    for (const StepSums& sums : part->around) EXPECT_EQ(sums.columns.size(), 10U);
    const auto columns = partsColumns(*part);
    const auto rows = partsRows(*part);
    ASSERT_FALSE(rows.empty());
    EXPECT_EQ(rows.front().size(), columns.size());
    EXPECT_EQ(columns[columns.size() - 4].title, u"median step"_s);
    EXPECT_EQ(columns[columns.size() - 3].title, u"difference"_s);
    EXPECT_FALSE(wholePart(recording)->against);
}

TEST_F(LoaderTest, StepsAreWalkedByNumberAndBySpeed) {
    const RecordingPtr recording = open();
    ASSERT_TRUE(recording);
    const auto beside = [&](std::optional<std::int32_t> step, StepWalk walk) {
        Selection selection;
        if (step) selection.steps = StepSpan{{*step}, {*step}};
        const auto found = recording->stepBeside(selection, walk);
        return found ? found->value : -1;
    };
    EXPECT_EQ(beside({}, StepWalk::kNext), 0);
    EXPECT_EQ(beside({}, StepWalk::kPrevious), 9);
    EXPECT_EQ(beside(4, StepWalk::kNext), 5);
    EXPECT_EQ(beside(4, StepWalk::kPrevious), 3);
    EXPECT_EQ(beside(9, StepWalk::kNext), -1);
    EXPECT_EQ(beside(0, StepWalk::kPrevious), -1);
    std::set<int> seen;
    double before = 1e300;
    for (int step = beside({}, StepWalk::kFaster); step >= 0;
         step = beside(step, StepWalk::kFaster)) {
        EXPECT_TRUE(seen.insert(step).second);
        const double time = recording->figures->curves.times[step].y();
        EXPECT_LE(time, before);
        before = time;
    }
    EXPECT_EQ(seen.size(), 10U) << "from the slowest to the fastest";
    EXPECT_EQ(beside(beside({}, StepWalk::kSlower), StepWalk::kSlower), -1);
}

TEST_F(LoaderTest, ASelectionWithoutAWholeStepSaysSo) {
    const RecordingPtr recording = open();
    ASSERT_TRUE(recording);
    Selection selection;
    const TimeRange step = recording->summary.steps.front().range();
    selection.range = TimeRange{step.begin + Duration{10}, step.begin + Duration{20}};
    const PartPtr part = partOf(recording, selection);
    const LedgerView ledger = part->figures->ledger;
    EXPECT_TRUE(ledger.empty());
    EXPECT_TRUE(overviewHeadline(*part, ledger).contains(u"No whole step"_s));
    for (const CardContent& card : overviewCards(*part, ledger))
        EXPECT_FALSE(card.detail.contains(u"-1"_s) || card.detail.contains(u"−"_s));
    selection.range = TimeRange{{-2'000'000}, {-1'000'000}};
    EXPECT_FALSE(partOf(recording, selection)->refusal.isEmpty());
}

TEST_F(LoaderTest, LedgerBarsAddUpToWallTime) {
    const RecordingPtr recording = open();
    ASSERT_TRUE(recording);
    const LedgerView ledger = wholePart(recording)->figures->ledger;
    const auto columns = stepSplit(ledger.byRanks.front()).columns;
    ASSERT_EQ(columns.size(), 10U);
    std::size_t column = 0;
    for (const auto& row : recording->report.ledger) {
        if (row.rank != RankId{0}) continue;
        EXPECT_NEAR(columns[column++].sum(), row.wall.milliseconds(), 1e-6);
    }
}

TEST(StepSplitTest, ManyStepsShareColumnsAndNoneIsLost) {
    std::vector<analysis::LedgerRow> rows;
    for (std::int32_t step = 0; step < 2'500; ++step) {
        for (std::uint32_t rank = 0; rank < 2; ++rank) {
            analysis::LedgerRow& row = rows.emplace_back();
            row.rank = {rank};
            row.step = {step};
            const std::int64_t times = step == 1'000 ? 100 : 1;  // neither first nor last of three
            row.parts[analysis::at(analysis::LedgerPart::kCompute)] = {(1 + rank) * times *
                                                                       1'000'000};
        }
    }
    const StepSplit split = stepSplit(sumSteps(rows, {}));
    EXPECT_EQ(split.across, u"step, the slowest of 3 each"_s);
    ASSERT_EQ(split.columns.size(), split.steps.size());
    EXPECT_LE(split.columns.size(), 1000U);
    std::int32_t next = 0;
    for (std::size_t i = 0; i < split.steps.size(); ++i) {
        EXPECT_EQ(split.steps[i].first.value, next);
        next = split.steps[i].last.value + 1;
        const double slowest = split.steps[i].contains({1'000}) ? 150 : 1.5;
        EXPECT_NEAR(split.columns[i].sum(), slowest, 1e-9) << "the mean of both ranks";
    }
    EXPECT_EQ(next, 2'500);
    ASSERT_EQ(split.legend.size(), 1U);
}

TEST(StepSplitTest, StepsWithoutDetailHaveColumnsToo) {
    std::vector<analysis::LedgerRow> rows(1);
    rows[0].step = {1};
    rows[0].parts[analysis::at(analysis::LedgerPart::kCompute)] = {2'000'000};
    std::vector<StepFacts> steps(2);
    steps[0].step = {0};
    steps[0].end = {7'000'000};
    steps[1].step = {1};
    steps[1].end = {2'000'000};
    const StepSplit split = stepSplit(sumSteps(rows, steps));
    ASSERT_EQ(split.columns.size(), 2U);
    EXPECT_DOUBLE_EQ(split.columns[0].sum(), 7);
    EXPECT_TRUE(split.columns[0].segments.front().pale);
    EXPECT_DOUBLE_EQ(split.columns[1].sum(), 2);
    ASSERT_EQ(split.legend.size(), 2U);
    EXPECT_EQ(split.legend[1].text, u"without detail"_s);
}

TEST_F(LoaderTest, CollectiveDetailsHoldTheArrivalsOfAllRanks) {
    const RecordingPtr recording = open();
    ASSERT_TRUE(recording);
    const CollectiveEvent event = eventsOf(recording, {0}).collectives[5];
    SliceView slice;
    slice.name = u"all-gather"_s;
    slice.correlation = event.sequence;
    slice.range = {event.start, event.end};
    const LaneFacts lane{
        {0}, lanes::kCommunication.id, LaneRole::kCommunication, "communication", "", 3};
    auto reader = storage::openRecording(recording->path.toStdString());
    ASSERT_TRUE(reader);
    ASSERT_TRUE((*reader)->summary());
    const auto view = loadCollective(**reader, *recording, {0},
                                     CollectiveKey::of(slice.correlation), slice.range);
    ASSERT_TRUE(view && *view);
    EXPECT_TRUE(sliceDetails(*recording, lane, slice).arrivals.empty()) << "not read yet";
    const SliceDetails details = sliceDetails(*recording, lane, slice, view->get());
    EXPECT_EQ(details.arrivals.size(), 2U);
    const auto other =
        sameCollective(**view, recording->summary, {{0}, lanes::kCommunication.id}, slice, 1);
    ASSERT_TRUE(other);
    EXPECT_EQ(other->key.rank, RankId{1});
    EXPECT_EQ(other->slice.correlation, event.sequence);
}

/// Damaged where its rows are whole: it opens, and is refused once its events are read.
TEST_F(LoaderTest, ARecordingWithoutAReportIsNotOpen) {
    const QString path = m_folder.filePath(u"damaged.sscope"_s);
    ASSERT_TRUE(test::writeSampleRecording(path.toStdString(), {}));
    QFile file(path);
    ASSERT_TRUE(file.open(QIODevice::ReadWrite));
    const QByteArray whole = file.readAll();
    bool isFound = false;
    for (qint64 at = whole.size() / 4; at < whole.size() && !isFound; at += 997) {
        QByteArray damaged = whole;
        for (qint64 i = at; i < std::min(at + 64, whole.size()); ++i)
            damaged[i] = static_cast<char>(damaged[i] ^ 0x5a);
        ASSERT_TRUE(file.seek(0) && file.write(damaged) == damaged.size() && file.flush());
        auto reader = storage::openRecording(path.toStdString());
        isFound = reader && (*reader)->summary() && !loadRecording(**reader, path);
    }
    ASSERT_TRUE(isFound) << "no place of the file damages events alone";
    QSignalSpy failed(&m_loader, &RecordingLoader::openFailed);
    m_loader.open(path);
    ASSERT_TRUE(failed.wait(10'000));
    EXPECT_FALSE(failed.front().at(1).toString().isEmpty());
    EXPECT_FALSE(m_loader.recording());
}

TEST_F(LoaderTest, UnfinishedRecordingsSaySo) {
    test::SampleOptions options;
    options.finalise = false;
    const RecordingPtr recording = open(options);
    ASSERT_TRUE(recording);
    EXPECT_TRUE(incompleteText(*recording).contains(u"not finished"_s));
}

TEST_F(LoaderTest, WhatWasLeftOutIsOneTextForAllPages) {
    const RecordingPtr recording = open();
    ASSERT_TRUE(recording);
    EXPECT_TRUE(leftOutText(*recording).isEmpty());
    OpenRecording thinned = *recording;
    thinned.report.basis = {
        1000, 187, {"detail of steps 0 to 812 thinned to level steps by --max-size"}};
    EXPECT_EQ(leftOutText(thinned),
              u"Detail of steps 0 to 812 thinned to level steps by --max-size. Shares and sums are "
              u"of the "
              u"187 of 1,000 steps that have detail."_s);
    DetailFacts detail;
    detail.reason = DetailReason::kMaxRate;
    EXPECT_EQ(leftOutWord(detail), u"thinned"_s);
    detail.reason = DetailReason::kNotSlow;
    EXPECT_EQ(leftOutWord(detail), u"not kept"_s);
    detail.reason = DetailReason::kRequest;
    EXPECT_EQ(leftOutWord(detail), u"not recorded"_s);
}

TEST_F(LoaderTest, ARunWithoutMemoryEventsSaysHowToGetThem) {
    test::SampleOptions options;
    options.memory = false;
    const RecordingPtr recording = open(options);
    ASSERT_TRUE(recording);
    EXPECT_TRUE(memoryHeadline(*wholePart(recording)).contains(u"no memory events"_s));
    EXPECT_TRUE(memorySubline(*wholePart(recording), {}).contains(u"full"_s));
}

TEST_F(LoaderTest, RecentFilesSurviveTheProcess) {
    const RecordingPtr recording = open();
    ASSERT_TRUE(recording);
    const QString store = m_folder.filePath(u"deep/recent.json"_s);
    {
        RecentFiles files(store);
        files.add(*recording, u"2026-01-02T03:04:05"_s);
        files.add(*recording, u"2026-01-02T03:05:05"_s);
    }
    RecentFiles again(store);
    ASSERT_EQ(again.files().size(), 1U);
    EXPECT_EQ(again.files()[0].title, recording->title());
    EXPECT_GT(again.files()[0].loss.size(), 2);
}

TEST_F(LoaderTest, ARunIsAmongTheRecentFilesFromItsBeginning) {
    const RecordingPtr recording = open();
    ASSERT_TRUE(recording);
    RecentFiles files({});
    run::RunStarted started;
    files.add(started, u"2026-01-02T03:04:05"_s);
    EXPECT_TRUE(files.files().empty()) << "it writes no recording";
    started.output = recording->path.toStdString();
    started.command = "python train.py";
    files.add(started, u"2026-01-02T03:04:05"_s);
    ASSERT_EQ(files.files().size(), 1U);
    EXPECT_EQ(files.files()[0].title, u"python train.py"_s);
    files.add(*recording, u"2026-01-02T03:05:05"_s);
    ASSERT_EQ(files.files().size(), 1U) << "the same once it is read";
    EXPECT_EQ(files.files()[0].title, recording->title());
}

TEST_F(LoaderTest, APanCancelsTheFrameBeforeIt) {
    const RecordingPtr recording = open();
    auto reader = storage::openRecording(recording->path.toStdString());
    ASSERT_TRUE(reader);
    TimelineQuery query{recording->bounds(), {1}, {}};
    for (const LaneFacts& lane : recording->summary.lanes)
        query.lanes.push_back({lane.rank, lane.lane});
    storage::Generations pans;
    const storage::Generation before = pans.next();
    const auto frame = loadTimeline(**reader, *recording, query, pans.next());
    ASSERT_TRUE(frame);
    ASSERT_EQ((*frame)->lanes.size(), query.lanes.size());
    for (std::size_t i = 0; i < query.lanes.size(); ++i)
        EXPECT_EQ((*frame)->lanes[i].key, query.lanes[i]);
    const auto cancelled = loadTimeline(**reader, *recording, query, before);
    ASSERT_FALSE(cancelled);
    EXPECT_EQ(cancelled.error().code, ErrorCode::kCancelled);
}

TEST_F(LoaderTest, OnlyTheLastOfManyPansIsShown) {
    const RecordingPtr recording = open();
    std::vector<TimelineFramePtr> frames;
    QSignalSpy failed(&m_loader, &RecordingLoader::questionFailed);
    TimelineQuery query{recording->bounds(), {1}, {}};
    for (const LaneFacts& lane : recording->summary.lanes)
        query.lanes.push_back({lane.rank, lane.lane});
    for (std::int64_t shift = 0; shift < 50; ++shift) {
        query.range.begin.ns += 1000;
        ask(m_topic, loadTimeline, query, frames);
    }
    ASSERT_TRUE(QTest::qWaitFor([this] { return m_loader.isIdle(); }, 10'000));
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_TRUE(failed.isEmpty());
    EXPECT_EQ(frames.front()->query.range, query.range);
}

TEST_F(LoaderTest, EachTopicHasItsOwnNewestAnswer) {
    const RecordingPtr recording = open();
    Topic memory(m_loader, Urgency::kTable);
    std::vector<TimelineFramePtr> pictures;
    std::vector<MemoryFramePtr> columns;
    ask(memory, loadMemory, memoryQuery(recording, 10), columns);
    ask(m_topic, loadTimeline, TimelineQuery{recording->bounds(), {1000}, {}}, pictures);
    ask(memory, loadMemory, memoryQuery(recording, 20), columns);
    ASSERT_TRUE(QTest::qWaitFor([this] { return m_loader.isIdle(); }, 10'000));
    EXPECT_EQ(pictures.size(), 1U);
    ASSERT_EQ(columns.size(), 1U);
    EXPECT_EQ(columns.front()->query.columns, 20);
}

TEST_F(LoaderTest, NoAnswerComesToATopicThatIsGoneOrOfAnotherRecording) {
    const RecordingPtr recording = open();
    std::vector<TimelineFramePtr> frames;
    const TimelineQuery query{recording->bounds(), {1000}, {}};
    {
        Topic gone(m_loader, Urgency::kPicture);
        ask(gone, loadTimeline, query, frames);
    }
    EXPECT_TRUE(frames.empty());
    QSignalSpy opened(&m_loader, &RecordingLoader::opened);
    // the one before is there, and answered about, until the next one is
    std::size_t before = 0;
    QObject::connect(&m_loader, &RecordingLoader::sketched, [&] { before = frames.size(); });
    m_loader.open(recording->path);
    ask(m_topic, loadTimeline, query, frames);
    ASSERT_TRUE(opened.wait(10'000));
    ASSERT_TRUE(QTest::qWaitFor([this] { return m_loader.isIdle(); }, 10'000));
    QTest::qWait(1);
    EXPECT_EQ(frames.size(), before);
}

TEST(TopicTest, OutlivesItsLoaderAndThenAsksNobody) {
    auto loader = std::make_unique<RecordingLoader>();
    Topic topic(*loader, Urgency::kPicture);
    loader.reset();
    topic.ask(
        [](auto&, const auto&, const auto&) -> Result<int> {
            ADD_FAILURE() << "nobody is there to ask";
            return 1;
        },
        [](int) { ADD_FAILURE() << "nobody is there to answer"; });
}

TEST_F(LoaderTest, AFailedQuestionIsSaidAndTheRecordingStays) {
    ASSERT_TRUE(open());
    QSignalSpy failed(&m_loader, &RecordingLoader::questionFailed);
    const auto never = [](int) { ADD_FAILURE() << "there is no answer"; };
    m_topic.ask(
        [](auto&, const auto&, const auto&) -> Result<int> {
            return failure(ErrorCode::kUnreadable, "the page is torn");
        },
        never);
    ASSERT_TRUE(QTest::qWaitFor([&] { return failed.count() == 1; }, 10'000));
    m_topic.ask([](auto&, const auto&,
                   const auto&) -> Result<int> { throw std::runtime_error("out of everything"); },
                never);
    ASSERT_TRUE(QTest::qWaitFor([&] { return failed.count() == 2; }, 10'000));
    EXPECT_EQ(failed.front().front().toString(), u"the page is torn"_s);
    EXPECT_EQ(failed.back().front().toString(), u"reading the recording: out of everything"_s);
    EXPECT_TRUE(m_loader.recording());
    EXPECT_TRUE(m_loader.isIdle());
}

TEST(JobThread, ANewerJobReplacesAWaitingOne) {
    std::atomic<int> ran{0};
    std::atomic<bool> go{false};
    {
        JobThread jobs("test");
        jobs.submit(0, [&] {
            while (!go) std::this_thread::yield();
        });
        for (int i = 0; i < 100; ++i) jobs.submit(1, [&] { ++ran; });
        go = true;
        while (!jobs.isIdle()) std::this_thread::yield();
    }
    EXPECT_EQ(ran, 1);
}

TEST(RecordingTexts, NameWhyThereIsNone) {
    OpenRecording recording;
    run::RunConfig config;
    config.capture = CaptureLevel::kSteps;
    recording.summary.complete = true;
    recording.summary.run.configJson = run::toJson(config);
    EXPECT_EQ(absenceText(recording, CaptureLevel::kLight, u"collectives"_s),
              u"not recorded: collectives are from capture level light on"_s);
    config.capture = CaptureLevel::kFull;
    recording.summary.run.configJson = run::toJson(config);
    EXPECT_EQ(absenceText(recording, CaptureLevel::kLight, u"collectives"_s),
              u"none in the selection"_s);
    recording.report.dropped = 3;
    recording.report.events = 7;
    EXPECT_TRUE(incompleteText(recording).contains(u"3 of 10 events were dropped"_s));
    recording.summary.diagnostics.push_back({Severity::kWarning, kRepairedCode, "", "", {}, {}, 1});
    EXPECT_EQ(absenceText(recording, CaptureLevel::kLight, u"collectives"_s),
              u"lost: the file was damaged"_s);
    EXPECT_TRUE(incompleteText(recording).contains(u"3 of 10 events were lost with the part"_s))
        << incompleteText(recording).toStdString();
}

TEST(RecordingTexts, OfAKilledRunSayFirstWhatHappened) {
    OpenRecording recording;
    RecordingSummary& summary = recording.summary;
    summary.complete = true;
    summary.run.worldSize = 2;
    summary.run.status = RunStatus::kFailed;
    summary.diagnostics.push_back({Severity::kProblem,
                                   "rank-died",
                                   "rank 1 on here was ended by signal 9 (Killed) after step 16; "
                                   "its last words: none",
                                   "",
                                   RankId{1},
                                   {},
                                   1});
    EXPECT_EQ(incompleteText(recording),
              u"Rank 1 on here was ended by signal 9 (Killed) after step 16. It did not reach its "
              u"last step; everything up to its end is here."_s);
    for (const std::uint32_t rank : {0U, 1U})
        for (std::int32_t step = 0; step <= (rank == 0 ? 17 : 16); ++step) {
            StepFacts& row = summary.steps.own().emplace_back();
            row.rank = RankId{rank};
            row.step = StepIndex{step};
        }
    analysis::Completeness& completeness = recording.report.completeness;
    completeness.known = true;
    completeness.missing = {"rank 0 step 17: has events, its row in steps is missing"};
    EXPECT_EQ(incompleteText(recording),
              u"Rank 1 on here was ended by signal 9 (Killed) after step 16. Steps are complete up "
              u"to step 16; Problems lists what is missing."_s);
    // What the rank had not sent yet when it was killed went with it.
    completeness.gaps.push_back({RankId{1}, StepIndex{15}, "gathers", 3, 0});
    EXPECT_TRUE(incompleteText(recording).contains(u"complete up to step 14;"_s))
        << incompleteText(recording).toStdString();
    summary.run.status = RunStatus::kFinished;
    EXPECT_EQ(incompleteText(recording),
              u"Rank 0 step 17: has events, its row in steps is missing."_s);
}

}  // namespace
}  // namespace shardscope::desktop
