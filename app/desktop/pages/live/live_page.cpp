#include "app/desktop/pages/live/live_page.h"

#include "app/desktop/models/format.h"
#include "app/desktop/pages/live/rank_table.h"
#include "app/desktop/widgets/chart_panel.h"
#include "app/desktop/widgets/data_table.h"
#include "app/desktop/widgets/page_frame.h"
#include "app/desktop/widgets/plain_layout.h"
#include "app/desktop/widgets/splitter.h"
#include "app/desktop/widgets/states.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"

#include <QComboBox>
#include <QFileInfo>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QSlider>
#include <QStackedWidget>
#include <QStringList>
#include <QTabBar>
#include <QVBoxLayout>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kTickMs = 100;
constexpr int kSilenceMs = 1'000;
/// Of the table of ranks; below it some columns are on hover only.
constexpr int kWideRanks = 700;
/// Of the page; below it the strip of the whole run leaves its place to the charts.
constexpr int kHighPage = 640;

}  // namespace

PageEntry LivePage::entry() {
    return {page_ids::kLive, u"live"_s, tr("Live"),
            [](PageContext& context, QWidget* parent) -> Page* {
                return new LivePage(context, parent);
            }};
}

LivePage::LivePage(PageContext& context, QWidget* parent)
    : Page(parent), m_follower(context.session, m_run) {
    auto* empty = new MessageState(
        entry().icon, tr("This window has started no run"),
        tr("Start one: loss, throughput, memory and time blocked in communication then appear here "
           "while it trains, and its Overview when it has ended. A run that was started elsewhere "
           "is followed on the other pages once its recording is open."),
        this);
    connect(empty->addAction(tr("Start a new run"), true), &QPushButton::clicked, this,
            [this] { Q_EMIT pageRequested(page_ids::kNewRun); });
    connect(empty->addAction(tr("Open a recording…"), false), &QPushButton::clicked, this,
            &LivePage::openRequested);
    m_frame = new PageFrame(buildContent(), empty,
                            {{0, 0, 0.48, 0.3},
                             {0.52, 0, 0.48, 0.3},
                             {0, 0.34, 0.48, 0.3},
                             {0.52, 0.34, 0.48, 0.3},
                             {0, 0.7, 1, 0.28}},
                            false, this);
    buildControls(context);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_frame);
    // many events a second, ten pictures at most
    m_tick.setSingleShot(true);
    m_tick.setInterval(kTickMs);
    connect(&m_tick, &QTimer::timeout, this, &LivePage::refresh);
    connect(&m_run, &LiveRun::changed, this, [this] {
        if (!m_tick.isActive()) m_tick.start();
    });
    m_silence.setInterval(kSilenceMs);
    connect(&m_silence, &QTimer::timeout, this, &LivePage::presentRanks);
    refresh();
}

