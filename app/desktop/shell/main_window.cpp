#include "app/desktop/shell/main_window.h"

#include "app/desktop/loading/import_cache.h"
#include "app/desktop/models/format.h"
#include "app/desktop/models/machine_facts.h"
#include "app/desktop/models/recording_texts.h"
#include "app/desktop/pages/pages.h"
#include "app/desktop/shell/commands.h"
#include "app/desktop/shell/key_sheet.h"
#include "app/desktop/shell/rail.h"
#include "app/desktop/shell/remote_dialog.h"
#include "app/desktop/shell/status_line.h"
#include "app/desktop/shell/top_bar.h"
#include "app/desktop/widgets/reading_order.h"
#include "app/desktop/widgets/theme.h"
#include "profiler/analysis/rules/notices.h"
#include "storage/recording/remote/remote_address.h"

#include <QApplication>
#include <QCloseEvent>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QMenu>
#include <QMimeData>
#include <QScreen>
#include <QUrl>
#include <QVBoxLayout>
#include <algorithm>

namespace shardscope::desktop {

using namespace Qt::StringLiterals;

MainWindow::MainWindow(const UserFolders& folders, bool remembers, QWidget* parent)
    : QWidget(parent),
      m_part(m_loader, m_selection),
      m_runOpening(m_session, m_loader),
      m_ending(m_session, m_loader, this),
      m_context{m_loader,           m_selection, m_part,
                m_session,          m_compared,  folders.recordings,
                folders.recentFile, remembers,   remembers ? folders.settingsFile : QString()},
      m_commands(this),
      m_views(m_loader, m_selection, m_context.settingsFile,
              [this](const QString& id) {
                  const Page* found = page(id);
                  return found != nullptr ? found->accessibleName() : QString();
              }),
      m_area(new PageArea(this)),
      m_layouts(*m_area, m_commands, m_context.settingsFile),
      m_rail(new Rail(this)),
      m_topBar(new TopBar(this)),
      m_status(new StatusLine(this)),
      m_connection(new ConnectionBar(this)),
      m_export(m_loader, m_selection, this) {
    setWindowTitle(tr("Shardscope"));
    // a small screen, or a large scale factor, has less
    setMinimumSize(QSize(800, 560).boundedTo(screen()->availableSize()));
    setAcceptDrops(true);
    buildPages();
    layOut();
    addPageCommands();
    addWindowCommands();
    m_views.addCommands(m_commands);
    m_layouts.addCommands();
    addKeyNotes();
    new DigitKeys(m_commands, this);
    connectBars();
    connectLoader();
    connectViews();
    connectArea();
    connectExport();
    giveAccess();
    m_loader.setImportFolder(folders.imports.isEmpty() ? folders.recordings + u"/imports"_s
                                                       : folders.imports);
    // after the pages, so that Live has said how it ended
    connect(&m_session, &RecorderSession::finished, this, &MainWindow::endRun);
    connect(&m_session, &RecorderSession::stateChanged, this, &MainWindow::presentSession);
    connect(&m_runOpening, &RunOpening::startingChanged, this, &MainWindow::presentStart);
    connect(&m_ending, &RunEnding::reported, m_status, &StatusLine::setMessage);
    connect(&m_ending, &RunEnding::stopChosen, this, &MainWindow::stopAndClose);
    connect(&m_ending, &RunEnding::letGo, this, &QWidget::close);
    presentSession();
    const MachineFacts machine = thisMachine();
    m_facts =
        tr("%1 cores · %2 memory free").arg(machine.cores).arg(formatBytes(machine.freeMemory));
    showPage(page_ids::kStart);
}

MainWindow::~MainWindow() = default;

void MainWindow::buildPages() {
    for (const PageEntry& entry : allPages()) addPage(entry);
}

void MainWindow::addPage(const PageEntry& entry) {
    Page* page = entry.make(m_context, this);
    page->setAccessibleName(entry.name);
    m_area->addPage(entry.id, entry.name, page);
    const int number = m_rail->pageCount() + 1;
    m_rail->addPage(entry.id, entry.icon, entry.name,
                    number <= kPageKeys ? QString::number(number) : QString());
    connect(page, &Page::openRequested, this, &MainWindow::chooseFile);
    connect(page, &Page::remoteRequested, this, &MainWindow::chooseRemote);
    connect(page, &Page::folderRequested, this, &MainWindow::chooseFolder);
    connect(page, &Page::exportRequested, this,
            [this, page, id = entry.id] { m_export.open(*page, id); });
    connect(page, &Page::fileRequested, this, &MainWindow::openFile);
    connect(page, &Page::pageRequested, this, &MainWindow::showPage);
    connect(page, &Page::pointRequested, this, [this](const QString& id, const Pointed& pointed) {
        this->page(id)->pointAt(pointed);
    });
    connect(page, &Page::fillInRequested, this,
            [this](const QString& id, const run::RunConfig& config) {
                this->page(id)->fillIn(config);
                showPage(id);
            });
    connect(page, &Page::runRequested, this, &MainWindow::startRun);
    connect(page, &Page::continueRequested, &m_views, &ViewKeeper::goOn);
    connect(page, &Page::hoverChanged, m_status, &StatusLine::setHover);
}

void MainWindow::layOut() {
    auto* right = new QVBoxLayout;
    right->setSpacing(0);
    right->addWidget(m_topBar);
    right->addWidget(m_connection);
    right->addWidget(m_area, 1);
    right->addWidget(m_status);
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_rail);
    layout->addLayout(right, 1);
}

