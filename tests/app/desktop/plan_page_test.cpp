// The Plan page: settings in, plans out, and the way on to New run.
#include "app/desktop/pages/plan/plan_page.h"

#include "app/desktop/models/answer_table.h"
#include "app/desktop/pages/newrun/new_run_page.h"
#include "app/desktop/pages/plan/what_if_panel.h"
#include "app/desktop/pages/run_fields/bound_field.h"
#include "app/desktop/shell/key_sheet.h"
#include "app/desktop/widgets/chart_panel.h"
#include "app/desktop/widgets/theme.h"
#include "profiler/questions/question.h"
#include "storage/model/rank_facts.h"
#include "tests/app/desktop/plan_fixture.h"

#include <gmock/gmock.h>

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFontMetrics>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QScrollArea>
#include <QSlider>
#include <QSpinBox>
#include <algorithm>
#include <memory>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr double kGibi = 1024.0 * 1024 * 1024;

PlanSettings onH100(std::int32_t ranks) {
    PlanSettings settings;
    settings.config.model = *run::findModelPreset("xl");
    settings.config.ranks = ranks;
    settings.config.batch = 8;
    settings.config.device = run::Device::kCuda;
    settings.config.precision = run::Precision::kBFloat16;
    settings.device = u"H100 SXM"_s;
    return settings;
}

std::int64_t whole(const questions::Table& table, std::size_t row, const char* column) {
    return *table.rows.at(row).at(table.columnAt(column)).integer();
}

TEST(PlanView, SaysWhatToTakeAndHowItScales) {
    const PlanView view = makePlanView(onH100(8));
    EXPECT_TRUE(view.problem.isEmpty());
    EXPECT_TRUE(view.headline.startsWith(u"Take ZeRO-1."_s)) << view.headline.toStdString();
    EXPECT_TRUE(view.sources.contains(u"estimated"_s));
    int recommended = 0;
    for (const auto& row : view.strategies.rows)
        if (*row.at(view.strategies.columnAt("fits")).text() == "yes, recommended") ++recommended;
    EXPECT_EQ(recommended, 1);
    EXPECT_TRUE(view.sources.contains(u"give a link for more"_s));
    EXPECT_EQ(view.start.strategy, run::Strategy::kZero1);
    EXPECT_EQ(view.strategies.rows.size(), view.times.rows.size());
    EXPECT_EQ(view.weak.rows.size(), 4U) << "NVLink joins the 8 ranks of a host";
    EXPECT_EQ(view.efficiency.front().points.front(), QPointF(1, 100));
    const auto& efficiency = view.efficiency.front().points;
    const bool above = std::any_of(efficiency.begin(), efficiency.end(),
                                   [](const QPointF& point) { return point.y() > 100.05; });
    EXPECT_EQ(above, view.aboveLinear.startsWith(u"Efficiency above 100 %: "_s))
        << view.aboveLinear.toStdString();
    EXPECT_FALSE(view.fitsOn.rows.empty());
    EXPECT_FALSE(view.divisions.rows.empty());
    EXPECT_FALSE(view.memory.empty());
    EXPECT_TRUE(view.replay.startsWith(u"Replay error: unknown"_s)) << "no step was recorded";
}

TEST(PlanView, CountsBytesInOneUnit) {
    const PlanView view = makePlanView(onH100(8));
    QString texts = view.headline + view.memoryUnit;
    for (const StackedBar& bar : view.memory) {
        texts += bar.total;
        for (const BarSegment& segment : bar.segments) texts += segment.text;
    }
    EXPECT_FALSE(texts.contains(u"GB"_s) || texts.contains(u"MB"_s)) << texts.toStdString();
    EXPECT_EQ(view.memoryUnit, u"GiB"_s);
    for (const questions::Table* table : {&view.strategies, &view.fitsOn, &view.divisions})
        for (const questions::Column& column : table->columns)
            EXPECT_NE(column.unit, questions::Unit::kDecimalBytes) << column.key;
    // 1.6 GiB of peak are 1.6 at the axis, too
    const auto peak =
        whole(view.strategies, view.strategies.rows.size() - 1, "peak_bytes_per_rank");
    EXPECT_GT(view.memoryOverRanks.back().points[3].y(), 0.5 * static_cast<double>(peak) / kGibi);
    EXPECT_LT(view.memoryOverRanks.back().points[3].y(), 1.5 * static_cast<double>(peak) / kGibi);
    const PlanView small = makePlanView({});
    EXPECT_EQ(small.memoryUnit, u"MiB"_s);
}