void LivePage::buildControls(PageContext& context) {
    RecorderSession& session = context.session;
    m_stop = new QPushButton(tr("Stop"), this);
    m_stop->setToolTip(tr("After the current step; the recording is finished properly."));
    m_stop->setAccessibleName(tr("Stop the run after the current step"));
    connect(m_stop, &QPushButton::clicked, &session, &RecorderSession::stop);
    // it is disabled then, and Kill would have the keys
    connect(m_stop, &QPushButton::clicked, this, [this] { m_texts->currentWidget()->setFocus(); });
    m_kill = new QPushButton(tr("Kill"), this);
    m_kill->setProperty("danger", true);
    m_kill->setToolTip(tr("At once; the recording keeps what was received."));
    m_kill->setAccessibleName(tr("Kill the run at once"));
    connect(m_kill, &QPushButton::clicked, this, [this, &session] { askKill(session); });
    m_open = new QPushButton(tr("Timeline so far"), this);
    m_open->setToolTip(
        tr("Overview, Timeline, Memory and Training show the steps so far; they "
           "follow while the run goes on."));
    connect(m_open, &QPushButton::clicked, this, [this, &loader = context.loader] {
        const bool isOpen = loader.recording() && loader.recording()->path == m_run.output();
        if (!isOpen) Q_EMIT fileRequested(m_run.output());
        Q_EMIT pageRequested(page_ids::kTimeline);
    });
    m_capture = new QComboBox(this);
    m_capture->addItem(tr("Capture as started"), QString());
    for (const auto level : {CaptureLevel::kFull, CaptureLevel::kLight, CaptureLevel::kSteps})
        m_capture->addItem(tr("Capture %1").arg(QString::fromLatin1(toWord(level))),
                           QString::fromLatin1(toWord(level)));
    m_capture->setToolTip(
        tr("How much is recorded from the next step on, at most what the run was started with."));
    m_capture->setAccessibleName(tr("How much is recorded from the next step on"));
    connect(m_capture, &QComboBox::activated, &session,
            [this, &session] { session.capture(m_capture->currentData().toString()); });
    m_pause = new QPushButton(tr("Pause capture"), this);
    m_pause->setCheckable(true);
    m_pause->setToolTip(
        tr("Keeps steps and metrics alone from the next step on, until resumed; "
           "the Timeline has no detail of these steps."));
    connect(m_pause, &QPushButton::toggled, this, [this, &session](bool paused) {
        m_pause->setText(paused ? tr("Resume capture") : tr("Pause capture"));
        session.capture(paused ? QString::fromLatin1(toWord(CaptureLevel::kSteps))
                               : m_capture->currentData().toString());
        m_capture->setEnabled(!paused);
    });
    for (QWidget* control : {static_cast<QWidget*>(m_pause), static_cast<QWidget*>(m_open),
                             static_cast<QWidget*>(m_capture), static_cast<QWidget*>(m_stop),
                             static_cast<QWidget*>(m_kill)})
        m_frame->addHeaderWidget(control);
}

QWidget* LivePage::buildContent() {
    auto* content = new QWidget(this);
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kGapGroup);
    layout->addLayout(buildStripControls(content));
    auto* parts = new Splitter(Qt::Vertical, u"live.charts"_s,
                               tr("Divider between the charts and the ranks"), content);
    auto* above = new QWidget(parts);
    auto* charts = plainLayout(above, kGapGroup);
    charts->addLayout(buildCharts(above), 1);
    m_whole = new ChartPanel(above);
    m_whole->setCompact(true);
    m_whole->setToolTip(tr("Loss of the whole run; tinted: what the charts above show of it."));
    charts->addWidget(m_whole);
    auto* lower = new Splitter(Qt::Horizontal, u"live.log"_s,
                               tr("Divider between the ranks and the log"), parts);
    lower->addWidget(plainBlock(buildRanks(content), lower));
    lower->addWidget(plainBlock(buildLog(content), lower));
    lower->setPreferredShares({3, 2});
    parts->setPreferredShares({3, 2});
    layout->addWidget(parts, 1);
    return content;
}

QLayout* LivePage::buildStripControls(QWidget* content) {
    m_window = new QComboBox(content);
    m_window->addItem(tr("last 50 steps"), 50);
    m_window->addItem(tr("last 200 steps"), 200);
    m_window->addItem(tr("whole run so far"), 0);
    m_window->setCurrentIndex(1);
    m_window->setAccessibleName(tr("How many steps the charts show"));
    connect(m_window, &QComboBox::currentIndexChanged, this, [this] { presentStrips(); });
    m_smoothing = new QSlider(Qt::Horizontal, content);
    m_smoothing->setRange(0, 99);
    m_smoothing->setFixedWidth(96);
    m_smoothing->setAccessibleName(tr("Smoothing, 0 to 0.99"));
    connect(m_smoothing, &QSlider::valueChanged, this, [this] { presentStrips(); });
    auto* row = new QHBoxLayout;
    row->setSpacing(kGap);
    row->addWidget(quietLabel(tr("Charts show the"), content));
    row->addWidget(m_window);
    row->addSpacing(kGapGroup);
    row->addWidget(quietLabel(tr("Smoothing"), content));
    row->addWidget(m_smoothing);
    row->addStretch();
    return row;
}