void MainWindow::addPageCommands() {
    int number = 1;
    for (const PageEntry& entry : allPages()) {
        QList<QKeySequence> keys;
        if (number <= kPageKeys) keys << QKeySequence(QString::number(number++));
        m_commands.add(u"page."_s + entry.id, tr("Pages"), entry.name, keys,
                       [this, id = entry.id] { showPage(id); });
    }
}

void MainWindow::addKeyNotes() {
    for (const PageEntry& entry : allPages())
        for (const Page::KeyNote& note : page(entry.id)->keyNotes()) {
            std::function<void()> run;
            if (note.run)
                run = [this, id = entry.id, run = note.run] {
                    showPage(id);
                    run();
                };
            m_commands.addNote(entry.name, note.keys, note.name, std::move(run));
        }
}

void MainWindow::addWindowCommands() {
    const QString window = tr("Window");
    m_commands.add(u"open"_s, window, tr("Open a recording or traces"), {QKeySequence::Open},
                   [this] { chooseFile(); });
    m_commands.add(u"open.folder"_s, window, tr("Import a folder of traces"), {},
                   [this] { chooseFolder(); });
    m_commands.add(u"open.remote"_s, window, tr("Open a recording on another host"),
                   {QKeySequence(u"Ctrl+Shift+O"_s)}, [this] { chooseRemote(); });
    m_commands.add(u"export"_s, window, tr("Save what is shown, or the recording"),
                   {QKeySequence(u"Ctrl+E"_s)}, [this] { exportShown(); });
    m_commands.add(u"theme"_s, window, tr("Light or dark"), {QKeySequence(u"Ctrl+T"_s)},
                   [this] { useTheme(!isDark()); });
    m_commands.add(u"back"_s, window, tr("Page or selection before"), {QKeySequence(u"Alt+Left"_s)},
                   [this] { m_selection.goBack(); });
    m_commands.add(u"forward"_s, window, tr("Page or selection after"),
                   {QKeySequence(u"Alt+Right"_s)}, [this] { m_selection.goForward(); });
    m_commands.add(u"clear"_s, window, tr("Clear the selection"),
                   {QKeySequence(u"Ctrl+Backspace"_s)}, [this] { m_selection.clear(); });
    addStepCommands();
    m_commands.add(u"keys"_s, window, tr("All keys"),
                   {QKeySequence(u"?"_s), QKeySequence(u"Shift+?"_s), QKeySequence::HelpContents},
                   [this] { (new KeySheet(m_commands, this))->show(); });
    m_commands.add(u"menu"_s, window, tr("Menu of all commands"), {QKeySequence(u"F10"_s)},
                   [this] { showMenu(); });
    m_commands.add(u"palette"_s, window, tr("Find a command"), {QKeySequence(u"Ctrl+Shift+P"_s)},
                   [this] { (new CommandPalette(m_commands, this))->show(); });
    m_commands.add(u"fullscreen"_s, window, tr("Full screen"), {QKeySequence(u"F11"_s)},
                   [this] { setWindowState(windowState() ^ Qt::WindowFullScreen); });
    m_commands.add(u"quit"_s, window, tr("Close"), {QKeySequence::Quit}, [this] { close(); });
    m_commands.add(u"run.stop"_s, tr("Run"), tr("Stop after this step"), {},
                   [this] { m_ending.end(u"stop"_s); });
    m_commands.add(u"run.kill"_s, tr("Run"), tr("Kill at once"), {},
                   [this] { m_ending.end(u"kill"_s); });
}