TEST(PlanView, ANumberOfParametersIsPlannedAsOnTheCommandLine) {
    PlanSettings settings = onH100(8);
    settings.stateModel.emplace();
    const PlanView view = makePlanView(settings);
    EXPECT_EQ(view.problem, QString());
    ASSERT_EQ(view.strategies.rows.size(), 4U);
    EXPECT_EQ(whole(view.strategies, 0, "state_bytes_per_rank"), 112'000'000'000);
    EXPECT_EQ(whole(view.strategies, 3, "state_bytes_per_rank"), 14'000'000'000);
    EXPECT_EQ(whole(view.strategies, 3, "communication_bytes_per_step"), 36'750'000'000);
    EXPECT_EQ(view.memory.front().total, cellText(questions::Cell(112e9), questions::Unit::kBytes))
        << "as in the table";
    EXPECT_EQ(view.memory.front().segments.size(), 3U);
    EXPECT_EQ(view.memoryOverRanks.back().points[3], QPointF(8, 14e9 / kGibi));
    EXPECT_TRUE(view.times.rows.empty());
    EXPECT_TRUE(view.divisions.rows.empty()) << "it has no shape";
    EXPECT_FALSE(view.fitsOn.rows.empty());
    EXPECT_TRUE(view.sources.startsWith(u"7,000,000,000 parameters over 8 ranks"_s))
        << view.sources.toStdString();
    EXPECT_FALSE(view.trains);
    EXPECT_TRUE(view.headline.startsWith(u"Take ZeRO-1."_s)) << view.headline.toStdString();
}

TEST(PlanView, APublishedModelHasItsShapesDivisions) {
    PlanSettings settings = onH100(64);
    settings.stateModel.emplace().known = planning::findKnownModel("llama2-70b");
    const PlanView view = makePlanView(settings);
    EXPECT_TRUE(view.headline.startsWith(u"Take ZeRO-3."_s)) << view.headline.toStdString();
    EXPECT_TRUE(view.sources.startsWith(u"llama2-70b, 68,976,648,192 parameters"_s));
    EXPECT_FALSE(view.divisions.rows.empty());
    settings.config.ranks = 1;
    EXPECT_EQ(makePlanView(settings).headline,
              u"Nothing fits into 80 GB (74.5 GiB): more ranks, or less state."_s);
}

TEST(PlanView, SaysWhatIsNoNumberOfParameters) {
    PlanSettings settings = onH100(8);
    settings.stateModel.emplace().parameters = u"seven"_s;
    EXPECT_TRUE(makePlanView(settings).problem.contains(u"write 7e9, 7B or 124M"_s));
    settings.stateModel->parameters = u"7B"_s;
    EXPECT_EQ(makePlanView(settings).problem, QString());
    settings.stateModel->stateBytes = u"2+2"_s;
    EXPECT_TRUE(makePlanView(settings).problem.contains(u"2+2+12"_s));
}

TEST(PlanView, ALinkLeadsBeyondAHost) {
    PlanSettings settings = onH100(64);
    settings.config.linkGigabytesPerSecond = 50;
    settings.config.linkLatencyMicroseconds = 5;
    const PlanView view = makePlanView(settings);
    EXPECT_EQ(view.weak.rows.size(), 11U);
    EXPECT_EQ(whole(view.weak, 10, "ranks"), 1024);
    ASSERT_FALSE(view.bands.empty());
    for (qsizetype i = 0; i < view.bands[0].low.size(); ++i) {
        EXPECT_LT(view.bands[0].low[i].y(), view.throughput[0].points[i].y());
        EXPECT_GT(view.bands[0].high[i].y(), view.throughput[0].points[i].y());
    }
    EXPECT_EQ(view.start.linkGigabytesPerSecond, 0) << "a GPU's link is not modelled";
}

TEST(PlanView, WithoutTimesThereIsMemory) {
    PlanSettings settings;
    settings.machine.totalMemory = Bytes{16'000'000'000};
    const PlanView view = makePlanView(settings);
    EXPECT_TRUE(view.times.rows.empty());
    EXPECT_TRUE(view.weak.rows.empty());
    EXPECT_TRUE(view.sources.contains(u"Nothing says how long"_s));
    EXPECT_FALSE(view.strategies.rows.empty());
    EXPECT_TRUE(view.headline.startsWith(u"Take"_s)) << view.headline.toStdString();
}

TEST(PlanView, WithoutARecordingGoesByTheCalibration) {
    PlanSettings settings;
    settings.machine.totalMemory = Bytes{16'000'000'000};
    planning::Calibration calibration;
    calibration.cores = 2;
    const auto rate = [&](const run::MeasuredFigure& what, double median) {
        planning::MachineRate& made = calibration.rates.emplace_back();
        made.what = what;
        made.best = made.median = median;
    };
    rate({0, run::MachineFigure::kMatmul, run::Precision::kFloat32, 512, 512, 512, 2}, 1e11);
    rate({0, run::MachineFigure::kTriad, {}, 0, 0, 0, 2}, 1e10);
    settings.calibration = calibration;
    const PlanView view = makePlanView(settings);
    EXPECT_FALSE(view.times.rows.empty());
    EXPECT_TRUE(view.sources.contains(u"calibrat"_s)) << view.sources.toStdString();
    settings.device = u"H100 SXM"_s;
    settings.config.device = run::Device::kCuda;
    settings.config.precision = run::Precision::kBFloat16;
    EXPECT_FALSE(makePlanView(settings).sources.contains(u"calibrat"_s));
}

TEST(PlanView, SaysWhatIsWrongInTheWordsOfTheForm) {
    PlanSettings settings = onH100(8);
    settings.config.model.heads = 7;
    const PlanView view = makePlanView(settings);
    EXPECT_TRUE(view.problem.contains(u"Heads"_s) || view.problem.contains(u"heads"_s));
    EXPECT_FALSE(view.problem.contains(u"--"_s)) << view.problem.toStdString();
}

TEST(PlanView, NothingFitsIsSaid) {
    PlanSettings settings = onH100(2);
    settings.config.model.hidden = 25'600;
    settings.config.model.heads = 100;
    const PlanView view = makePlanView(settings);
    EXPECT_TRUE(view.headline.startsWith(u"Nothing fits"_s)) << view.headline.toStdString();
}

TEST(PlanView, SaysOfEachStrategyWhyItsTimeIsUnknown) {
    PlanSettings settings;
    settings.config.ranks = 2;
    auto times = std::make_shared<planning::PlanTimes>();
    times->computing.push_back(planning::timesAt(settings.config, {1e11, 1e10, "given"}));
    times->ranksOnHost = 2;
    times->source = "as drawn; the model plays its step 3.0 % shorter than recorded";
    times->link.emplace(theory::LinkModel{}, "fitted for this test");
    times->link->set(CollectiveOp::kAllReduce, 2, {1e4, 1e-2, 2, Bytes{8}, Bytes{32}});
    settings.recorded.times = times;
    const PlanView view = makePlanView(settings);
    EXPECT_EQ(view.unknown.size(), static_cast<qsizetype>(view.times.rows.size()));
    EXPECT_THAT(view.unknown.join(u'\n').toStdString(),
                testing::HasSubstr("DDP, flat: step time unknown: no all-reduce among 2 ranks was "
                                   "measured above 32 B"));
    times->doubt = "the ranks of x.sscope were without a core";
    const QString doubtful = makePlanView(settings).sources;
    EXPECT_LT(doubtful.indexOf(u"Uncertain: the ranks of x.sscope were without a core. "_s),
              doubtful.indexOf(u"Times are estimated"_s));
    const std::string sources = view.sources.toStdString();
    EXPECT_THAT(sources, testing::HasSubstr("plays its step 3.0 % shorter than recorded"));
    EXPECT_THAT(sources, testing::HasSubstr("among 2 ranks: all-reduce up to 64 B"));
    EXPECT_THAT(view.ends.toStdString(), testing::HasSubstr("was measured"));
}

TEST(WhatIfPanel, BeginsWithTheDoubt) {
    PlayedFaster played;
    played.answer.doubt = "the ranks of the run were without a core";
    played.answer.tables.push_back(
        {"durations",
         "",
         {{"step_ns", ""}, {"low_ns", ""}, {"high_ns", ""}, {"saved_pct", ""}},
         {}});
    played.answer.tables.back().rows.push_back(
        {std::int64_t{5}, std::int64_t{4}, std::int64_t{6}, 50.0});
    played.answer.figures.push_back({{"replay_recorded_ns", ""}, std::int64_t{10}});
    EXPECT_TRUE(fasterHeadline(played).startsWith(
        u"Uncertain: the ranks of the run were without a core. A step would take"_s))
        << fasterHeadline(played).toStdString();
}

TEST(PlanView, SaysWhyNothingIsTakenFromARecording) {
    PlanSettings settings;
    settings.recorded.why = u"No times are taken from x.sscope: it had no cores."_s;
    EXPECT_TRUE(makePlanView(settings).sources.startsWith(settings.recorded.why));
}

/// What `shardscope analyze FILE what-if --faster WHAT=X` answers.
questions::Answer asAnalyzed(const QString& path, const std::string& what, double times) {
    auto reader = storage::openRecording(path.toStdString());
    EXPECT_TRUE(reader);
    const auto summary = (*reader)->summary();
    const questions::Selection all;
    questions::Asked asked{**reader, *summary, all};
    asked.faster = {{what, times}};
    auto answer = questions::answerTo(*questions::findQuestion("what-if"), asked);
    EXPECT_TRUE(answer) << answer.error().message;
    return std::move(*answer);
}

class PlanPageTest : public PlanFixture {
protected:
    /// The recording's what-if was played with these controls.
    void played() {
        ASSERT_TRUE(QTest::qWaitFor(
            [this] { return m_window->loader().isIdle() && m_page->whatIf()->what()->isEnabled(); },
            60'000));
    }

    [[nodiscard]] QPushButton* button(const QString& text) const {
        for (QPushButton* each : m_page->findChildren<QPushButton*>())
            if (each->text() == text) return each;
        return nullptr;
    }
};

TEST_F(PlanPageTest, WhatIfIsTheAnswerOfAnalyze) {
    openSample();
    WhatIfPanel* panel = m_page->whatIf();
    played();
    EXPECT_EQ(panel->what()->currentData().toString(), u"link"_s);
    for (const char* what : {"rank 1", "forward", "link"}) {
        const int place = panel->what()->findData(QString::fromLatin1(what));
        ASSERT_GE(place, 0) << what;
        panel->what()->setCurrentIndex(place);
        panel->times()->setValue(3);
        played();
        const questions::Answer answer = asAnalyzed(m_folder.filePath(u"sample.sscope"_s), what, 3);
        const questions::Table* durations = findTable(answer, "durations");
        ASSERT_NE(durations, nullptr);
        for (const char* key : {"step_ns", "low_ns", "high_ns"})
            EXPECT_TRUE(panel->headline().contains(cellText(
                durations->rows[0][durations->columnAt(key)], questions::Unit::kNanoseconds)))
                << what << ": " << panel->headline().toStdString();
        EXPECT_EQ(table(u"What if"_s)->table()->allRows(),
                  static_cast<int>(durations->rows.size()));
    }
    QString words;
    for (const QLabel* label : panel->findChildren<QLabel*>())
        if (label->isVisibleTo(m_page)) words += label->text() + u'\n';
    EXPECT_TRUE(words.contains(u"Error of the model on the recorded steps"_s))
        << words.toStdString();
    keepPicture(u"plan-what-if"_s);
}

TEST_F(PlanPageTest, WhatIfIsFoundInThePaletteAndTakesTheFocus) {
    openSample();
    m_window->showPage(u"overview"_s);
    for (QAction* action : m_window->actions())
        if (action->text() == u"Find a command"_s) action->trigger();
    auto* palette = m_window->findChild<CommandPalette*>();
    ASSERT_NE(palette, nullptr);
    QTest::keyClicks(palette->findChild<QLineEdit*>(), u"what if"_s);
    ASSERT_EQ(palette->findChild<QListWidget*>()->count(), 1);
    QTest::keyClick(palette->findChild<QLineEdit*>(), Qt::Key_Return);
    delete palette;
    EXPECT_EQ(m_window->currentPage(), u"plan"_s);
    played();
    WhatIfPanel* panel = m_page->whatIf();
    EXPECT_TRUE(panel->what()->hasFocus());
    EXPECT_FALSE(panel->what()->visibleRegion().isEmpty()) << "scrolled to";
    for (const QWidget* input :
         {static_cast<QWidget*>(panel->what()), static_cast<QWidget*>(panel->times())}) {
        EXPECT_FALSE(input->accessibleName().isEmpty());
        EXPECT_NE(input->focusPolicy() & Qt::TabFocus, 0);
    }
    QTest::keyClick(panel->what(), Qt::Key_Down);
    EXPECT_EQ(panel->what()->currentIndex(), 1);
    played();
    EXPECT_TRUE(panel->headline().startsWith(u"A step would take"_s));
}

TEST_F(PlanPageTest, WhatIfSaysWhyNothingIsPlayed) {
    WhatIfPanel* panel = m_page->whatIf();
    EXPECT_FALSE(panel->what()->isEnabled());
    EXPECT_TRUE(panel->headline().startsWith(u"Open a recording"_s));
    test::SampleOptions options;
    options.gpu = true;
    options.gpuTraced = false;
    openSample(options);
    ASSERT_TRUE(QTest::qWaitFor(
        [&] { return m_window->loader().isIdle() && !panel->headline().startsWith(u"Pl"_s); },
        60'000));
    EXPECT_FALSE(panel->what()->isEnabled());
    EXPECT_EQ(panel->headline(),
              u"What being faster would do is unknown: neither phases of step "
              "threads nor kernels of devices were recorded."_s);
    planned();
    EXPECT_EQ(m_page->settings().config.model.layers, options.blocks) << "memory is of its model";
    EXPECT_TRUE(m_page->view().sources.startsWith(u"No times are taken from sample.sscope: "_s))
        << m_page->view().sources.toStdString();
}

TEST_F(PlanPageTest, WhatIfIsNotPlayedOnWhileItIsNotSeen) {
    openSample();
    played();
    WhatIfPanel* panel = m_page->whatIf();
    panel->times()->setValue(4);
    m_window->showPage(u"overview"_s);
    settle();
    EXPECT_TRUE(panel->headline().startsWith(u"Playing"_s)) << panel->headline().toStdString();
    m_window->showPage(u"plan"_s);
    settle();
    EXPECT_TRUE(panel->headline().startsWith(u"A step would take"_s));
    const auto* rows = table(u"What if"_s)->table();
    EXPECT_EQ(rows->index(0, 0).data().toString(), u"link 4 times as fast"_s);
}

TEST_F(PlanPageTest, WhatIfGoesOnWhileSettingsAreWrong) {
    openSample();
    played();
    qobject_cast<QSpinBox*>(m_page->field("model.heads")->input())->setValue(7);
    planned();
    EXPECT_FALSE(table(u"Strategies"_s)->isEnabledTo(m_page));
    EXPECT_TRUE(m_page->whatIf()->what()->isEnabledTo(m_page)) << "it is of the recording";
}

TEST_F(PlanPageTest, PlansForTheDeviceThatIsChosen) {
    m_page->chooseDevice(u"H100 SXM"_s);
    planned();
    EXPECT_EQ(m_page->settings().config.device, run::Device::kCuda);
    EXPECT_EQ(m_page->settings().config.precision, run::Precision::kBFloat16);
    EXPECT_TRUE(table(u"Time of a step"_s)->isVisibleTo(m_page));
    EXPECT_GT(table(u"Strategies"_s)->table()->allRows(), 3);
    keepPicture(u"plan-h100"_s);
    m_page->chooseDevice(QString());
    planned();
    EXPECT_FALSE(table(u"Time of a step"_s)->isVisibleTo(m_page));
    EXPECT_EQ(m_page->settings().config.device, run::Device::kCpu);
}

TEST_F(PlanPageTest, AGpusLinkLeadsBeyondItsHost) {
    m_page->chooseDevice(u"H100 SXM"_s);
    planned();
    EXPECT_EQ(m_page->view().weak.rows.size(), 4U);
    auto* bandwidth = qobject_cast<QDoubleSpinBox*>(m_page->field("link_gb_per_s")->input());
    bandwidth->setValue(50);
    planned();
    EXPECT_GT(m_page->view().weak.rows.size(), 4U);
    EXPECT_EQ(m_page->view().start.linkGigabytesPerSecond, 0);
    const AnswerTable weak = answerTable(m_page->view().weak);
    for (const auto& row : weak.rows)
        for (std::size_t c = 0; c < row.size(); ++c)
            EXPECT_LE(QFontMetrics(textFont(kTextPixels)).horizontalAdvance(row[c].text) + 16,
                      weak.columns[c].minimumWidth)
                << row[c].text.toStdString();
    m_window->resize(1440, 2200);
    settle();
    keepPicture(u"plan-scaling"_s);
}

TEST_F(PlanPageTest, TheSliderAndTheFieldAreTheSameRanks) {
    m_page->ranksSlider()->setValue(4);
    EXPECT_EQ(m_page->settings().config.ranks, 16);
    qobject_cast<QSpinBox*>(m_page->field("ranks")->input())->setValue(64);
    EXPECT_EQ(m_page->ranksSlider()->value(), 6);
    planned();
}

TEST_F(PlanPageTest, AProblemLeavesThePlanBeforeIt) {
    m_page->chooseDevice(u"H100 SXM"_s);
    planned();
    const int rows = table(u"Strategies"_s)->table()->allRows();
    qobject_cast<QSpinBox*>(m_page->field("model.heads")->input())->setValue(7);
    planned();
    EXPECT_FALSE(m_page->view().problem.isEmpty());
    EXPECT_EQ(table(u"Strategies"_s)->table()->allRows(), rows);
    EXPECT_FALSE(table(u"Strategies"_s)->isEnabledTo(m_page));
}

TEST_F(PlanPageTest, LearnsFromTheOpenRecording) {
    openSample();
    m_window->showPage(u"plan"_s);
    planned();
    EXPECT_TRUE(m_page->view().sources.contains(u"recorded"_s))
        << m_page->view().sources.toStdString();
    EXPECT_THAT(m_page->view().replay.toStdString(),
                testing::MatchesRegex("Replay error: .*%.* of the recorded step.*"));
    EXPECT_TRUE(table(u"Time of a step"_s)->isVisibleTo(m_page));
    const run::RunConfig taken = m_page->settings().config;
    EXPECT_EQ(taken.model.name, m_window->loader().recording()->summary.run.model);
    EXPECT_TRUE(taken.output.empty());
}

TEST_F(PlanPageTest, ARecordingReplacesNoSettingsOfTheUser) {
    qobject_cast<QSpinBox*>(m_page->field("batch")->input())->setValue(77);
    openSample();
    m_window->showPage(u"plan"_s);
    planned();
    EXPECT_EQ(m_page->settings().config.batch, 77);
    EXPECT_TRUE(m_page->view().sources.contains(u"recorded"_s));
}

TEST_F(PlanPageTest, APublishedModelIsChosenAndGivenBack) {
    m_page->chooseDevice(u"H100 SXM"_s);
    m_page->chooseModel(u"gpt3-175b"_s);
    m_page->ranksSlider()->setValue(10);
    planned();
    EXPECT_EQ(table(u"Strategies"_s)->table()->allRows(), 4);
    EXPECT_FALSE(m_page->field("model.layers")->isVisibleTo(m_page));
    EXPECT_FALSE(m_page->parameters()->isVisibleTo(m_page));
    EXPECT_TRUE(m_page->field("ranks")->isVisibleTo(m_page));
    EXPECT_FALSE(table(u"Time of a step"_s)->isVisibleTo(m_page));
    EXPECT_FALSE(button(u"Start this run…"_s)->isEnabled());
    keepPicture(u"plan-gpt3"_s);
    m_page->chooseModel(u"parameters"_s);
    m_page->parameters()->setText(u"none"_s);
    planned();
    EXPECT_TRUE(m_page->parameters()->isVisibleTo(m_page));
    EXPECT_FALSE(m_page->view().problem.isEmpty());
    m_page->parameters()->setText(u"124M"_s);
    planned();
    EXPECT_TRUE(m_page->view().sources.startsWith(u"124,000,000 parameters"_s));
    keepPicture(u"plan-parameters"_s);
    m_page->chooseModel({});
    planned();
    EXPECT_TRUE(m_page->field("model.layers")->isVisibleTo(m_page));
    EXPECT_TRUE(button(u"Start this run…"_s)->isEnabled());
    EXPECT_TRUE(table(u"Time of a step"_s)->isVisibleTo(m_page));
}

TEST_F(PlanPageTest, NothingIsWiderThanItsRoom) {
    m_window->resize(800, 560);
    m_page->chooseDevice(u"H100 SXM"_s);
    planned();
    settle();
    const DataTable* first = table(u"Strategies"_s);
    for (const QWidget* each = first; each != nullptr; each = each->parentWidget())
        if (const auto* area = qobject_cast<const QScrollArea*>(each)) {
            EXPECT_LE(area->widget()->width(), area->viewport()->width());
            break;
        }
    keepPicture(u"plan-narrow"_s);
}

TEST_F(PlanPageTest, StartsWhatItRecommends) {
    m_page->chooseDevice(u"H100 SXM"_s);
    m_page->ranksSlider()->setValue(3);
    planned();
    for (QPushButton* button : m_page->findChildren<QPushButton*>())
        if (button->text().startsWith(u"Start this run"_s)) button->click();
    auto* form = qobject_cast<NewRunPage*>(m_window->page(u"newrun"_s));
    EXPECT_TRUE(form->isVisible());
    EXPECT_EQ(form->config().ranks, 8);
    EXPECT_EQ(form->config().strategy, m_page->view().start.strategy);
    EXPECT_EQ(form->config().device, run::Device::kCuda);
}

}  // namespace
}  // namespace shardscope::desktop
