#include "app/desktop/pages/live/live_page.h"

#include "app/desktop/models/format.h"
#include "app/desktop/pages/live/rank_rows.h"
#include "app/desktop/widgets/chart_panel.h"
#include "app/desktop/widgets/page_frame.h"
#include "app/desktop/widgets/states.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"

#include <QComboBox>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollBar>
#include <QStringList>
#include <QVBoxLayout>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kTickMs = 100;

bool passes(const LiveLogLine& line, int filter) {
    if (filter == 0) return true;
    if (filter == 1) return line.level != u"info"_s;
    return line.level == u"error"_s;
}

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
        entry().icon, tr("No run is going"),
        tr("Start one: loss, throughput, memory and time blocked in communication then appear here "
           "while it trains, and its Overview when it has ended."),
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
    buildControls(context.session);
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
    refresh();
}

void LivePage::buildControls(RecorderSession& session) {
    m_stop = new QPushButton(tr("Stop"), this);
    m_stop->setToolTip(tr("After the current step; the recording is finished properly."));
    m_stop->setAccessibleName(tr("Stop the run after the current step"));
    connect(m_stop, &QPushButton::clicked, &session, &RecorderSession::stop);
    m_kill = new QPushButton(tr("Kill"), this);
    m_kill->setProperty("danger", true);
    m_kill->setToolTip(tr("At once; the recording keeps what was received."));
    m_kill->setAccessibleName(tr("Kill the run at once"));
    connect(m_kill, &QPushButton::clicked, &session, &RecorderSession::kill);
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
    for (QWidget* control : {static_cast<QWidget*>(m_capture), static_cast<QWidget*>(m_stop),
                             static_cast<QWidget*>(m_kill)})
        m_frame->addHeaderWidget(control);
}

QWidget* LivePage::buildContent() {
    auto* content = new QWidget(this);
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kGapGroup);
    layout->addLayout(buildCharts(content), 3);
    auto* lower = new QHBoxLayout;
    lower->setSpacing(32);
    lower->addLayout(buildRanks(content), 1);
    lower->addLayout(buildLog(content), 3);
    layout->addLayout(lower, 2);
    return content;
}

QLayout* LivePage::buildCharts(QWidget* content) {
    auto* grid = new QGridLayout;
    grid->setHorizontalSpacing(32);
    grid->setVerticalSpacing(kGap);
    const std::array<std::pair<QString, QString>, 4> titles{
        {{tr("Loss"), tr("nats")},
         {tr("Throughput"), tr("tok/s, all ranks")},
         {tr("Memory in use"), tr("MiB, largest rank")},
         {tr("Blocked in communication"), tr("% of the step")}}};
    for (std::size_t i = 0; i < m_charts.size(); ++i) {
        m_charts[i] = new ChartPanel(content);
        m_charts[i]->setTitles(titles[i].first, titles[i].second, tr("step"));
        m_charts[i]->setStartsAtZero(i != 0);
        grid->addWidget(m_charts[i], static_cast<int>(i) / 2, static_cast<int>(i) % 2);
    }
    linkCharts({m_charts.begin(), m_charts.end()});
    return grid;
}

QLayout* LivePage::buildRanks(QWidget* content) {
    auto* column = new QVBoxLayout;
    column->setSpacing(kGap);
    m_ranks = new RankRows(content);
    column->addWidget(sectionLabel(tr("Ranks"), content));
    column->addWidget(m_ranks);
    m_hostsTitle = sectionLabel(tr("Hosts"), content);
    m_hosts = quietLabel({}, content);
    m_hosts->setTextFormat(Qt::PlainText);
    column->addWidget(m_hostsTitle);
    column->addWidget(m_hosts);
    column->addStretch();
    return column;
}

QLayout* LivePage::buildLog(QWidget* content) {
    m_filter = new QComboBox(content);
    m_filter->addItems({tr("everything"), tr("warnings and errors"), tr("errors")});
    m_filter->setAccessibleName(tr("Which log lines to show"));
    connect(m_filter, &QComboBox::currentIndexChanged, this, [this] {
        m_shownLines = 0;
        m_log->clear();
        presentLog();
    });
    auto* header = new QHBoxLayout;
    header->addWidget(sectionLabel(tr("Log"), content));
    header->addStretch();
    header->addWidget(m_filter);
    m_log = new QPlainTextEdit(content);
    m_log->setReadOnly(true);
    m_log->setFont(codeFont(kSmallPixels));
    m_log->setAccessibleName(tr("Log of the run"));
    m_log->setMinimumHeight(96);
    auto* column = new QVBoxLayout;
    column->setSpacing(kGap);
    column->addLayout(header);
    column->addWidget(m_log, 1);
    return column;
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
    m_frame->setHeadline(m_run.headline(), m_run.subline());
    m_frame->showState(PageFrame::State::kFull);
    const bool bad = status == u"failed"_s || status == u"killed"_s;
    m_frame->setBanner(bad ? m_run.message() : QString());
    m_stop->setEnabled(going && status != u"stopping"_s);
    m_capture->setEnabled(going && status != u"stopping"_s);
    if (starting) m_capture->setCurrentIndex(0);
    m_kill->setEnabled(going);
    m_charts[0]->setSeries(m_run.lossSeries());
    m_charts[1]->setSeries(m_run.throughputSeries());
    m_charts[2]->setSeries(m_run.memorySeries());
    m_charts[3]->setSeries(m_run.blockedSeries());
    for (ChartPanel* chart : m_charts)
        chart->setRange(0, std::max({1, m_run.steps() - 1, m_run.stepsDone() - 1}));
    m_ranks->setRanks(m_run.ranks());
    showHosts();
    presentLog();
}

void LivePage::showHosts() {
    QStringList lines;
    for (const auto& [number, host] : m_run.hosts()) lines.append(host.text());
    m_hosts->setText(lines.join(u'\n'));
    for (QLabel* label : {m_hostsTitle, m_hosts}) label->setVisible(!lines.isEmpty());
}

void LivePage::presentLog() {
    const auto& log = m_run.log();
    if (m_shownLines > log.size()) {
        m_shownLines = 0;
        m_log->clear();
    }
    for (; m_shownLines < log.size(); ++m_shownLines) {
        const LiveLogLine& line = log[m_shownLines];
        if (!passes(line, m_filter->currentIndex())) continue;
        m_log->appendPlainText(line.level == u"info"_s ? line.text
                                                       : line.level + u": "_s + line.text);
    }
}

}  // namespace shardscope::desktop
