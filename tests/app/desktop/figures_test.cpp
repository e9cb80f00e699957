// The same figure is the same wherever it is shown: on every page, in the report, and however it
// was selected. Over recordings of all kinds; with SHARDSCOPE_KINDS=FOLDER over those in there
// instead (tests/app/figures/record_kinds.py).
#include "app/desktop/loading/load_recording.h"
#include "app/desktop/loading/part_loader.h"
#include "app/desktop/models/answer_table.h"
#include "app/desktop/models/recording_texts.h"
#include "app/desktop/models/training_figures.h"
#include "app/desktop/pages/communication/collective_table.h"
#include "app/desktop/pages/communication/communication_texts.h"
#include "app/desktop/pages/communication/layer_columns.h"
#include "app/desktop/pages/efficiency/efficiency_model.h"
#include "app/desktop/pages/memory/memory_model.h"
#include "app/desktop/pages/operators/operators_model.h"
#include "app/desktop/pages/overview/overview_model.h"
#include "profiler/analysis/rules/notices.h"
#include "profiler/analysis/steps/throughput.h"
#include "profiler/questions/question.h"
#include "profiler/questions/report_reader.h"
#include "storage/interchange/import.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/app/desktop/small_trace.h"
#include "tests/support/sample_recording.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

struct Kind {
    std::string name;
    test::SampleOptions options;
    bool imported = false;
    std::string file = {};  ///< none: made from the options
};

test::SampleOptions with(const std::function<void(test::SampleOptions&)>& change) {
    test::SampleOptions options;
    change(options);
    return options;
}

std::vector<Kind> recordedIn(const char* folder) {
    std::vector<Kind> kinds;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        if (entry.path().extension() == ".sscope")
            kinds.push_back({entry.path().stem(), {}, false, entry.path()});
    return kinds;
}

std::vector<Kind> kinds() {
    if (const char* folder = std::getenv("SHARDSCOPE_KINDS")) return recordedIn(folder);
    return {{"two ranks", {}},
            {"one rank", with([](auto& o) { o.ranks = 1; })},
            {"eight ranks", with([](auto& o) { o.ranks = 8, o.steps = 7; })},
            {"two hosts", with([](auto& o) { o.ranks = 4, o.ranksPerHost = 2; })},
            {"no memory", with([](auto& o) { o.memory = false; })},
            {"no operators", with([](auto& o) { o.operators = false; })},
            {"no validation", with([](auto& o) { o.evaluateEvery = 0; })},
            {"dropped", with([](auto& o) { o.dropped = 70; })},
            {"a gather is missing", with([](auto& o) { o.dropGathersOfStep = 4; })},
            {"not finalised", with([](auto& o) { o.finalise = false; })},
            {"no peak", with([](auto& o) { o.peakKnown = false; })},
            {"gpu", with([](auto& o) { o.gpu = true; })},
            {"gpu, not traced", with([](auto& o) { o.gpu = true, o.gpuTraced = false; })},
            {"imported", {}, true}};
}

class FiguresTest : public ::testing::TestWithParam<Kind> {
protected:
    void SetUp() override {
        std::string path = GetParam().file;
        if (path.empty()) {
            path = m_folder.file("run.sscope");
            ASSERT_NO_FATAL_FAILURE(write(path));
        }
        auto reader = storage::openRecording(path);
        ASSERT_TRUE(reader) << reader.error().message;
        m_reader = std::move(*reader);
        const auto loaded = loadRecording(*m_reader, QString::fromStdString(path));
        ASSERT_TRUE(loaded) << loaded.error().message;
        m_recording = *loaded;
    }

