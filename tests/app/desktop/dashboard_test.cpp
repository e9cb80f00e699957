// The dashboard: its figures, its sixteen pictures in the window and in files.
#include "app/desktop/models/recording_texts.h"
#include "app/desktop/models/step_split.h"
#include "app/desktop/models/theory_bars.h"
#include "app/desktop/models/training_figures.h"
#include "app/desktop/pages/dashboard/dashboard_model.h"
#include "app/desktop/pages/dashboard/dashboard_page.h"
#include "app/desktop/pages/dashboard/dashboard_sheet.h"
#include "app/desktop/widgets/picture_file.h"
#include "app/desktop/widgets/theme.h"
#include "engine/run/theory/theory.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/app/desktop/small_trace.h"
#include "tests/app/desktop/window_fixture.h"

#include <QFile>
#include <QImage>
#include <QPainter>
#include <QXmlStreamReader>
#include <stdexcept>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using testing::HasSubstr;
using testing::SizeIs;

constexpr std::size_t kTiles = 16;

class DashboardTest : public WindowTest {
protected:
    DashboardPage& open(const test::SampleOptions& options = {}) {
        openSample(options);
        return show();
    }
    DashboardPage& show() {
        m_window->showPage(page_ids::kDashboard);
        settle();
        return *qobject_cast<DashboardPage*>(m_window->page(page_ids::kDashboard));
    }
    template <class Content>
    static const Content& tile(const Dashboard& dashboard, const QString& title) {
        for (const DashboardTile& each : dashboard.tiles)
            if (each.title.startsWith(title)) return std::get<Content>(each.content);
        throw std::out_of_range(title.toStdString());
    }
    QByteArray fileOf(const DrawnPicture& drawn, const QString& name) {
        const QString path = m_folder.filePath(name);
        const auto written = writePicture(drawn, path, u"a4"_s, false);
        EXPECT_TRUE(written) << (written ? "" : written.error().message);
        QFile file(path);
        EXPECT_TRUE(file.open(QIODevice::ReadOnly));
        return file.readAll();
    }
};

TEST_F(DashboardTest, HasSixteenPicturesOfTheRun) {
    DashboardPage& page = open();
    ASSERT_TRUE(page.dashboard());
    EXPECT_THAT(page.dashboard()->tiles, SizeIs(kTiles));
    EXPECT_EQ(page.findChild<DashboardSheet*>()->tileCount(), static_cast<int>(kTiles));
    for (const DashboardTile& each : page.dashboard()->tiles)
        EXPECT_FALSE(std::holds_alternative<AbsentTile>(each.content)) << each.title.toStdString();
    EXPECT_THAT(page.dashboard()->notes.toStdString(), HasSubstr("teps 0 to 9")) << "for paper";
    keepPicture(u"dashboard"_s);
}

TEST_F(DashboardTest, GaugesAreTheReportsFigures) {
    DashboardPage& page = open();
    const auto& report = m_window->loader().recording()->report;
    const auto& gauges = tile<GaugesTile>(*page.dashboard(), u"Against targets"_s).gauges;
    ASSERT_THAT(gauges, SizeIs(4));
    EXPECT_EQ(gauges[0].share, report.mfu.value);
    EXPECT_EQ(gauges[2].share, report.overlap.reachedOfLimit());
    // without a run of one rank
    EXPECT_FALSE(gauges[3].share);
    EXPECT_EQ(gauges[3].verdict, u"unknown"_s);
    EXPECT_THAT(gauges[3].definition.toStdString(), HasSubstr("one-rank baseline"));
}

TEST_F(DashboardTest, FollowsTheSelection) {
    DashboardPage& page = open();
    m_window->selection().selectSteps({StepIndex{3}, StepIndex{5}});
    settle();
    const auto& columns = tile<ColumnsTile>(*page.dashboard(), u"Each step"_s).columns;
    EXPECT_THAT(columns, SizeIs(3));
    m_window->selection().clear();
    m_window->selection().selectRanks({RankId{1}});
    settle();
    EXPECT_THAT(tile<BarsTile>(*page.dashboard(), u"Where a step goes"_s).bars, SizeIs(1));
}