void MainWindow::addStepCommands() {
    const auto add = [this](const char* id, const QString& name, const char* key, StepWalk walk,
                            const QString& none) {
        m_commands.add(QString::fromLatin1(id), tr("Steps"), name,
                       {QKeySequence(QString::fromLatin1(key))},
                       [this, walk, none] { walkSteps(walk, none); });
    };
    add("step.next", tr("Next step"), "Ctrl+PgDown", StepWalk::kNext, tr("This is the last step"));
    add("step.previous", tr("Previous step"), "Ctrl+PgUp", StepWalk::kPrevious,
        tr("This is the first step"));
    add("step.faster", tr("Slowest step, then the next slowest"), "Ctrl+Shift+PgDown",
        StepWalk::kFaster, tr("This is the fastest step"));
    add("step.slower", tr("Next slower step"), "Ctrl+Shift+PgUp", StepWalk::kSlower,
        tr("This is the slowest step"));
}

void MainWindow::walkSteps(StepWalk walk, const QString& none) {
    const RecordingPtr recording = m_loader.recording();
    if (!recording || recording->summary.steps.empty())
        return m_status->setMessage(tr("No steps are recorded"));
    if (!recording->analysed) return;
    const auto step = recording->stepBeside(m_selection.current(), walk);
    if (!step) return m_status->setMessage(none);
    m_selection.selectSteps({*step, *step});
}

void MainWindow::connectBars() {
    connect(m_rail, &Rail::pageChosen, this, &MainWindow::showPage);
    connect(m_topBar, &TopBar::openRequested, this, &MainWindow::chooseFile);
    connect(m_topBar, &TopBar::clearRequested, &m_selection, &SelectionModel::clear);
    connect(m_topBar, &TopBar::backRequested, &m_selection, &SelectionModel::goBack);
    connect(m_topBar, &TopBar::forwardRequested, &m_selection, &SelectionModel::goForward);
    connect(m_topBar, &TopBar::problemsRequested, this, [this] { showPage(page_ids::kProblems); });
    connect(m_topBar, &TopBar::themeToggled, this, [this] { useTheme(!isDark()); });
    connect(m_topBar, &TopBar::menuRequested, this, &MainWindow::showMenu);
    connect(m_topBar, &TopBar::keysRequested, this,
            [this] { m_commands.find(u"keys"_s)->trigger(); });
    connect(&m_selection, &SelectionModel::selectionChanged, this, &MainWindow::presentSelection);
    connect(&m_selection, &SelectionModel::pageChanged, this, [this] {
        presentPage(m_selection.view().page);
        presentSelection();
    });
}

void MainWindow::connectLoader() {
    connect(&m_loader, &RecordingLoader::opening, this, [this](const QString& path) {
        m_connection->hide();
        m_status->setMessage(tr("Reading %1…").arg(QString(path).replace(u'\n', u", "_s)));
    });
    connect(&m_loader, &RecordingLoader::opened, this, &MainWindow::presentRecording);
    connect(&m_loader, &RecordingLoader::opened, &m_layouts, &LayoutKeeper::takeUpLast);
    connect(&m_loader, &RecordingLoader::sketched, this, [this](const RecordingPtr& sketch) {
        if (!sketch->isImporting()) m_status->setJob({}, 0);
        m_connection->hide();  // the one before may have said meanwhile that it is lost
        m_selection.reset();
        nameRecording(sketch->label(), sketch->address());
        m_status->setMessage(tr("Reading phases and collectives of %1…").arg(sketch->path));
    });
    connect(&m_loader, &RecordingLoader::shifted, &m_selection, &SelectionModel::shift);
    connect(&m_loader, &RecordingLoader::closed, this, &MainWindow::presentNothing);
    connect(&m_loader, &RecordingLoader::grown, this, &MainWindow::presentRecording);
    connect(&m_loader, &RecordingLoader::connecting, m_status, &StatusLine::setMessage);
    connect(&m_loader, &RecordingLoader::connectionLost, this,
            [this](const QString& path, const QString& message) {
                presentLoss(path, message, tr("Reconnect"));
            });
    connect(&m_loader, &RecordingLoader::fileGone, this, &MainWindow::presentGone);
    connect(m_connection, &ConnectionBar::reconnectRequested, this,
            [this] { openFile(QString(m_lost)); });
    connect(&m_loader, &RecordingLoader::openFailed, this, &MainWindow::presentFailure);
    connect(&m_loader, &RecordingLoader::importing, this,
            [this](double share) { m_status->setJob(tr("Importing"), share); });
    connect(m_status, &StatusLine::cancelRequested, &m_loader, &RecordingLoader::cancelOpening);
    connect(&m_loader, &RecordingLoader::openCancelled, this, [this] {
        m_status->setJob({}, 0);
        m_status->setMessage(tr("Cancelled; nothing was imported"));
    });
    connect(&m_loader, &RecordingLoader::questionFailed, m_status, &StatusLine::setMessage);
}