    void write(const std::string& path) {
        if (!GetParam().imported) {
            const auto written = test::writeSampleRecording(path, GetParam().options);
            ASSERT_TRUE(written) << written.error().message;
            return;
        }
        writeSmallTrace(m_folder.file("trace.json"));
        interchange::ImportOptions options;
        options.output = path;
        const auto account = interchange::importTraces({m_folder.file("trace.json")}, options);
        ASSERT_TRUE(account) << account.error().message;
    }
    PartPtr part(const Selection& selection) {
        const auto read = readPart(*m_reader, m_recording, selection);
        EXPECT_TRUE(read) << (read ? "" : read.error().message);
        return read ? *read : wholePart(m_recording);
    }
    [[nodiscard]] bool isWithinSteps(RankId rank, Timestamp time) const {
        const auto& steps = m_recording->summary.steps;
        return std::any_of(steps.begin(), steps.end(), [&](const StepFacts& step) {
            return step.rank == rank && step.range().contains(time);
        });
    }
    [[nodiscard]] std::vector<CardContent> cardsOf(const SelectedPart& part) const {
        return !m_recording->isOwn() ? importedCards(part, part.figures->ledger)
                                     : overviewCards(part, part.figures->ledger);
    }

    test::TemporaryFolder m_folder;
    std::unique_ptr<storage::RecordingReader> m_reader;
    RecordingPtr m_recording;
};

TEST_P(FiguresTest, TheWindowShowsWhatTheReportSays) {
    const auto report = questions::readReport(*m_reader, m_recording->summary);
    ASSERT_TRUE(report);
    const auto told = nlohmann::json::parse(analysis::toJson(*report));
    const auto shown = nlohmann::json::parse(analysis::toJson(m_recording->report));
    EXPECT_EQ(told, shown);
    if (!m_recording->isOwn()) return;
    const auto cards = cardsOf(*wholePart(m_recording));
    const auto value = [](const std::optional<double>& figure, double scale) {
        return figure ? formatNumber(*figure * scale) : unknownText();
    };
    EXPECT_EQ(cards[0].value.number, value(report->tokensPerSecond, 1));
    EXPECT_EQ(cards[2].value.number, value(report->overlap.ratio(), 1));
    EXPECT_EQ(cards[5].value.number, value(report->lossLast, 1));
    if (report->mfu.value) {
        EXPECT_EQ(cards[1].value.joined(), formatPercent(*report->mfu.value));
    }
}

TEST_P(FiguresTest, OperatorsAndKernelsAreThoseOfTheCommandLine) {
    Selection some;
    some.ranks = {RankId{0}};
    for (const Selection& selection : {Selection(), some}) {
        const PartPtr shown = part(selection);
        if (!shown->refusal.isEmpty()) continue;  // there is no rank 0
        const auto frame = loadWork(*m_reader, shown, storage::Generation());
        ASSERT_TRUE(frame);
        const questions::Selection asked = askedSelection(selection);
        const auto told = [&](const char* question) {
            return *questions::answerTo(*questions::findQuestion(question),
                                        {*m_reader, *shown->summary, asked});
        };
        EXPECT_EQ(questions::toJson({(*frame)->work}), questions::toJson({told("work")}));
        EXPECT_EQ(questions::toJson({(*frame)->launches}), questions::toJson({told("launches")}));
        if (!hasWork(**frame)) continue;
        const auto tables = workTables(**frame);
        ASSERT_FALSE(tables.empty());
        const questions::Table& first = (*frame)->work.tables.front();
        EXPECT_TRUE(workHeadline(**frame).contains(
            cellText(first.rows[0][first.columnAt("share_pct")], questions::Unit::kPercent)));
        EXPECT_TRUE(workHeadline(**frame).contains(
            cellText(first.rows[0][first.columnAt("self_ns")], questions::Unit::kNanoseconds)));
    }
}