QLayout* LivePage::buildCharts(QWidget* content) {
    auto* grid = new QGridLayout;
    grid->setHorizontalSpacing(32);
    grid->setVerticalSpacing(kGap);
    for (std::size_t i = 0; i < m_charts.size(); ++i) {
        m_charts[i] = new ChartPanel(content);
        grid->addWidget(m_charts[i], static_cast<int>(i) / 2, static_cast<int>(i) % 2);
    }
    titleCharts();
    linkCharts({m_charts.begin(), m_charts.end()});
    return grid;
}

QLayout* LivePage::buildRanks(QWidget* content) {
    auto* column = new QVBoxLayout;
    column->setSpacing(kGap);
    m_ranks = new DataTable(tr("Ranks of the run"), content);
    m_ranks->setMinimumHeight(88);
    connect(m_ranks, &DataTable::rowPicked, this, [this](int row) {
        m_rank->setCurrentIndex(row + 1);  // in the order of the rows
    });
    column->addWidget(sectionLabel(tr("Ranks"), content));
    column->addWidget(m_ranks, 1);
    m_noRanks = quietLabel(tr("No process has said yet which rank it is. Processes that train with "
                              "PyTorch do; of others memory and processor time are shown."),
                           content);
    column->addWidget(m_noRanks, 1, Qt::AlignTop);
    m_hostsTitle = sectionLabel(tr("Hosts"), content);
    m_hosts = quietLabel({}, content);
    column->addWidget(m_hostsTitle);
    column->addWidget(m_hosts);
    return column;
}

