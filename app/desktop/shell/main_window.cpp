#include "app/desktop/shell/main_window.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/overview_model.h"
#include "app/desktop/models/range_table_model.h"
#include "app/desktop/shell/app_options.h"
#include "app/desktop/shell/key_sheet.h"
#include "app/desktop/shell/rail.h"
#include "app/desktop/shell/status_line.h"
#include "app/desktop/shell/top_bar.h"
#include "app/desktop/views/live/live_page.h"
#include "app/desktop/views/memory/memory_page.h"
#include "app/desktop/views/newrun/new_run_page.h"
#include "app/desktop/views/overview/overview_page.h"
#include "app/desktop/views/start/start_page.h"
#include "app/desktop/views/timeline/timeline_page.h"
#include "app/desktop/views/training/training_page.h"
#include "app/desktop/widgets/style_sheet.h"
#include "app/desktop/widgets/theme.h"

#include <QApplication>
#include <QCloseEvent>
#include <QDateTime>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QMimeData>
#include <QStackedWidget>
#include <QVBoxLayout>

namespace shardscope::desktop {

using namespace Qt::StringLiterals;

MainWindow::MainWindow(const UserFolders& folders, bool remembers, QWidget* parent)
    : QWidget(parent),
      m_folders(folders),
      m_remembers(remembers),
      m_recent(folders.recentFile),
      m_follower(m_session, m_live),
      m_commands(this),
      m_rail(new Rail(this)),
      m_topBar(new TopBar(this)),
      m_status(new StatusLine(this)),
      m_stack(new QStackedWidget(this)) {
    setWindowTitle(tr("Shardscope"));
    setMinimumSize(800, 560);
    setAcceptDrops(true);
    buildPages();
    layOut();
    addCommands();
    connectBars();
    connectLoader();
    connectTimeline();
    connectRun();
    const MachineFacts machine = thisMachine();
    m_status->setFacts(
        tr("%1 cores · %2 memory free").arg(machine.cores).arg(formatBytes(machine.freeMemory)));
    showPage(u"start"_s);
}

MainWindow::~MainWindow() = default;

void MainWindow::buildPages() {
    m_start = new StartPage(m_recent, this);
    m_newRun = new NewRunPage(m_folders.recordings, this);
    m_livePage = new LivePage(m_live, this);
    auto* overview = new OverviewPage(m_selection, this);
    m_timeline = new TimelinePage(m_selection, this);
    m_memory = new MemoryPage(m_selection, this);
    auto* training = new TrainingPage(m_selection, this);
    addPage(u"start"_s, u"start"_s, tr("Start"), m_start);
    addPage(u"newrun"_s, u"newrun"_s, tr("New run"), m_newRun);
    addPage(u"live"_s, u"live"_s, tr("Live"), m_livePage);
    addPage(u"overview"_s, u"overview"_s, tr("Overview"), overview);
    addPage(u"timeline"_s, u"timeline"_s, tr("Timeline"), m_timeline);
    addPage(u"memory"_s, u"memory"_s, tr("Memory"), m_memory);
    addPage(u"training"_s, u"training"_s, tr("Training"), training);
    for (RecordingPage* page :
         std::initializer_list<RecordingPage*>{overview, m_timeline, m_memory, training}) {
        connectRecordingPage(page);
    }
    connect(m_start, &StartPage::openRequested, this, &MainWindow::chooseFile);
    connect(m_start, &StartPage::newRunRequested, this, [this] { showPage(u"newrun"_s); });
    connect(m_start, &StartPage::fileChosen, this, &MainWindow::openFile);
}

void MainWindow::addPage(const QString& id, const QString& icon, const QString& name,
                         QWidget* page) {
    page->setAccessibleName(name);
    m_pages.insert(id, page);
    m_stack->addWidget(page);
    m_rail->addPage(id, icon, name, QString::number(m_stack->count()));
}

void MainWindow::layOut() {
    auto* right = new QVBoxLayout;
    right->setSpacing(0);
    right->addWidget(m_topBar);
    right->addWidget(m_stack, 1);
    right->addWidget(m_status);
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_rail);
    layout->addLayout(right, 1);
}