TEST_P(FiguresTest, EfficiencyIsThatOfTheCommandLineAndOfTheReport) {
    Selection some;
    some.ranks = {RankId{0}};
    for (const Selection& selection : {Selection(), some}) {
        const PartPtr shown = part(selection);
        if (!shown->refusal.isEmpty()) continue;  // there is no rank 0
        const auto frame = loadEfficiency(*m_reader, shown, storage::Generation());
        ASSERT_TRUE(frame);
        const questions::Selection asked = askedSelection(selection);
        const auto told = questions::answerTo(*questions::findQuestion("efficiency"),
                                              {*m_reader, *shown->summary, asked});
        ASSERT_TRUE(told);
        EXPECT_EQ(questions::toJson({(*frame)->answer}), questions::toJson({*told}));
        const QString headline = efficiencyHeadline(**frame, u"palm"_s);
        if (const auto& mfu = shown->report->mfu.value) {
            EXPECT_TRUE(headline.startsWith(formatPercent(*mfu))) << headline.toStdString();
        } else {
            EXPECT_TRUE(headline.contains(u"MFU unknown"_s)) << headline.toStdString();
        }
        // MFU of the steps, where it is drawn, is that of the cards' and the report's median step
        EXPECT_EQ(mfuBySteps(**frame, u"palm"_s).size(), mfuCurve(*shown).size());
        // columns over all ranks take the time of the table of ranks
        const questions::Table* all = findTable((*frame)->answer, "all_parts");
        const questions::Table* byRank = findTable((*frame)->answer, "parts");
        ASSERT_EQ(all == nullptr, byRank == nullptr);
        if (all == nullptr) continue;
        std::int64_t times = 0;
        for (const auto& row : all->rows) times += *row[all->columnAt("time_ns")].integer();
        for (const auto& row : byRank->rows) times -= *row[byRank->columnAt("time_ns")].integer();
        EXPECT_EQ(times, 0);
    }
}

TEST_P(FiguresTest, FlameGraphsTakeTheTimeOfTheQuestion) {
    const PartPtr whole = wholePart(m_recording);
    const questions::Selection all;
    const auto flame =
        questions::answerTo(*questions::findQuestion("flame"), {*m_reader, *whole->summary, all});
    ASSERT_TRUE(flame);
    const auto frame =
        loadStacks(*m_reader, whole, questions::StackKind::kOperators, storage::Generation());
    ASSERT_TRUE(frame);
    if ((*frame)->kind != questions::StackKind::kOperators) return;
    std::int64_t told = 0;
    const questions::Table& table = flame->tables.at(0);
    for (const auto& row : table.rows)
        if (*row[table.columnAt("kind")].text() == "host")
            told += *row[table.columnAt("self_ns")].integer();
    for (const bool inverted : {false, true})
        for (const bool byLane : {false, true})
            EXPECT_EQ(flameOf(**frame, {byLane, inverted})->whole(), static_cast<double>(told));
}

TEST_P(FiguresTest, PagesAgreeOnThePeak) {
    const PartPtr whole = wholePart(m_recording);
    const CardContent card = memoryCard(*whole);
    const auto* worst = worstRank(*whole);
    if (worst == nullptr) {
        EXPECT_EQ(card.value.number, unknownText());
        EXPECT_FALSE(noMemoryText(*whole).isEmpty());
        return;
    }
    EXPECT_TRUE(memoryHeadline(*whole).contains(card.value.joined()));
    double sum = 0;
    for (const auto& row : memoryRows(*worst)) sum += row[1].sortKey;
    EXPECT_EQ(sum, static_cast<double>(worst->peak.count));
    bool isShown = false;
    for (const StackedBar& bar : memoryBars(*whole))
        isShown = isShown || bar.total == card.value.joined();
    EXPECT_TRUE(isShown);
}