void MainWindow::connectViews() {
    connect(&m_views, &ViewKeeper::reported, m_status, &StatusLine::setMessage);
    connect(&m_views, &ViewKeeper::fileWanted, this, &MainWindow::openFile);
    connect(&m_views, &ViewKeeper::pageWanted, this, &MainWindow::showPage);
}

void MainWindow::presentSession() {
    for (const QString& id : {u"run.stop"_s, u"run.kill"_s})
        m_commands.find(id)->setEnabled(m_ending.canEnd());
}

void MainWindow::endRun(const run::RunFinished& outcome) {
    if (m_closing) {
        if (!m_export.saver().isGoing()) close();
        return;
    }
    const QString path = fromUtf8(outcome.output);
    if (path.isEmpty() || !QFileInfo::exists(path)) return;
    const bool whole = outcome.status == "finished" || outcome.status == "stopped";
    const bool watching = currentPage() == page_ids::kLive;
    if (!watching && m_runOpening.isLeftAlone()) {
        // what the user has opened meanwhile stays
        m_status->setMessage(tr("The run has ended; its recording is %1").arg(path));
        return;
    }
    if (!watching && m_loader.recording() && m_loader.recording()->path == path) {
        m_loader.lookNow();  // page and selection stay
        return;
    }
    openFile(path);
    // a run that failed stays on its log; one that ended well turns into its Overview
    showPage(watching && !whole ? page_ids::kLive : page_ids::kOverview);
}

void MainWindow::openFile(const QString& path) {
    openFiles(path.split(u'\n'));
}

void MainWindow::openFiles(const QStringList& paths) {
    m_runOpening.userOpens(paths.join(u'\n'));
    m_loader.open(paths);
    if (currentPage() == page_ids::kStart || currentPage() == page_ids::kNewRun)
        showPage(page_ids::kOverview);
}

void MainWindow::showPage(const QString& id) {
    if (page(id) == nullptr) return;
    const bool isNew = m_selection.view().page != id;
    m_selection.visit(id);
    if (!isNew || currentPage() != id) presentPage(id);
}

void MainWindow::presentPage(const QString& id) {
    m_area->showPage(id);
    presentCurrent(id);
    m_status->setHover({});
}

void MainWindow::presentCurrent(const QString& id) {
    m_selection.turnTo(id);
    m_rail->setCurrent(id);
    presentTitle();
    const QStringList seen = m_area->seen();
    m_loader.setWatched(id != page_ids::kLive || seen.size() > 1);
}

void MainWindow::connectArea() {
    connect(m_area, &PageArea::currentChanged, this, &MainWindow::presentCurrent);
    connect(m_area, &PageArea::moved, this, [this] {
        m_rail->setApart(m_area->apart());
        if (!currentPage().isEmpty()) presentCurrent(currentPage());
    });
    connect(m_rail, &Rail::placesRequested, &m_layouts, &LayoutKeeper::showPlaces);
    connect(&m_layouts, &LayoutKeeper::reported, m_status, &StatusLine::setMessage);
}

void MainWindow::showMenu() {
    QMenu* menu = commandMenu(m_commands, this);
    menu->popup(m_topBar->menuCorner(menu->sizeHint()));
}

bool MainWindow::isIdle() const {
    const QStringList seen = m_area->seen();
    return m_loader.isIdle() && std::none_of(seen.begin(), seen.end(), [this](const QString& id) {
               return page(id)->isReading();
           });
}

void MainWindow::setRecorder(const QString& program) {
    m_recorder = program;
    m_ending.setRecorder(program);
    giveAccess();
}

void MainWindow::setSshCommand(const QString& command) {
    m_sshCommand = command;
    giveAccess();
}