void MainWindow::connectRecordingPage(RecordingPage* page) {
    m_recordingPages << page;
    page->showEmpty();
    connect(page, &RecordingPage::openRequested, this, &MainWindow::chooseFile);
    connect(page, &RecordingPage::newRunRequested, this, [this] { showPage(u"newrun"_s); });
    connect(page, &RecordingPage::hoverChanged, m_status, &StatusLine::setHover);
    connect(page, &RecordingPage::pageRequested, this,
            [this](const QString& id, const Selection& selection) {
                m_selection.select(selection);
                showPage(id);
            });
}

void MainWindow::addCommands() {
    const QString pages = tr("Pages");
    int number = 1;
    for (const QString& id : pageIds()) {
        const QString name = m_pages.value(id)->accessibleName();
        m_commands.add(u"page."_s + id, pages, name, {QKeySequence(QString::number(number++))},
                       [this, id] { showPage(id); });
    }
    const QString window = tr("Window");
    m_commands.add(u"open"_s, window, tr("Open a recording"), {QKeySequence::Open},
                   [this] { chooseFile(); });
    m_commands.add(u"theme"_s, window, tr("Light or dark"), {QKeySequence(u"Ctrl+T"_s)},
                   [this] { useTheme(!isDark()); });
    m_commands.add(u"back"_s, window, tr("Selection before"), {QKeySequence(u"Alt+Left"_s)},
                   [this] { m_selection.goBack(); });
    m_commands.add(u"forward"_s, window, tr("Selection after"), {QKeySequence(u"Alt+Right"_s)},
                   [this] { m_selection.goForward(); });
    m_commands.add(u"clear"_s, window, tr("Clear the selection"),
                   {QKeySequence(u"Ctrl+Backspace"_s)}, [this] { m_selection.clear(); });
    m_commands.add(u"keys"_s, window, tr("All keys"),
                   {QKeySequence(u"?"_s), QKeySequence(u"Shift+?"_s)},
                   [this] { (new KeySheet(m_commands, this))->show(); });
    m_commands.add(u"palette"_s, window, tr("Find a command"), {QKeySequence(u"Ctrl+Shift+P"_s)},
                   [this] { (new CommandPalette(m_commands, this))->show(); });
    m_commands.add(u"fullscreen"_s, window, tr("Full screen"), {QKeySequence(u"F11"_s)},
                   [this] { setWindowState(windowState() ^ Qt::WindowFullScreen); });
    m_commands.add(u"quit"_s, window, tr("Close"), {QKeySequence::Quit}, [this] { close(); });
    m_commands.add(u"run.stop"_s, tr("Run"), tr("Stop after this step"), {},
                   [this] { m_session.stop(); });
    m_commands.add(u"run.kill"_s, tr("Run"), tr("Kill at once"), {}, [this] { m_session.kill(); });
    addTimelineNotes();
}

void MainWindow::addTimelineNotes() {
    const QString timeline = tr("Timeline");
    m_commands.addNote(timeline, tr("W  S"), tr("zoom in, zoom out"));
    m_commands.addNote(timeline, tr("A  D"), tr("move left, right"));
    m_commands.addNote(timeline, tr("Ctrl+wheel"), tr("zoom at the pointer"));
    m_commands.addNote(timeline, tr("Shift+drag"), tr("move"));
    m_commands.addNote(timeline, tr("drag"), tr("select a range"));
    m_commands.addNote(timeline, tr("F"), tr("whole run"));
    m_commands.addNote(timeline, tr("Z"), tr("zoom to the selection"));
    m_commands.addNote(timeline, tr(".  ,"), tr("next, previous on the lane"));
    m_commands.addNote(timeline, tr("N  Shift+N"), tr("same collective, next or previous rank"));
    m_commands.addNote(timeline, tr("[  ]"), tr("from a kernel to its launch, and back"));
    m_commands.addNote(timeline, tr("M"), tr("mark this moment"));
    m_commands.addNote(timeline, tr("Esc"), tr("let go of slice, range, marks"));
}