TEST_P(FiguresTest, HeadlineCardAndTableSayTheSameShare) {
    const PartPtr whole = wholePart(m_recording);
    const LedgerView ledger = whole->figures->ledger;
    if (ledger.empty()) return;
    const QString headline = overviewHeadline(*whole, ledger);
    double shares = 0;
    for (const auto& row : partsRows(*whole)) {
        const TableCell& share = row[row.size() - 2];
        shares += share.sortKey;
        if (row[0].text == u"compute"_s) {
            EXPECT_TRUE(headline.contains(share.text)) << headline.toStdString();
        }
    }
    EXPECT_NEAR(shares, 1, 1e-9);
    if (!m_recording->isOwn()) return;
    const CardContent blocked = cardsOf(*whole)[3];
    // Training holds the same figures against the same targets
    const auto targets = targetRows(*whole, {}, {});
    EXPECT_EQ(targets[2].value, blocked.value.joined());
    const CardContent mfu = cardsOf(*whole)[1];
    if (whole->report->mfu.value) {
        EXPECT_EQ(targets[0].value, mfu.value.joined());
        EXPECT_EQ(mfu.verdict, targets[0].unsure ? unsureWord() : targets[0].verdict->text);
    }
    // what is left of a run passes and fails nothing, on either page
    EXPECT_EQ(targets[2].unsure, whole->report->dropped > 0 ||
                                     whole->report->cores.takenOfSteps() >= analysis::kManyTaken);
    if (targets[2].verdict) {
        EXPECT_EQ(blocked.verdict, targets[2].unsure ? unsureWord() : targets[2].verdict->text);
    } else {
        EXPECT_TRUE(blocked.verdict.isEmpty());
    }
    if (headline.contains(u"is blocked"_s)) {
        EXPECT_TRUE(headline.contains(blocked.value.joined())) << headline.toStdString();
    }
    // throughput step by step is one series: behind the card, and on Training
    if (whole->report->tokensPerSecond) {
        const auto byStep = analysis::throughputByStep(*whole->summary);
        const QVector<QPointF> trend = cardsOf(*whole)[0].trend;
        ASSERT_EQ(static_cast<std::size_t>(trend.size()), byStep.size());
        for (const QPointF& point : trend)
            EXPECT_EQ(point.y(), byStep.at({static_cast<std::int32_t>(point.x())}));
        for (const MetricChart& chart : metricCharts(*m_recording, {})) {
            if (chart.key != u"tokens_per_s"_s) continue;
            ASSERT_FALSE(chart.series.empty());
            EXPECT_EQ(chart.series.front().points, trend);
        }
    }
    // and the distributions are of the steps that median and throughput are of
    const auto distributions = spreads(*m_recording, *whole->report, {});
    if (whole->report->tokensPerSecond && whole->report->steadySteps > 1) {
        ASSERT_FALSE(distributions[2].marks.empty());
        EXPECT_EQ(distributions[2].marks.front().text,
                  u"median %1"_s.arg(formatNumber(*whole->report->tokensPerSecond)));
        EXPECT_EQ(distributions[1].marks.front().text,
                  u"median %1"_s.arg(formatNumber(*whole->report->stepSecondsMedian * 1e3)));
    }
    // bars of a rank are its mean step
    const auto bars = ledgerBars(ledger);
    ASSERT_EQ(bars.size(), ledger.ranks.size());
    for (std::size_t i = 0; i < bars.size(); ++i) {
        auto rows = m_recording->report.ledger;
        std::erase_if(rows, [&](const auto& row) { return row.rank != ledger.ranks[i]; });
        const double mean =
            analysis::sumOfWalls(rows).milliseconds() / static_cast<double>(rows.size());
        EXPECT_NEAR(bars[i].sum(), mean, 1e-4);
    }
}

TEST_P(FiguresTest, AllStepsByNumberAreTheWhole) {
    if (m_recording->summary.steps.empty()) return;
    Selection all;
    all.steps = m_recording->stepsIn(m_recording->bounds());
    ASSERT_TRUE(all.steps);
    const PartPtr part = this->part(all);
    const PartPtr whole = wholePart(m_recording);
    EXPECT_EQ(part->report->tokensPerSecond, whole->report->tokensPerSecond);
    EXPECT_EQ(part->report->stepSecondsMedian, whole->report->stepSecondsMedian);
    EXPECT_EQ(part->report->steadySteps, whole->report->steadySteps);
    EXPECT_EQ(sumOfParts(part->report->ledger), sumOfParts(whole->report->ledger));
    EXPECT_EQ(part->report->overlap.communication, whole->report->overlap.communication);
    EXPECT_EQ(part->report->overlap.hidden, whole->report->overlap.hidden);
    EXPECT_EQ(part->report->overlap.waiting, whole->report->overlap.waiting);
    const auto cards = cardsOf(*part), others = cardsOf(*whole);
    ASSERT_EQ(cards.size(), others.size());
    // The peak may lie before the first step, and a step that failed has a loss and no row.
    const auto* worst = worstRank(*whole);
    const bool isPeakInside = worst == nullptr || isWithinSteps(worst->rank, worst->peakTime);
    const bool isLossInside = part->report->lossLast == whole->report->lossLast;
    for (std::size_t i = 0; i < cards.size(); ++i) {
        if (cards[i].title == u"Peak memory"_s && !isPeakInside) continue;
        if (cards[i].title == u"Loss"_s && !isLossInside) continue;
        EXPECT_EQ(cards[i].value.joined(), others[i].value.joined())
            << cards[i].title.toStdString();
        EXPECT_EQ(cards[i].detail, others[i].detail);
    }
}