void MainWindow::giveAccess() {
    const QString program = m_recorder.isEmpty() ? findRecorder() : m_recorder;
    m_loader.setAccess({program.toStdString(), m_sshCommand.toStdString()});
}

void MainWindow::startRun(const run::RunConfig& config, const QStringList& arguments) {
    if (!config.output.empty()) QDir().mkpath(QFileInfo(fromUtf8(config.output)).absolutePath());
    const QString recorder = m_recorder.isEmpty() ? findRecorder() : m_recorder;
    if (!m_session.isGoing()) m_runOpening.starts(titleOf(config, arguments));
    if (arguments.isEmpty())
        m_session.start(recorder, config);
    else
        m_session.start(recorder, arguments, fromUtf8(config.output));
    showPage(page_ids::kLive);
}

bool MainWindow::isDark() const {
    return Theme::of(this).dark;
}

void MainWindow::useTheme(bool dark) {
    applyTheme(dark ? Theme::darkTheme() : Theme::light());
    Q_EMIT themeChanged(dark);
}

/// Escape is the message's where no widget wants it.
void MainWindow::keyPressEvent(QKeyEvent* event) {
    if (event->key() != Qt::Key_Escape || !m_connection->isVisible())
        return QWidget::keyPressEvent(event);
    m_connection->hide();
}