void MainWindow::connectBars() {
    connect(m_rail, &Rail::pageChosen, this, &MainWindow::showPage);
    connect(m_topBar, &TopBar::openRequested, this, &MainWindow::chooseFile);
    connect(m_topBar, &TopBar::clearRequested, &m_selection, &SelectionModel::clear);
    connect(m_topBar, &TopBar::backRequested, &m_selection, &SelectionModel::goBack);
    connect(m_topBar, &TopBar::forwardRequested, &m_selection, &SelectionModel::goForward);
    connect(m_topBar, &TopBar::problemsRequested, this, [this] { showPage(u"overview"_s); });
    connect(m_topBar, &TopBar::themeToggled, this, [this] { useTheme(!isDark()); });
    connect(m_topBar, &TopBar::keysRequested, this,
            [this] { m_commands.find(u"keys"_s)->trigger(); });
    connect(&m_selection, &SelectionModel::selectionChanged, this, &MainWindow::presentSelection);
}

void MainWindow::connectLoader() {
    connect(&m_loader, &RecordingLoader::opening, this, [this](const QString& path) {
        for (RecordingPage* page : m_recordingPages) page->showLoading(path);
        m_status->setMessage(tr("Reading %1…").arg(path));
    });
    connect(&m_loader, &RecordingLoader::opened, this, &MainWindow::presentRecording);
    connect(&m_loader, &RecordingLoader::openFailed, this, &MainWindow::presentFailure);
    connect(&m_loader, &RecordingLoader::timelineLoaded, m_timeline, &TimelinePage::showFrame);
    connect(&m_loader, &RecordingLoader::rangeTableLoaded, m_timeline, &TimelinePage::showTable);
    connect(&m_loader, &RecordingLoader::neighbourLoaded, m_timeline, &TimelinePage::showNeighbour);
    connect(&m_loader, &RecordingLoader::linksLoaded, this,
            [this](const LinkQuery& query, const std::vector<LinkedSlice>& links) {
                m_timeline->showLinks(query.key, query.correlation, links);
            });
    connect(&m_loader, &RecordingLoader::memoryLoaded, m_memory, &MemoryPage::showFrame);
    connect(&m_loader, &RecordingLoader::questionFailed, m_status, &StatusLine::setMessage);
    connect(m_memory, &MemoryPage::columnsRequested, &m_loader, &RecordingLoader::requestMemory);
}

void MainWindow::connectTimeline() {
    connect(m_timeline, &TimelinePage::pictureRequested, &m_loader,
            &RecordingLoader::requestTimeline);
    connect(m_timeline, &TimelinePage::tableRequested, &m_loader,
            &RecordingLoader::requestRangeTable);
    connect(m_timeline, &TimelinePage::neighbourRequested, this,
            [this](const LaneAddress& key, const SliceView& from, bool forward) {
                m_loader.requestNeighbour({key, from.range, from.depth, forward});
            });
    connect(m_timeline, &TimelinePage::linksRequested, this,
            [this](const LaneAddress& key, const SliceView& from) {
                m_loader.requestLinks({key, from.range, from.correlation, from.depth});
            });
}

void MainWindow::connectRun() {
    connect(m_newRun, &NewRunPage::startRequested, this, &MainWindow::startRun);
    connect(m_livePage, &LivePage::stopRequested, &m_session, &RecorderSession::stop);
    connect(m_livePage, &LivePage::captureRequested, &m_session, &RecorderSession::capture);
    connect(m_livePage, &LivePage::killRequested, &m_session, &RecorderSession::kill);
    connect(m_livePage, &LivePage::newRunRequested, this, [this] { showPage(u"newrun"_s); });
    connect(m_livePage, &LivePage::openRequested, this, &MainWindow::chooseFile);
    connect(&m_session, &RecorderSession::stateChanged, this,
            [this] { m_newRun->setBusy(m_session.isGoing()); });
    connect(&m_follower, &RunFollower::ended, this,
            [this](const QString& path, const QString& status) {
                if (m_closing) {
                    close();
                    return;
                }
                const bool whole = status == u"finished"_s || status == u"stopped"_s;
                if (path.isEmpty() || !QFileInfo::exists(path)) return;
                const bool watching = m_page == u"live"_s;
                openFile(path);
                // a run that failed stays on its log; one that ended well turns into its Overview
                showPage(watching && !whole ? u"live"_s : u"overview"_s);
            });
}