TEST_P(FiguresTest, RanksAddUpToTheWhole) {
    Duration communication, hidden, wall;
    for (const RankFacts& rank : m_recording->summary.ranks) {
        Selection one;
        one.ranks = {rank.rank};
        const PartPtr part = this->part(one);
        communication += part->report->overlap.communication;
        hidden += part->report->overlap.hidden;
        wall += analysis::sumOfWalls(part->report->ledger);
        for (const auto& row : part->report->ledger) EXPECT_EQ(row.rank, rank.rank);
    }
    EXPECT_EQ(communication, m_recording->report.overlap.communication);
    EXPECT_EQ(hidden, m_recording->report.overlap.hidden);
    EXPECT_EQ(wall, analysis::sumOfWalls(m_recording->report.ledger));
}

TEST_P(FiguresTest, CompleteIsSaidOfTheCertificateOnly) {
    const QString word = completenessWord(*m_recording);
    const bool complete = m_recording->report.completeness.complete;
    EXPECT_EQ(word == u"complete ✓"_s, complete) << word.toStdString();
    EXPECT_EQ(completenessText(*m_recording).startsWith(u"Recording complete"_s), complete);
    for (const auto& notice : analysis::notices(m_recording->report)) {
        const bool doubts =
            notice.code == "recording-incomplete" || notice.code == "completeness-unknown";
        EXPECT_FALSE(doubts && complete) << notice.title;
    }
}

TEST_P(FiguresTest, NothingIsLessThanNothing) {
    for (const Selection& selection : {Selection{}, Selection{{}, StepSpan{{0}, {0}}, {}}}) {
        const PartPtr part = this->part(selection);
        for (const CardContent& card : cardsOf(*part)) {
            const QString text = card.value.joined() + card.qualifier + card.detail;
            EXPECT_FALSE(text.contains(u"-1"_s) || text.contains(u'−') || text.contains(u"nan"_s))
                << text.toStdString();
        }
    }
}

TEST_P(FiguresTest, CommunicationSaysWhatOverviewAndReportSay) {
    for (const Selection& selection : {Selection{}, Selection{{}, StepSpan{{0}, {1}}, {}}}) {
        const PartPtr part = this->part(selection);
        const LedgerView& ledger = part->figures->ledger;
        const QString headline = communicationHeadline(*part);
        const auto blocked = analysis::blockedIn(ledger.all.parts);
        if (blocked.ns > 0) {
            const QString whole =
                u"(%1 of %2, "_s.arg(formatDuration(blocked), formatDuration(ledger.all.wall));
            EXPECT_TRUE(headline.contains(formatPercent(share(blocked, ledger.all.wall))));
            EXPECT_TRUE(headline.contains(whole)) << headline.toStdString();
            const QString overview = overviewHeadline(*part, ledger);
            if (overview.contains(u"is blocked in"_s)) {
                EXPECT_TRUE(overview.contains(whole)) << overview.toStdString();
            }
        }
        const auto& overlap = part->report->overlap;
        if (overlap.ratio()) {
            const QString sentence = overlapSentence(*part);
            EXPECT_TRUE(sentence.contains(u"%1 of %2"_s.arg(formatDuration(overlap.hidden),
                                                            formatDuration(overlap.communication))))
                << sentence.toStdString();
            if (m_recording->isOwn()) {
                EXPECT_TRUE(cardsOf(*part)[2].detail.contains(formatDuration(overlap.exposed)));
            }
        }
        const auto frame = loadCommunicationFrame(*m_reader, part);
        ASSERT_TRUE(frame) << frame.error().message;
        // An import's steps are cut by time on each rank: a collective may be of a step on one of
        // them and of none on another.
        if (GetParam().name == "imported" && !GetParam().file.empty()) continue;
        const auto& skew = (*frame)->communication.skew;
        ASSERT_EQ(skew.ranks.size(), part->report->waiting.size());
        for (std::size_t i = 0; i < skew.ranks.size(); ++i) {
            EXPECT_EQ(skew.ranks[i].rank, part->report->waiting[i].late);
            EXPECT_EQ(skew.ranks[i].waited, part->report->waiting[i].waited);
            EXPECT_EQ(skew.ranks[i].collectives, part->report->waiting[i].collectives);
        }
    }
}