void MainWindow::chooseFile() {
    auto* dialog = new QFileDialog(this, tr("Open a recording"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFiles);
    dialog->setNameFilters(
        {tr("Recordings and traces (%1)").arg(openableEndings()), tr("All files (*)")});
    connect(dialog, &QFileDialog::filesSelected, this, &MainWindow::openFiles);
    dialog->open();
}

void MainWindow::exportShown() {
    m_export.open(*page(currentPage()), currentPage());
}

void MainWindow::connectExport() {
    FileSaver& saver = m_export.saver();
    connect(&saver, &FileSaver::progressed, this,
            [this](double share) { m_status->setSaving(tr("Saving"), share); });
    connect(&saver, &FileSaver::ended, this, [this](const QStringList& lines) {
        m_status->setOutcome(lines);
        if (m_export.saver().isGoing()) return;
        m_status->setSaving({}, 0);
        if (m_closing && !m_session.isGoing()) close();
    });
    connect(m_status, &StatusLine::cancelSavingRequested, &saver, &FileSaver::cancel);
}

void MainWindow::chooseFolder() {
    auto* dialog = new QFileDialog(this, tr("Import a folder with one trace per rank"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::Directory);
    dialog->setOption(QFileDialog::ShowDirsOnly);
    connect(dialog, &QFileDialog::fileSelected, this, &MainWindow::openFile);
    dialog->open();
}

void MainWindow::chooseRemote() {
    const RecordingPtr recording = m_loader.recording();
    QString address;
    if (recording && storage::remote::isRemote(recording->path.toStdString()))
        address = recording->path.left(recording->path.lastIndexOf(u'/') + 1);
    auto* dialog = new RemoteDialog(m_loader, address, this);
    connect(dialog, &RemoteDialog::chosen, this, &MainWindow::openFile);
    dialog->open();
}

void MainWindow::presentRecording(const RecordingPtr& recording) {
    if (!m_loader.isImporting()) m_status->setJob({}, 0);
    m_problems = analysis::problemCount(analysis::notices(recording->report));
    m_facts = factsOf(*recording);
    nameRecording(recording->label(), recording->address());
    presentSession();
    presentStart();
}

QString MainWindow::factsOf(const OpenRecording& recording) {
    const auto events = static_cast<std::int64_t>(recording.report.events);
    QStringList facts{tr("%1 events").arg(formatCount(events))};
    if (events > 0)
        facts << ValueText{formatNumber(static_cast<double>(recording.summary.fileSize.count) /
                                        static_cast<double>(events)),
                           tr("B/event")}
                     .joined();
    facts << completenessWord(recording);
    return facts.join(u" · "_s);
}

void MainWindow::presentStart() {
    const QString& starting = m_runOpening.starting();
    const QString open = QString(m_address).replace(u'\n', u", "_s);
    m_status->setMessage(starting.isEmpty() ? open : tr("Starting %1…").arg(starting));
    presentTitle();
    presentSelection();
}

void MainWindow::presentLoss(const QString& path, const QString& message, const QString& action) {
    m_lost = path;
    m_connection->showLoss(message, action);
    m_status->setMessage(tr("%1 can no longer be read").arg(path));
}

/// The pages read on in the file that was opened.
void MainWindow::presentGone(const QString& path, bool replaced) {
    const QString name = QFileInfo(path).fileName();
    m_lost = path;
    if (replaced)
        m_connection->showLoss(tr("Another file is now at the place of %1; what is shown is of the "
                                  "file that was opened, and stays until the window is closed.")
                                   .arg(name),
                               tr("Open the new one"));
    else
        m_connection->showLoss(
            tr("%1 is no longer there; what is shown stays until the window is closed.").arg(name),
            {});
}

void MainWindow::presentFailure(const QString& path, const QString& message) {
    if (!m_loader.isImporting()) m_status->setJob({}, 0);
    const QString name = QString(path).replace(u'\n', u", "_s);
    if (storage::remote::isRemote(path.toStdString())) presentLoss(path, message, tr("Try again"));
    if (m_loader.recording()) {
        // what is open stays open
        if (!storage::remote::isRemote(path.toStdString()))
            presentLoss(path, message, tr("Try again"));
        m_status->setMessage(
            tr("%1 could not be opened; the previous recording stays open").arg(name));
        return;
    }
    presentNothing(true);
    m_status->setMessage(tr("%1 could not be opened").arg(name));
}

void MainWindow::presentNothing(bool somethingComes) {
    m_selection.reset();
    m_problems = 0;
    m_facts.clear();
    nameRecording({}, {});
    m_topBar->setSelection({}, false);
    presentSession();
    const bool stays = currentPage() == page_ids::kNewRun || currentPage() == page_ids::kLive;
    if (!somethingComes && !stays) showPage(page_ids::kStart);
}

void MainWindow::nameRecording(const QString& name, const QString& address) {
    m_name = name;
    m_address = address;
    m_area->setRecordingName(name);
    presentTitle();
}

bool MainWindow::showsStart() const {
    return currentPage() == page_ids::kLive && !m_runOpening.starting().isEmpty();
}

void MainWindow::presentTitle() {
    const bool starts = showsStart();
    const QString title = starts ? tr("Starting %1").arg(m_runOpening.starting()) : m_name;
    m_topBar->setTitle(title.isEmpty() ? tr("Shardscope") : title, starts ? QString() : m_address);
    m_topBar->setProblems(starts ? 0 : m_problems);
    m_status->setFacts(starts ? QString() : m_facts);
    setWindowTitle(title.isEmpty() ? tr("Shardscope") : tr("%1 – Shardscope").arg(title));
}

void MainWindow::presentSelection() {
    const RecordingPtr recording = showsStart() ? nullptr : m_loader.recording();
    const Selection& current = m_selection.current();
    m_topBar->setSelection(recording ? selectionText(*recording, current) : QString(),
                           !current.isEverything());
    m_topBar->setHistory(m_selection.canGoBack(), m_selection.canGoForward());
    m_commands.find(u"back"_s)->setEnabled(m_selection.canGoBack());
    m_commands.find(u"forward"_s)->setEnabled(m_selection.canGoForward());
    m_commands.find(u"clear"_s)->setEnabled(!current.isEverything());
}

bool MainWindow::focusNextPrevChild(bool next) {
    return moveFocus(*this, next);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
    QStringList paths;
    for (const QUrl& url : event->mimeData()->urls()) {
        if (url.isLocalFile())
            paths << url.toLocalFile();
        else if (storage::remote::isRemote(url.toString().toStdString()))
            return openFile(url.toString());
    }
    if (!paths.isEmpty()) openFiles(paths);
}

void MainWindow::closeEvent(QCloseEvent* event) {
    const bool runs = m_session.isGoing();
    if (!runs && (m_closing || !m_export.saver().isGoing())) {
        m_views.keepLast();
        m_layouts.keepLast();
        m_area->hideWindows();
        event->accept();
        return;
    }
    event->ignore();
    if (m_closing) {
        m_session.kill();
        return;
    }
    if (runs) return m_ending.askBeforeClosing();
    m_closing = true;
    m_status->setMessage(tr("The window closes when the file is saved. Close again to cancel it."));
}

void MainWindow::stopAndClose() {
    if (!m_session.isGoing()) {  // it has ended meanwhile
        close();
        return;
    }
    m_closing = true;
    m_session.stop();
    showPage(page_ids::kLive);
    m_status->setMessage(
        tr("Stopping the run; the window closes when its recording is finished. Close again to "
           "kill it."));
}

}  // namespace shardscope::desktop