void MainWindow::openFile(const QString& path) {
    m_start->showProblem({});
    m_loader.open(path);
    if (m_page == u"start"_s || m_page == u"newrun"_s) showPage(u"overview"_s);
}

void MainWindow::showPage(const QString& id) {
    QWidget* page = m_pages.value(id);
    if (page == nullptr) return;
    m_page = id;
    m_stack->setCurrentWidget(page);
    m_rail->setCurrent(id);
    page->setFocus(Qt::OtherFocusReason);  // keys go to the page, not to the first button
    m_status->setHover({});
}

void MainWindow::startRun(const run::RunConfig& config, const QStringList& arguments) {
    if (!config.output.empty()) QDir().mkpath(QFileInfo(fromUtf8(config.output)).absolutePath());
    const QString recorder = m_recorder.isEmpty() ? findRecorder() : m_recorder;
    if (arguments.isEmpty())
        m_session.start(recorder, config);
    else
        m_session.start(recorder, arguments);
    showPage(u"live"_s);
}

bool MainWindow::isDark() const {
    return Theme::of(this).dark;
}

void MainWindow::useTheme(bool dark) {
    const Theme& theme = dark ? Theme::darkTheme() : Theme::light();
    QApplication::setPalette(theme.palette());
    qApp->setStyleSheet(themeStyleSheet(theme));
    Q_EMIT themeChanged(dark);
}

void MainWindow::chooseFile() {
    auto* dialog = new QFileDialog(this, tr("Open a recording"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    dialog->setNameFilters({tr("Recordings (*.sscope)"), tr("All files (*)")});
    connect(dialog, &QFileDialog::fileSelected, this, &MainWindow::openFile);
    dialog->open();
}

void MainWindow::presentRecording(const RecordingPtr& recording) {
    m_selection.reset();
    for (RecordingPage* page : m_recordingPages) page->showRecording(recording);
    m_topBar->setTitle(recording->title(), recording->path);
    const auto& report = recording->report;
    int problems = 0;
    for (const Diagnostic& diagnostic : report.diagnostics)
        problems += diagnostic.severity != Severity::kNote ? 1 : 0;
    // What cannot be told is no problem.
    if (report.completeness.known) problems += static_cast<int>(report.completeness.missing.size());
    m_topBar->setProblems(problems);
    const double perEvent = report.events > 0
                                ? static_cast<double>(recording->summary.fileSize.count) /
                                      static_cast<double>(report.events)
                                : 0;
    m_status->setFacts(tr("%1 events · %2 · %3")
                           .arg(formatCount(static_cast<std::int64_t>(report.events)),
                                ValueText{formatNumber(perEvent), tr("B/event")}.joined(),
                                recording->summary.complete ? tr("complete ✓") : tr("incomplete")));
    m_status->setMessage(recording->path);
    if (m_remembers) m_recent.add(*recording, QDateTime::currentDateTime().toString(Qt::ISODate));
    presentSelection();
}

void MainWindow::presentFailure(const QString& path, const QString& message) {
    for (RecordingPage* page : m_recordingPages) page->showError(message);
    m_topBar->setTitle(tr("Shardscope"), {});
    m_topBar->setSelection({}, false);
    m_topBar->setProblems(0);
    m_status->setFacts({});
    m_status->setMessage(tr("%1 could not be opened").arg(path));
    m_start->showProblem(message);
}

void MainWindow::presentSelection() {
    const RecordingPtr recording = m_loader.recording();
    const Selection& current = m_selection.current();
    m_topBar->setSelection(recording ? selectionText(*recording, current) : QString(),
                           !current.isEverything());
    m_topBar->setHistory(m_selection.canGoBack(), m_selection.canGoForward());
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
    const auto urls = event->mimeData()->urls();
    if (!urls.isEmpty() && urls.first().isLocalFile()) openFile(urls.first().toLocalFile());
}

void MainWindow::closeEvent(QCloseEvent* event) {
    if (!m_session.isGoing()) {
        event->accept();
        return;
    }
    event->ignore();
    if (m_closing) {
        m_session.kill();
        return;
    }
    m_closing = true;
    m_session.stop();
    showPage(u"live"_s);
    m_status->setMessage(
        tr("Stopping the run; the window closes when its recording is finished. Close again to "
           "kill it."));
}

}  // namespace shardscope::desktop