/// Of the same key, as the table of an answer shows it.
QString textOf(const questions::Table& table, std::size_t row, const char* key) {
    const std::size_t column = table.columnAt(key);
    return cellText(table.rows[row][column], table.unitOf(table.rows[row], column));
}

TEST_P(FiguresTest, CollectivesAreThoseOfTheCommandLine) {
    const PartPtr part = this->part({});
    const auto frame = loadCommunicationFrame(*m_reader, part);
    ASSERT_TRUE(frame);
    const questions::Selection all;
    const auto answer = questions::answerTo(*questions::findQuestion("collectives"),
                                            {*m_reader, m_recording->summary, all});
    ASSERT_TRUE(answer);
    const CollectiveTable shown = collectiveTable(**frame, {}, {});
    const questions::Table* told = findTable(*answer, "collectives");
    ASSERT_EQ(told == nullptr ? 0 : std::min(told->rows.size(), kMostCollectives),
              shown.rows.size());
    const auto columns = collectiveColumns();
    const auto place = [&](const QString& title) {
        return static_cast<std::size_t>(
            std::find_if(columns.begin(), columns.end(),
                         [&](const TableColumn& column) { return column.title == title; }) -
            columns.begin());
    };
    const std::vector<std::pair<QString, const char*>> same{
        {u"step"_s, "step"},         {u"operation"_s, "operation"},  {u"sequence"_s, "sequence"},
        {u"size"_s, "bytes"},        {u"skew"_s, "skew_ns"},         {u"late rank"_s, "late_rank"},
        {u"waiting"_s, "waited_ns"}, {u"transfer"_s, "transfer_ns"}, {u"bus"_s, "bus_bytes_per_s"},
    };
    for (std::size_t row = 0; row < shown.rows.size(); ++row)
        for (const auto& [title, key] : same)
            EXPECT_EQ(shown.rows[row][place(title)].text, textOf(*told, row, key))
                << title.toStdString() << " of row " << row;
    // and the columns are the sums that `overlap` has by layer
    const auto overlap = questions::answerTo(*questions::findQuestion("overlap"),
                                             {*m_reader, m_recording->summary, all});
    ASSERT_TRUE(overlap);
    const questions::Table* layers = findTable(*overlap, "layers");
    ASSERT_NE(layers, nullptr);
    std::size_t row = 0;
    for (const auto& [kind, sum] : (*frame)->communication.byLayer) {
        if (kind.first == kNoLayer) continue;
        ASSERT_LT(row, layers->rows.size());
        EXPECT_EQ(textOf(*layers, row, "time_ns"), formatDuration(sum.whole));
        EXPECT_EQ(textOf(*layers, row, "hidden_ns"), formatDuration(sum.hidden));
        ++row;
    }
    EXPECT_EQ(row, layers->rows.size());
}

INSTANTIATE_TEST_SUITE_P(Recordings, FiguresTest, ::testing::ValuesIn(kinds()),
                         [](const auto& kind) {
                             std::string name;
                             for (const char c : std::string(kind.param.name))
                                 if (c != ' ' && c != ',') name += c;
                             return name;
                         });