QLayout* LivePage::buildLog(QWidget* content) {
    m_level = new QComboBox(content);
    m_level->addItems({tr("all lines"), tr("warnings"), tr("errors")});
    m_level->setItemData(1, tr("Warnings and errors"), Qt::ToolTipRole);
    m_level->setAccessibleName(tr("Which log lines to show"));
    m_rank = new QComboBox(content);
    m_rank->addItem(tr("all ranks"));
    m_rank->setAccessibleName(tr("Log lines of which rank to show"));
    m_words = new QLineEdit(content);
    m_words->setPlaceholderText(tr("Find"));
    m_words->setMaximumWidth(180);
    m_words->setAccessibleName(tr("Find in the log"));
    connect(m_level, &QComboBox::currentIndexChanged, this, &LivePage::refilter);
    connect(m_rank, &QComboBox::currentIndexChanged, this, &LivePage::refilter);
    connect(m_words, &QLineEdit::textChanged, this, &LivePage::refilter);
    m_tabs = new QTabBar(content);
    m_tabs->addTab(tr("Log"));
    m_tabs->addTab(tr("Samples"));
    m_tabs->setDrawBase(false);
    m_tabs->setExpanding(false);
    m_tabs->setAccessibleName(tr("Log of the run, or text that the model wrote"));
    m_logTools = new QWidget(content);
    auto* tools = new QHBoxLayout(m_logTools);
    tools->setContentsMargins(0, 0, 0, 0);
    for (QWidget* control : {static_cast<QWidget*>(m_words), static_cast<QWidget*>(m_rank),
                             static_cast<QWidget*>(m_level)})
        tools->addWidget(control);
    auto* header = new QHBoxLayout;
    header->addWidget(m_tabs);
    header->addStretch();
    header->addWidget(m_logTools);
    m_log = new QPlainTextEdit(content);
    m_log->setReadOnly(true);
    m_log->setMaximumBlockCount(50'000);
    m_log->setUndoRedoEnabled(false);
    m_log->setFont(codeFont(kSmallPixels));
    m_log->setAccessibleName(tr("Log of the run"));
    m_log->setMinimumHeight(72);
    auto* column = new QVBoxLayout;
    column->setSpacing(kGap);
    column->addLayout(header);
    m_texts = new QStackedWidget(content);
    m_texts->addWidget(m_log);
    m_texts->addWidget(buildSamples(content));
    connect(m_tabs, &QTabBar::currentChanged, this, [this](int tab) {
        m_texts->setCurrentIndex(tab);
        m_logTools->setEnabled(tab == 0);
    });
    column->addWidget(m_texts, 1);
    return column;
}

QWidget* LivePage::buildSamples(QWidget* content) {
    auto* page = new QWidget(content);
    m_noSamples =
        quietLabel(tr("The model has written no text yet. It does so after each validation pass if "
                      "samples are enabled: New run, Validation and samples (--sample)."),
                   page);
    m_samples = new QPlainTextEdit(page);
    m_samples->setReadOnly(true);
    m_samples->setUndoRedoEnabled(false);
    m_samples->setFont(codeFont(kSmallPixels));
    m_samples->setAccessibleName(tr("Text that the model wrote"));
    auto* column = new QVBoxLayout(page);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(m_noSamples);
    column->addWidget(m_samples, 1);
    column->addStretch();
    return page;
}

void LivePage::resizeEvent(QResizeEvent* event) {
    Page::resizeEvent(event);
    m_whole->setVisible(height() >= kHighPage && !m_showsProgram);
}

void LivePage::refresh() {
    if (m_run.isEmpty()) {
        m_frame->showState(PageFrame::State::kEmpty);
        m_shownLines = 0;
        m_log->clear();
        return;
    }
    const QString& status = m_run.status();
    const bool starting = status == u"starting"_s;
    const bool going = starting || status == u"running"_s || status == u"stopping"_s;
    showKind();
    m_frame->setHeadline(m_run.headline(), m_run.subline());
    m_frame->showState(PageFrame::State::kFull);
    const bool bad = status == u"failed"_s || status == u"killed"_s;
    m_frame->setBanner(bad ? m_run.message() : QString());
    m_stop->setEnabled(going && status != u"stopping"_s);
    const bool steering = going && status != u"stopping"_s;
    m_pause->setEnabled(steering);
    m_capture->setEnabled(steering && !m_pause->isChecked());
    if (starting) {
        const QSignalBlocker quiet(m_pause);
        m_pause->setChecked(false);
        m_pause->setText(tr("Pause capture"));
        m_capture->setCurrentIndex(0);
    }
    m_kill->setEnabled(going);
    if (!going && m_asksKill) m_asksKill->close();
    m_open->setVisible(going);
    m_open->setEnabled((m_run.hasStep() || m_run.program().is()) &&
                       QFileInfo::exists(m_run.output()));
    m_whole->setEmptyText(emptyStrip());
    if (!m_showsProgram)
        for (ChartPanel* chart : m_charts) chart->setEmptyText(emptyStrip());
    presentStrips();
    if (!going)
        m_silence.stop();
    else if (!m_silence.isActive())
        m_silence.start();
    offerRanks();
    presentRanks();
    showHosts();
    presentLog();
    presentSamples();
}

/// A program's ranks come one by one, in any order.
void LivePage::offerRanks() {
    if (m_rank->count() - 1 == static_cast<int>(m_run.ranks().size())) return;
    const QSignalBlocker quiet(m_rank);
    const QVariant chosen = m_rank->currentData();
    while (m_rank->count() > 1) m_rank->removeItem(1);
    for (const auto& [number, rank] : m_run.ranks())
        m_rank->addItem(tr("rank %1").arg(number), number);
    m_rank->setCurrentIndex(chosen.isValid() ? std::max(0, m_rank->findData(chosen)) : 0);
    if (m_rank->currentData() != chosen) refilter();
}

/// Titles and controls that differ between a training of ours and another program.
void LivePage::showKind() {
    const bool program = m_run.program().is();
    if (program == m_showsProgram) return;
    m_showsProgram = program;
    titleCharts();
    m_ranks->setTable({}, {});  // of other columns
    const QSignalBlocker quiet(m_window);
    const std::array<std::pair<QString, int>, 2> windows =
        program
            ? std::array{std::pair(tr("last minute"), 60), std::pair(tr("last 10 minutes"), 600)}
            : std::array{std::pair(tr("last 50 steps"), 50), std::pair(tr("last 200 steps"), 200)};
    for (int i = 0; i < 2; ++i) {
        m_window->setItemText(i, windows[static_cast<std::size_t>(i)].first);
        m_window->setItemData(i, windows[static_cast<std::size_t>(i)].second);
    }
    m_tabs->setTabVisible(1, !program);
    m_whole->setVisible(!program && height() >= kHighPage);
    m_stop->setToolTip(program ? tr("Sends SIGTERM to the program; the recording is finished "
                                    "properly when it has ended.")
                               : tr("After the current step; the recording is finished properly."));
    m_stop->setAccessibleName(program ? tr("Stop the program")
                                      : tr("Stop the run after the current step"));
}

QString LivePage::emptyStrip() const {
    const QString& status = m_run.status();
    const bool comes = status == u"starting"_s || status == u"running"_s;
    return comes && !m_run.hasStep() ? tr("Appears with the first step.")
                                     : tr("No value was reported.");
}

void LivePage::titleCharts() {
    struct Words {
        QString title, unit, empty;
    };
    const QString none = emptyStrip();
    const std::array<Words, 4> ofTraining{
        {{tr("Loss"), tr("nats"), none},
         {tr("Throughput"), tr("tok/s, all ranks"), none},
         {tr("Memory in use"), tr("MiB, largest rank"), none},
         {tr("Blocked in communication"), tr("% of the step"), none}}};
    const std::array<Words, 4> ofProgram{
        {{tr("Loss as the script reports it"),
          {},
          tr("loss: unknown; call shardscope.metric(\"loss\", value) in the script")},
         {tr("Step time"), tr("ms, slowest rank"),
          tr("steps: unknown so far; call shardscope.step() in the script if none appear")},
         {tr("Memory in use"), tr("MiB resident, all processes"), tr("memory: unknown so far")},
         {tr("Processor"), tr("cores in use, all processes"),
          tr("processor time: unknown so far")}}};
    const auto& words = m_showsProgram ? ofProgram : ofTraining;
    for (std::size_t i = 0; i < m_charts.size(); ++i) {
        m_charts[i]->setTitles(words[i].title, words[i].unit,
                               m_showsProgram ? tr("time, s") : tr("step"));
        m_charts[i]->setEmptyText(words[i].empty);
        m_charts[i]->setWholeNumbers(!m_showsProgram);
        m_charts[i]->setStartsAtZero(i != 0);
    }
}

void LivePage::presentRanks() {
    const bool narrow = m_ranks->width() < kWideRanks;
    RankTable table = m_showsProgram ? programRankTable(m_run.ranks(), narrow)
                                     : rankTable(m_run.ranks(), m_follower.nowMs(), narrow);
    const bool none = m_showsProgram && m_run.ranks().empty();
    m_noRanks->setVisible(none);
    m_ranks->setVisible(!none);
    m_ranks->updateTable(std::move(table.columns), std::move(table.rows));
}

void LivePage::presentSamples() {
    const auto& samples = m_run.samples();
    m_noSamples->setVisible(samples.empty());
    m_samples->setVisible(!samples.empty());
    const int newest = samples.empty() ? -1 : samples.back().step;
    m_tabs->setTabText(1, samples.empty() ? tr("Samples") : tr("Samples (%1)").arg(samples.size()));
    if (newest == m_shownSample) return;
    m_shownSample = newest;
    QStringList texts;
    for (const LiveSample& sample : samples)
        texts.prepend(tr("after step %1\n%2").arg(formatCount(sample.step), sample.text));
    m_samples->setPlainText(texts.join(u"\n\n"_s));
}

void LivePage::showHosts() {
    QStringList lines;
    for (const auto& [number, host] : m_run.hosts()) lines.append(host.text());
    m_hosts->setText(lines.join(u'\n'));
    for (QLabel* label : {m_hostsTitle, m_hosts}) label->setVisible(!lines.isEmpty());
}

/// Over time: what is known of any program has no steps.
void LivePage::presentProgram(double smoothing) {
    const LiveProgram& program = m_run.program();
    m_charts[0]->setSeries(program.lossSeries(smoothing));
    m_charts[1]->setSeries(program.stepTimeSeries(smoothing));
    m_charts[2]->setSeries(program.memorySeries(smoothing));
    m_charts[3]->setSeries(program.processorSeries(smoothing));
    const double wanted = m_window->currentData().toInt();
    const double last = std::max(1.0, program.seconds());
    const double first = wanted > 0 ? std::max(0.0, last - wanted) : 0;
    for (ChartPanel* chart : m_charts) chart->setRange(first, last);
}

void LivePage::presentStrips() {
    const double smoothing = m_smoothing->value() / 100.0;
    if (m_showsProgram) return presentProgram(smoothing);
    m_charts[0]->setSeries(m_run.lossSeries(smoothing));
    m_charts[1]->setSeries(m_run.throughputSeries(smoothing));
    m_charts[2]->setSeries(m_run.memorySeries(smoothing));
    m_charts[3]->setSeries(m_run.blockedSeries(smoothing));
    const int wanted = m_window->currentData().toInt();
    const int last = std::max(1, m_run.stepsDone() - 1);
    const int first = wanted > 0 ? std::max(0, last - wanted + 1) : 0;
    // a strip that is not full yet has its room already, so that it does not stretch
    const int end = wanted > 0 ? std::max(last, std::min(wanted, m_run.steps()) - 1) : last;
    for (ChartPanel* chart : m_charts) chart->setRange(first, std::max(first + 1, end));
    auto whole = m_run.lossSeries();
    whole.pop_back();
    m_whole->setSeries(std::move(whole));
    m_whole->setTitles(tr("Loss of the whole run"), tr("nats"), tr("step"));
    m_whole->setRange(0, std::max(last, m_run.steps() - 1));
    m_whole->setHighlight(AxisRange{static_cast<double>(first), static_cast<double>(last)});
}

void LivePage::askKill(RecorderSession& session) {
    const QString what =
        m_showsProgram
            ? tr("Kill ends all processes of the program now (SIGKILL): what they have not "
                 "written is lost, the recording stays readable.\n\nStop asks the program to "
                 "end (SIGTERM).")
            : tr("Kill ends all ranks now: the step in progress and its events "
                 "are lost, the recording stays readable.\n\nStop ends the run "
                 "after this step and loses nothing.");
    auto* box = new QMessageBox(QMessageBox::NoIcon, tr("Kill the run?"), what,
                                QMessageBox::NoButton, this);
    box->setAttribute(Qt::WA_DeleteOnClose);
    auto* kill = box->addButton(m_showsProgram ? tr("Kill all processes") : tr("Kill all ranks"),
                                QMessageBox::DestructiveRole);
    auto* stop =
        box->addButton(m_showsProgram ? tr("Stop the program") : tr("Stop after this step"),
                       QMessageBox::AcceptRole);
    box->addButton(tr("Let it go on"), QMessageBox::RejectRole);
    box->setDefaultButton(stop);
    connect(kill, &QPushButton::clicked, &session, &RecorderSession::kill);
    connect(stop, &QPushButton::clicked, &session, &RecorderSession::stop);
    m_asksKill = box;
    box->open();
}

void LivePage::refilter() {
    m_filter = {m_level->currentIndex(), {}, m_words->text()};
    if (m_rank->currentIndex() > 0) m_filter.rank = m_rank->currentData().toInt();
    m_shownLines = 0;
    m_log->clear();
    presentLog();
}

void LivePage::presentLog() {
    const auto& log = m_run.log();
    const std::size_t first = m_run.forgottenLines(), end = first + log.size();
    if (m_shownLines > end) {
        m_shownLines = 0;
        m_log->clear();
    }
    for (m_shownLines = std::max(m_shownLines, first); m_shownLines < end; ++m_shownLines) {
        const LiveLogLine& line = log[m_shownLines - first];
        if (!m_filter.passes(line)) continue;
        m_log->appendPlainText(line.level == u"info"_s ? line.text
                                                       : line.level + u": "_s + line.text);
    }
}

}  // namespace shardscope::desktop