TEST_F(DashboardTest, AnImportSaysWhatItsTraceDoesNotSay) {
    const QString path = m_folder.filePath(u"trace.json"_s);
    writeSmallTrace(path.toStdString());
    QSignalSpy opened(&m_window->loader(), &RecordingLoader::opened);
    m_window->openFile(path);
    ASSERT_TRUE(opened.wait(10'000));
    settle();
    DashboardPage& page = show();
    ASSERT_TRUE(page.dashboard());
    EXPECT_LT(page.dashboard()->tiles.size(), kTiles) << "what it does not say makes room";
    EXPECT_FALSE(page.dashboard()->tiles.empty());
    for (const DashboardTile& each : page.dashboard()->tiles)
        EXPECT_FALSE(std::holds_alternative<AbsentTile>(each.content)) << each.title.toStdString();
    const std::string notes = page.dashboard()->leftOut.toStdString();
    EXPECT_THAT(notes, HasSubstr("Parameters of the model: unknown"));
    EXPECT_THAT(notes, HasSubstr("Loss"));
}

TEST_F(DashboardTest, IsTheSameCompositionInEveryKindOfFile) {
    DashboardPage& page = open();
    const QSize size = pageSize(u"a4"_s);
    const DrawnPicture drawn = page.drawn(size, false);
    EXPECT_EQ(drawn.size, size);
    const QImage image = QImage::fromData(fileOf(drawn, u"run.png"_s));
    EXPECT_EQ(image.size(), size * 2);
    const QByteArray svg = fileOf(drawn, u"run.svg"_s);
    // text stays text, and no part of it is a picture of pixels
    EXPECT_THAT(svg.toStdString(), HasSubstr("Learning rate"));
    EXPECT_THAT(svg.toStdString(), testing::Not(HasSubstr("<image")));
    EXPECT_TRUE(fileOf(drawn, u"run.pdf"_s).startsWith("%PDF"));
}

TEST_F(DashboardTest, WhatWasNotRecordedIsNotNone) {
    test::SampleOptions options;
    options.memory = false;
    const DashboardPage& page = open(options);
    QString why = noMemoryText(*m_window->loader().recording());
    if (why.endsWith(u'.')) why.chop(1);
    EXPECT_THAT(page.dashboard()->leftOut.toStdString(),
                HasSubstr("Peak memory by category: " + why.toStdString()));
}

/// Columns of pixels of a colour in a stretch of the picture.
int pixelsOf(const QImage& image, const QColor& colour, const QRect& where) {
    int count = 0;
    for (int y = where.top(); y <= where.bottom(); ++y)
        for (int x = where.left(); x <= where.right(); ++x)
            count += image.pixelColor(x, y) == colour ? 1 : 0;
    return count;
}

TEST_F(DashboardTest, FilesHaveBarsOfHistograms) {
    DashboardPage& page = open();
    const QImage image =
        QImage::fromData(fileOf(page.drawn(pageSize(u"a4"_s), false), u"run.png"_s));
    // second row, third column: how step times are spread
    const QRect tile(image.width() / 2, image.height() * 5 / 16, image.width() / 5,
                     image.height() * 3 / 16);
    EXPECT_GT(pixelsOf(image, Theme::light().fill(Meaning::kCompute).colour, tile), 1000);
}

TEST_F(DashboardTest, AnSvgFileIsXmlWhateverNamesHold) {
    DrawnPicture drawn{QPicture(), {200, 100}, u"a<b>\u001b&\uFFFE"_s};
    QPainter painter(&drawn.picture);
    painter.drawText(10, 20, u"]]><x \u001b[2J\u0001\uFFFE\"&amp;"_s);
    painter.end();
    QXmlStreamReader xml(fileOf(drawn, u"names.svg"_s));
    QString texts;
    while (!xml.atEnd())
        if (xml.readNext() == QXmlStreamReader::Characters) texts += xml.text();
    EXPECT_EQ(xml.error(), QXmlStreamReader::NoError) << xml.errorString().toStdString();
    EXPECT_THAT(texts.toStdString(), HasSubstr("a<b>\\x1b&"));
    // Where the font of a letter changes Qt begins another text.
    EXPECT_THAT(texts.remove(u'\n').toStdString(), HasSubstr("]]><x \\x1b[2J\\x01"));
}

TEST_F(DashboardTest, WhatCannotBeWrittenSaysSoAndLeavesWhatWasThere) {
    DashboardPage& page = open();
    const DrawnPicture drawn = page.drawn(pageSize(u"a4"_s), true);
    const auto wrong = writePicture(drawn, m_folder.filePath(u"run.gif"_s), u"a4"_s, true);
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, ErrorCode::kUsage);
    EXPECT_THAT(wrong.error().message, HasSubstr(".pdf"));
    EXPECT_FALSE(checkPictureFile(u"run.pdf"_s, u"b5"_s));
    const auto nowhere =
        writePicture(drawn, m_folder.filePath(u"no/such/run.png"_s), u"a4"_s, true);
    ASSERT_FALSE(nowhere);
    EXPECT_EQ(nowhere.error().code, ErrorCode::kUsage);
}

run::RunConfig shakespeare() {
    run::RunConfig config;
    config.strategy = run::Strategy::kZero3;
    config.ranks = 4;
    return config;
}

TEST(TheoryBars, StagesAreTheTheoryOfTheSameRun) {
    const auto bars = stageBars(shakespeare());
    ASSERT_THAT(bars, SizeIs(4));
    EXPECT_TRUE(bars[3].emphasised);
    EXPECT_FALSE(bars[0].emphasised);
    const Bytes own = theory::total(theory::memoryTheory(shakespeare()));
    EXPECT_DOUBLE_EQ(bars[3].sum(), static_cast<double>(own.count));
    EXPECT_GT(bars[0].sum(), bars[3].sum());
}

TEST(TheoryBars, AStrategyOfNoStageHasABarOfItsOwn) {
    run::RunConfig config = shakespeare();
    config.strategy = run::Strategy::kHsdp;
    config.shardRanks = 2;
    const auto bars = stageBars(config);
    ASSERT_THAT(bars, SizeIs(5));
    EXPECT_EQ(bars[4].label, u"hsdp"_s);
    EXPECT_TRUE(bars[4].emphasised);
}

TEST(TheoryBars, CurvesMeetOnOneRankAndPartFromThereOn) {
    const auto curves = stageCurves(shakespeare());
    ASSERT_THAT(curves, SizeIs(4));
    for (const LineSeries& curve : curves) {
        EXPECT_EQ(curve.points.front().y(), curves[0].points.front().y());
        EXPECT_EQ(curve.points.back().x(), 1024);
    }
    EXPECT_LT(curves[3].points.back().y(), curves[0].points.back().y());
}

TEST(TheoryBars, ParametersAddUpToTheModels) {
    double sum = 0;
    for (const StackedBar& bar : parameterBars(shakespeare())) sum += bar.sum();
    EXPECT_DOUBLE_EQ(sum, static_cast<double>(theory::parameterCount(shakespeare().model)));
}

SpanEvent phase(Phase kind, std::int64_t begin, std::int64_t end, std::int16_t layer) {
    SpanEvent event;
    event.start = Timestamp{begin};
    event.duration = Duration{end - begin};
    event.step = StepIndex{2};
    event.layer = LayerIndex{layer};
    event.phase = kind;
    return event;
}

StepFacts stepTwo() {
    StepFacts step;
    step.step = StepIndex{2};
    step.start = Timestamp{1'000'000};
    step.end = Timestamp{5'000'000};
    return step;
}

TEST(StepFlow, PutsEachStretchIntoItsRow) {
    RankEvents events;
    events.phases = {phase(Phase::kWaitGather, 1'000'000, 2'000'000, 0),
                     phase(Phase::kForward, 2'000'000, 4'000'000, 0),
                     phase(Phase::kRelease, 4'000'000, 4'100'000, 0)};
    CollectiveEvent gather;
    gather.operation = CollectiveOp::kAllGather;
    gather.step = StepIndex{2};
    gather.layer = LayerIndex{0};
    gather.start = Timestamp{500'000};  // began before the step did
    gather.end = Timestamp{2'000'000};
    events.collectives = {gather};
    const auto rows = stepFlow(stepTwo(), events);
    ASSERT_THAT(rows, SizeIs(4));
    EXPECT_EQ(rows[0].label, u"fetch"_s);
    EXPECT_EQ(rows[0].spans[0].begin, 0) << "what lies before the step is cut";
    EXPECT_EQ(rows[0].spans[0].end, 1);
    EXPECT_EQ(rows[1].label, u"wait"_s);
    EXPECT_EQ(rows[2].label, u"compute"_s);
    EXPECT_EQ(rows[2].spans[0].text, u"0"_s);
    EXPECT_EQ(rows[3].label, u"release"_s);
}

TEST(StepFlow, OfAnotherToolsTraceKernelsAreWhatIsComputed) {
    RankEvents events;
    events.computeKernels = {{Timestamp{0}, Timestamp{900'000}},
                             {Timestamp{2'000'000}, Timestamp{3'000'000}}};
    const auto rows = stepFlow(stepTwo(), events);
    ASSERT_THAT(rows, SizeIs(1));
    ASSERT_THAT(rows[0].spans, SizeIs(1)) << "the first ended before the step";
    EXPECT_EQ(rows[0].spans[0].begin, 1);
    EXPECT_TRUE(stepFlow(stepTwo(), {}).empty());
}

TEST(StepFlow, TakesTheStepOfMedianLength) {
    RecordingSummary summary;
    for (int i = 0; i < 5; ++i) {
        StepFacts step;
        step.step = StepIndex{i};
        step.end = Timestamp{i == 0 ? 100 : 10 * i};
        summary.steps.push_back(step);
    }
    EXPECT_EQ(typicalStep(summary, RankId{0})->step.value, 3);
    EXPECT_EQ(typicalStep(summary, RankId{1}), nullptr);
}

}  // namespace
}  // namespace shardscope::desktop