/// A trace whose device copies for most of its time: each page names the copies, and none gives the
/// kernels all of it.
class DrawnTrace : public ::testing::Test {
protected:
    void open(void (*write)(const std::string&)) {
        const std::string path = m_folder.file("run.sscope");
        write(m_folder.file("trace.json"));
        interchange::ImportOptions options;
        options.output = path;
        const auto account = interchange::importTraces({m_folder.file("trace.json")}, options);
        ASSERT_TRUE(account) << account.error().message;
        m_reader = std::move(*storage::openRecording(path));
        const auto loaded = loadRecording(*m_reader, QString::fromStdString(path));
        ASSERT_TRUE(loaded) << loaded.error().message;
        m_recording = *loaded;
    }
    test::TemporaryFolder m_folder;
    std::unique_ptr<storage::RecordingReader> m_reader;
    RecordingPtr m_recording;
};

class CopyingTrace : public DrawnTrace {
protected:
    void SetUp() override { open(writeCopyingTrace); }
};

TEST_F(CopyingTrace, LeadsWithItsCopies) {
    const PartPtr whole = wholePart(m_recording);
    const QString headline = overviewHeadline(*whole, whole->figures->ledger);
    EXPECT_TRUE(headline.startsWith(u"Devices: copies alone 60.0"_s)) << headline.toStdString();
    EXPECT_TRUE(headline.contains(u"compute kernels 20.0"_s)) << headline.toStdString();
    EXPECT_TRUE(headline.contains(u"idle 20.0"_s)) << headline.toStdString();
    QStringList cards;
    for (const CardContent& card : importedCards(*whole, whole->figures->ledger))
        cards << card.title + u' ' + card.value.number;
    EXPECT_TRUE(cards.contains(u"Copies 60.0"_s)) << cards.join(u", "_s).toStdString();
    EXPECT_TRUE(cards.contains(u"Idle 20.0"_s)) << cards.join(u", "_s).toStdString();
    EXPECT_TRUE(overviewSubline(*whole).contains(u"Devices only copy memory for 60 %"_s));
}

TEST_F(CopyingTrace, GivesKernelsTheirShareOfAllWork) {
    const auto frame = loadWork(*m_reader, wholePart(m_recording), storage::Generation());
    ASSERT_TRUE(frame);
    const QString headline = workHeadline(**frame);
    EXPECT_TRUE(headline.startsWith(u"Copies take 75.0"_s)) << headline.toStdString();
}

TEST_F(CopyingTrace, NamesCollectivesThatAreMarked) {
    const auto nothing = noCommunicationAtAll(*wholePart(m_recording));
    ASSERT_TRUE(nothing);
    EXPECT_TRUE(nothing->title.contains(u"marked"_s)) << nothing->title.toStdString();
    EXPECT_TRUE(nothing->text.contains(u"gloo:all_reduce (1, 50.0"_s))
        << nothing->text.toStdString();
}

/// Headline and card agree on what is there.
TEST_F(DrawnTrace, WithStepsAndWithoutKernelsSaysWhichOfThemIsLacking) {
    open([](const std::string& path) {
        std::string steps;
        for (int step = 0; step < 3; ++step)
            steps += (step > 0 ? "," : "") +
                     std::string(R"({"ph":"X","cat":"user_annotation","name":"ProfilerStep#)") +
                     std::to_string(step) + R"(","pid":7,"tid":7,"ts":)" +
                     std::to_string(1000 * step) + R"(,"dur":950})";
        std::ofstream(path) << R"({"traceEvents":[)" << steps << "]}";
    });
    const PartPtr whole = wholePart(m_recording);
    const QString headline = overviewHeadline(*whole, whole->figures->ledger);
    EXPECT_TRUE(headline.contains(u"(median of 3)"_s)) << headline.toStdString();
    EXPECT_TRUE(headline.contains(u"no kernels are in this trace"_s)) << headline.toStdString();
    EXPECT_FALSE(headline.contains(u"no steps"_s)) << headline.toStdString();
}

}  // namespace
}  // namespace shardscope::desktop
