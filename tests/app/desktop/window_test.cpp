#include "app/desktop/models/format.h"
#include "app/desktop/pages/live/live_page.h"
#include "app/desktop/pages/newrun/new_run_page.h"
#include "app/desktop/pages/pages.h"
#include "app/desktop/pages/recording_page.h"
#include "app/desktop/pages/start/recent_list.h"
#include "app/desktop/pages/timeline/canvas/timeline_canvas.h"
#include "app/desktop/pages/timeline/details/slice_panel.h"
#include "app/desktop/pages/timeline/tables/table_panel.h"
#include "app/desktop/pages/timeline/timeline_page.h"
#include "app/desktop/shell/app_options.h"
#include "app/desktop/shell/key_sheet.h"
#include "app/desktop/shell/run_desktop.h"
#include "app/desktop/shell/status_line.h"
#include "app/desktop/widgets/theme.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/read/recording_reader.h"
#include "tests/app/desktop/window_fixture.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <stdio.h>

#include <QAbstractButton>
#include <QAbstractItemView>
#include <QAbstractSpinBox>
#include <QComboBox>
#include <QContextMenuEvent>
#include <QDialog>
#include <QDropEvent>
#include <QHash>
#include <QImage>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QMessageBox>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QScrollBar>
#include <QUrl>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

const QStringList kRecordingPages{u"overview"_s, u"timeline"_s, u"memory"_s, u"training"_s};

const PageFrame& frameOf(const MainWindow& window, const QString& id) {
    return qobject_cast<RecordingPage*>(window.page(id))->frame();
}

int colours(const QImage& image) {
    QSet<QRgb> seen;
    for (int y = 0; y < image.height(); y += 7) {
        for (int x = 0; x < image.width(); x += 7) seen.insert(image.pixel(x, y));
    }
    return static_cast<int>(seen.size());
}

/// Of the message box that is open.
void answerQuestion(const QString& button) {
    auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
    ASSERT_NE(box, nullptr);
    for (QAbstractButton* each : box->buttons())
        if (each->text().remove(u'&') == button) return each->click();
    FAIL() << "no button " << button.toStdString();
}

TEST_F(WindowTest, EveryPageIsEmptyInWordsWithoutARecording) {
    for (const QString& id : kRecordingPages) {
        m_window->showPage(id);
        EXPECT_EQ(frameOf(*m_window, id).state(), PageFrame::State::kEmpty) << id.toStdString();
        EXPECT_FALSE(m_window->grab().isNull());
    }
}

TEST_F(WindowTest, EveryPageShowsTheSampleInBothThemesAndSizes) {
    openSample();
    for (const bool dark : {false, true}) {
        m_window->useTheme(dark);
        for (const QSize size : {QSize(1600, 1000), QSize(1024, 640)}) {
            m_window->resize(size);
            for (const QString& id : pageIds()) {
                m_window->showPage(id);
                settle();
                const QImage picture = m_window->grab().toImage();
                EXPECT_EQ(picture.size(), size);
                EXPECT_GT(colours(picture), 8) << id.toStdString();
            }
        }
    }
    m_window->useTheme(false);
    for (const QString& id : kRecordingPages) {
        EXPECT_EQ(frameOf(*m_window, id).state(), PageFrame::State::kFull);
        EXPECT_FALSE(frameOf(*m_window, id).headline().isEmpty());
    }
}

/// What an event takes on the disk, not only what its compressed bytes are.
TEST_F(WindowTest, TheStatusLineDividesTheFileByItsEvents) {
    openSample();
    const QString path = m_folder.filePath(u"sample.sscope"_s);
    const auto opened = storage::openRecording(path.toStdString());
    const RecordingSummary summary = opened.value()->summary().value();
    const double perEvent =
        static_cast<double>(summary.fileSize.count) / static_cast<double>(summary.events.total());
    QString facts;
    for (const QLabel* label : m_window->findChildren<QLabel*>())
        if (label->accessibleName() == u"Facts of the recording"_s) facts = label->text();
    EXPECT_TRUE(facts.contains(formatNumber(perEvent))) << facts.toStdString();
}

TEST_F(WindowTest, ABrokenFileIsExplainedOnEveryPage) {
    QFile file(m_folder.filePath(u"broken.sscope"_s));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(QByteArray(5000, 'x'));
    file.close();
    QSignalSpy failed(&m_window->loader(), &RecordingLoader::openFailed);
    m_window->openFile(file.fileName());
    ASSERT_TRUE(failed.wait(60'000));
    for (const QString& id : kRecordingPages) {
        EXPECT_EQ(frameOf(*m_window, id).state(), PageFrame::State::kError) << id.toStdString();
        m_window->showPage(id);
        keepPicture(u"error-"_s + id);
    }
}

TEST_F(WindowTest, LoadingShowsTheSkeletonFirst) {
    const QString path = writeSample();
    m_window->openFile(path);
    EXPECT_EQ(frameOf(*m_window, u"overview"_s).state(), PageFrame::State::kLoading);
    settle();
    EXPECT_EQ(frameOf(*m_window, u"overview"_s).state(), PageFrame::State::kFull);
}

TEST_F(WindowTest, AnUnfinishedRecordingCarriesABanner) {
    test::SampleOptions options;
    options.finalise = false;
    openSample(options);
    for (const QString& id : kRecordingPages)
        EXPECT_FALSE(frameOf(*m_window, id).banner().isEmpty());
}

TEST_F(WindowTest, DigitsChangeThePage) {
    for (int i = 0; i < std::min<int>(kPageKeys, static_cast<int>(pageIds().size())); ++i) {
        QTest::keyClick(m_window.get(), static_cast<Qt::Key>(Qt::Key_1 + i));
        EXPECT_EQ(m_window->currentPage(), pageIds()[i]);
    }
}

TEST_F(WindowTest, AltArrowsWalkTheSelections) {
    openSample();
    m_window->selection().selectRange({{0}, {1'000'000'000}});
    QTest::keyClick(m_window.get(), Qt::Key_Left, Qt::AltModifier);
    EXPECT_TRUE(m_window->selection().current().isEverything());
    QTest::keyClick(m_window.get(), Qt::Key_Right, Qt::AltModifier);
    EXPECT_FALSE(m_window->selection().current().isEverything());
    QTest::keyClick(m_window.get(), Qt::Key_Backspace, Qt::ControlModifier);
    EXPECT_TRUE(m_window->selection().current().isEverything());
}

TEST_F(WindowTest, KeySheetPaletteAndOpenDialogComeUp) {
    const auto dialogs = [this] { return m_window->findChildren<QDialog*>().size(); };
    QTest::keyClick(m_window.get(), Qt::Key_Question);
    EXPECT_EQ(dialogs(), 1);
    QTest::keyClick(m_window.get(), Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
    EXPECT_EQ(dialogs(), 2);
    QTest::keyClick(m_window.get(), Qt::Key_O, Qt::ControlModifier);
    EXPECT_EQ(dialogs(), 3);
}

TEST_F(WindowTest, PagesCommandsRunWithoutARecordingAndLeadToTheirPage) {
    const auto run = [this](const QString& words) {
        for (QAction* action : m_window->actions())
            if (action->text() == u"Find a command"_s) action->trigger();
        auto* palette = m_window->findChild<CommandPalette*>();
        ASSERT_NE(palette, nullptr);
        QTest::keyClicks(palette->findChild<QLineEdit*>(), words);
        ASSERT_GE(palette->findChild<QListWidget*>()->count(), 1) << words.toStdString();
        QTest::keyClick(palette->findChild<QLineEdit*>(), Qt::Key_Return);
        delete palette;
    };
    for (const QString& words :
         {u"timeline whole run"_s, u"timeline zoom selection"_s, u"timeline find"_s,
          u"timeline mark"_s, u"timeline: fold all"_s, u"unfold all"_s, u"show hidden"_s,
          u"timeline ruler"_s, u"timeline filter"_s})
        run(words);
    EXPECT_EQ(m_window->currentPage(), u"timeline"_s);
    openSample();
    m_window->showPage(u"overview"_s);
    run(u"timeline: fold all"_s);
    EXPECT_EQ(m_window->currentPage(), u"timeline"_s);
}

// Files are listed anew whenever a recording was opened, be it while a row's menu is open.
TEST_F(WindowTest, TheMenuOfARecentFileOutlivesItsRow) {
    RecentList list;
    RecentFile file;
    file.path = u"/none/run.sscope"_s;
    list.setFiles({file});
    list.show();
    QSignalSpy removed(&list, &RecentList::removeRequested);
    QContextMenuEvent click(QContextMenuEvent::Mouse, {5, 5}, {5, 5});
    QApplication::sendEvent(list.findChild<QAbstractButton*>(), &click);
    auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    ASSERT_NE(menu, nullptr);
    list.setFiles({});
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    ASSERT_EQ(menu->actions().size(), 2);
    QSignalSpy compared(&list, &RecentList::compareRequested);
    menu->actions().front()->trigger();
    EXPECT_EQ(compared.size(), 1);
    menu->actions().back()->trigger();
    menu->close();
    ASSERT_EQ(removed.size(), 1);
    EXPECT_EQ(removed.front().front().toString(), u"/none/run.sscope"_s);
}

TEST_F(WindowTest, CtrlTSwitchesTheTheme) {
    m_window->useTheme(false);
    QTest::keyClick(m_window.get(), Qt::Key_T, Qt::ControlModifier);
    EXPECT_TRUE(m_window->isDark());
    QTest::keyClick(m_window.get(), Qt::Key_T, Qt::ControlModifier);
    EXPECT_FALSE(m_window->isDark());
}

/// Qt restyles a widget once for each widget that it is in.
TEST_F(WindowTest, AThemeRestylesEachWidgetOnce) {
    openSample();
    for (const auto id : {page_ids::kNewRun, page_ids::kMemory, page_ids::kOverview}) {
        m_window->showPage(id);
        settle();
    }
    m_window->useTheme(false);
    QTest::qWait(1);
    const QImage before = m_window->grab().toImage();
    class Restyled : public QObject {
    public:
        QHash<QObject*, int> times;
        bool eventFilter(QObject* watched, QEvent* event) override {
            if (event->type() == QEvent::StyleChange) ++times[watched];
            return QObject::eventFilter(watched, event);
        }
    } restyled;
    qApp->installEventFilter(&restyled);
    m_window->useTheme(true);
    qApp->removeEventFilter(&restyled);
    EXPECT_GT(restyled.times.size(), 500);
    for (auto at = restyled.times.cbegin(); at != restyled.times.cend(); ++at)
        ASSERT_EQ(at.value(), 1) << at.key()->metaObject()->className();
    QTest::qWait(1);
    EXPECT_NE(m_window->grab().toImage(), before);
    m_window->useTheme(false);
    QTest::qWait(1);
    EXPECT_EQ(m_window->grab().toImage(), before) << "nothing of the other theme stays";
}

TEST_F(WindowTest, ADroppedFileIsOpened) {
    const QString path = writeSample();
    QSignalSpy opened(&m_window->loader(), &RecordingLoader::opened);
    QMimeData data;
    data.setUrls({QUrl::fromLocalFile(path)});
    QDragEnterEvent enter(QPoint(100, 100), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(m_window.get(), &enter);
    EXPECT_TRUE(enter.isAccepted());
    QDropEvent drop(QPointF(100, 100), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(m_window.get(), &drop);
    ASSERT_TRUE(opened.wait(60'000));
    EXPECT_EQ(m_window->currentPage(), u"overview"_s);
}

TEST_F(WindowTest, EveryControlHasAName) {
    openSample();
    const auto widgets = m_window->findChildren<QWidget*>();
    for (const QWidget* widget : widgets) {
        const auto* button = qobject_cast<const QAbstractButton*>(widget);
        const bool isControl = button != nullptr ||
                               qobject_cast<const QLineEdit*>(widget) != nullptr ||
                               qobject_cast<const QAbstractSpinBox*>(widget) != nullptr ||
                               qobject_cast<const QComboBox*>(widget) != nullptr ||
                               qobject_cast<const QPlainTextEdit*>(widget) != nullptr ||
                               qobject_cast<const QAbstractItemView*>(widget) != nullptr ||
                               qobject_cast<const TimelineCanvas*>(widget) != nullptr;
        if (!isControl || widget->objectName().startsWith(u"qt_"_s)) continue;
        if (widget->parentWidget()->inherits("QComboBoxPrivateContainer") ||
            widget->inherits("QTableCornerButton") || widget->inherits("QHeaderView") ||
            widget->parentWidget()->inherits("QTableView")) {
            continue;
        }
        const bool named =
            !widget->accessibleName().isEmpty() || (button != nullptr && !button->text().isEmpty());
        EXPECT_TRUE(named) << widget->metaObject()->className() << " in "
                           << widget->parentWidget()->metaObject()->className();
    }
}

TEST_F(WindowTest, TheRunFormFollowsWhatIsTyped) {
    auto* page = qobject_cast<NewRunPage*>(m_window->page(u"newrun"_s));
    run::RunConfig config = page->config();
    config.model.name = "custom";
    config.model.hidden = 385;
    page->setConfig(config);
    EXPECT_FALSE(page->prediction().problem.isEmpty());
    config.model.hidden = 192;
    config.ranks = 3;
    config.data = "some folder";
    page->setConfig(config);
    EXPECT_TRUE(page->prediction().problem.isEmpty());
    EXPECT_TRUE(page->prediction().commandLine.contains(u"--ranks 3"_s));
    EXPECT_EQ(page->config().model.hidden, 192);
    EXPECT_EQ(page->config().data, "some folder");
}

TEST_F(WindowTest, AFinishedRunTurnsIntoItsOverview) {
    const QString output = writeSample();
    m_window->setRecorder(QStringLiteral(SHARDSCOPE_FAKE_RECORDER));
    run::RunConfig config;
    config.data = "steps";
    config.output = output.toStdString();
    QSignalSpy opened(&m_window->loader(), &RecordingLoader::opened);
    m_window->startRun(config);
    EXPECT_EQ(m_window->currentPage(), u"live"_s);
    ASSERT_TRUE(opened.wait(60'000));
    EXPECT_EQ(m_window->currentPage(), u"overview"_s);
    auto* live = qobject_cast<LivePage*>(m_window->page(u"live"_s));
    live->refresh();
    EXPECT_TRUE(live->frame().headline().contains(u"5 of 5 steps done"_s))
        << live->frame().headline().toStdString();
}

#ifdef SHARDSCOPE_RECORDER
TEST_F(WindowTest, TrainsWithTheRealRecorderAndShowsTheOverview) {
    m_window->setRecorder(QStringLiteral(SHARDSCOPE_RECORDER));
    m_window->resize(1600, 1000);
    run::RunConfig config;
    config.model = {"small test", 256, 32, 2, 2, 32};
    config.batch = 2;
    config.steps = 6;
    config.calibrate = false;
    config.output = m_folder.filePath(u"real.sscope"_s).toStdString();
    m_window->startRun(config);
    // Not when the recording opens first, which is while the run goes.
    ASSERT_TRUE(QTest::qWaitFor([&] { return m_window->currentPage() == u"overview"_s; }, 60'000));
    auto* live = qobject_cast<LivePage*>(m_window->page(u"live"_s));
    live->refresh();
    EXPECT_TRUE(live->frame().headline().contains(u"6 of 6 steps done"_s))
        << live->frame().headline().toStdString();
    keepPicture(u"real-run"_s);
}
#endif

TEST_F(WindowTest, LiveFollowsARunWhileItGoes) {
    m_window->setRecorder(QStringLiteral(SHARDSCOPE_FAKE_RECORDER));
    m_window->resize(1600, 1000);
    run::RunConfig config;
    config.data = "endless";
    config.output = m_folder.filePath(u"never.sscope"_s).toStdString();
    m_window->startRun(config);
    auto* live = qobject_cast<LivePage*>(m_window->page(u"live"_s));
    ASSERT_TRUE(
        QTest::qWaitFor([&] { return live->frame().headline().startsWith(u"12"_s); }, 60'000));
    EXPECT_EQ(live->frame().state(), PageFrame::State::kFull);
    keepPicture(u"live"_s);
    m_window->session().kill();
    ASSERT_TRUE(QTest::qWaitFor([this] { return !m_window->session().isGoing(); }, 60'000));
    live->refresh();
    EXPECT_FALSE(live->frame().banner().isEmpty());
    keepPicture(u"live-killed"_s);
}

TEST_F(WindowTest, LanesHaveTheRoomUntilSomethingIsSelected) {
    m_window->resize(1440, 900);
    openSample();
    m_window->showPage(page_ids::kTimeline);
    settle();
    auto& page = *qobject_cast<TimelinePage*>(m_window->page(page_ids::kTimeline));
    EXPECT_TRUE(page.tables().isFolded());
    EXPECT_TRUE(page.panel().isHidden());
    EXPECT_EQ(page.canvas().verticalScrollBar()->maximum(), 0) << "two ranks are whole";
    keepPicture(u"timeline-room"_s);
    const int folded = page.canvas().height();
    QTest::keyClick(&page.canvas(), Qt::Key_B);
    settle();
    EXPECT_FALSE(page.tables().isFolded());
    EXPECT_LT(page.canvas().height(), folded);
    QTest::keyClick(&page.canvas(), Qt::Key_B);
    EXPECT_TRUE(page.tables().isFolded());
    QTest::keyClick(&page.canvas(), Qt::Key_Period);
    settle();
    EXPECT_TRUE(page.panel().isVisible()) << "an event has details";
    QTest::keyClick(&page.canvas(), Qt::Key_Escape);
    EXPECT_TRUE(page.panel().isHidden());
}

TEST_F(WindowTest, AStepIsSelectedByKeysAndStandsAmongTheOthers) {
    m_window->resize(1440, 900);
    openSample();
    m_window->showPage(page_ids::kOverview);
    settle();
    m_window->commands().find(u"step.faster"_s)->trigger();
    settle();
    ASSERT_TRUE(m_window->selection().current().steps);
    const StepIndex slowest = m_window->selection().current().steps->first;
    keepPicture(u"overview-step"_s);
    m_window->commands().find(u"step.slower"_s)->trigger();
    EXPECT_EQ(m_window->selection().current().steps->first, slowest) << "there is no slower one";
    // the slowest of the sample is its last, which validates
    m_window->commands().find(u"step.previous"_s)->trigger();
    settle();
    EXPECT_NE(m_window->selection().current().steps->first, slowest);
}

class ClosingTest : public WindowTest {
protected:
    /// Until it is closed.
    void startEndless() {
        m_window->setRecorder(QStringLiteral(SHARDSCOPE_FAKE_RECORDER));
        run::RunConfig config;
        config.data = "endless";
        config.output = m_folder.filePath(u"never.sscope"_s).toStdString();
        m_window->startRun(config);
        ASSERT_TRUE(QTest::qWaitFor(
            [this] { return m_window->session().state() == RecorderSession::State::kRunning; },
            60'000));
    }
};

TEST_F(ClosingTest, ClosingStopsTheRunFirst) {
    ASSERT_NO_FATAL_FAILURE(startEndless());
    m_window->close();
    EXPECT_TRUE(m_window->isVisible());
    answerQuestion(u"Cancel"_s);
    EXPECT_TRUE(m_window->session().isGoing()) << "nothing was chosen";
    m_window->close();
    answerQuestion(u"Stop the run"_s);
    ASSERT_TRUE(QTest::qWaitFor([this] { return !m_window->isVisible(); }, 60'000));
    EXPECT_FALSE(m_window->session().isGoing());
}

TEST_F(ClosingTest, ClosingCanLetTheRunGoOn) {
    ASSERT_NO_FATAL_FAILURE(startEndless());
    const auto pid = static_cast<pid_t>(m_window->session().processId());
    m_window->close();
    answerQuestion(u"Let it go on"_s);
    EXPECT_FALSE(m_window->isVisible());
    m_window.reset();
    EXPECT_EQ(::kill(pid, 0), 0) << "it goes on";
    ::kill(pid, SIGKILL);
}

TEST_F(WindowTest, AScreenshotWaitsForThePageAndIsWritten) {
    const QString path = writeSample();
    const QString picture = m_folder.filePath(u"out.png"_s);
    m_window->openFile(path);
    m_window->showPage(u"timeline"_s);
    ScreenshotJob job(
        *m_window, [picture](MainWindow& window) { return writeWindow(window, picture, false); });
    QSignalSpy done(&job, &ScreenshotJob::done);
    job.start();
    ASSERT_TRUE(done.wait(60'000));
    EXPECT_EQ(done.front().front().toInt(), 0);
    EXPECT_GT(colours(QImage(picture)), 8);
}

TEST(AppOptions, RefuseWhatTheyDoNotKnow) {
    const auto parse = [](const QStringList& words) {
        return parseOptions(QStringList{u"shardscope-desktop"_s} + words);
    };
    EXPECT_EQ(parse({u"--page"_s, u"nowhere"_s}).error().code, ErrorCode::kUsage);
    EXPECT_EQ(parse({u"--size"_s, u"big"_s}).error().code, ErrorCode::kUsage);
    EXPECT_EQ(parse({u"--theme"_s, u"pink"_s}).error().code, ErrorCode::kUsage);
    EXPECT_EQ(parse({u"--bogus"_s}).error().code, ErrorCode::kUsage);
    EXPECT_EQ(parse({u"a"_s, u"ssh://host/b"_s}).error().code, ErrorCode::kUsage);
    EXPECT_EQ(parse({u"--screenshot"_s, u"x.svg"_s}).error().code, ErrorCode::kUsage);
    EXPECT_EQ(parse({u"a.json"_s, u"b.json"_s})->value().files.size(), 2);
    const auto good = parse({u"a.sscope"_s, u"--page"_s, u"memory"_s, u"--size"_s, u"1600x1000"_s,
                             u"--theme"_s, u"dark"_s});
    ASSERT_TRUE(good && good->has_value());
    EXPECT_EQ((*good)->size, QSize(1600, 1000));
    EXPECT_FALSE((*good)->force);
    EXPECT_TRUE((*parse({u"a.sscope"_s, u"-f"_s}))->force);
    EXPECT_EQ((*good)->dark, true);
}

TEST_F(WindowTest, AFileThatIsRemovedWhileItIsOpenIsSaidOnce) {
    openSample();
    const QString path = m_window->loader().recording()->path;
    const auto* bar = m_window->findChild<ConnectionBar*>();
    QSignalSpy gone(&m_window->loader(), &RecordingLoader::fileGone);
    ASSERT_TRUE(QFile::remove(path));
    ASSERT_TRUE(gone.wait(60'000));
    EXPECT_EQ(
        bar->text(),
        u"sample.sscope is no longer there; what is shown stays until the window is closed."_s);
    for (const QAbstractButton* each : bar->findChildren<QAbstractButton*>())
        EXPECT_EQ(each->isVisible(), each->text() == u"Dismiss"_s) << each->text().toStdString();
    keepPicture(u"file-gone"_s);
    QTest::keyClick(m_window.get(), Qt::Key_Escape);
    m_window->showPage(page_ids::kTimeline);
    settle();
    EXPECT_TRUE(bar->text().isEmpty()) << "pages read on in the file that was opened";
    EXPECT_EQ(frameOf(*m_window, u"timeline"_s).state(), PageFrame::State::kFull);
    EXPECT_EQ(gone.size(), 1);
}

TEST_F(WindowTest, AnotherFileAtTheSamePlaceCanBeOpened) {
    openSample();
    const QString path = m_window->loader().recording()->path;
    const QString next = m_folder.filePath(u"next.sscope"_s);
    ASSERT_TRUE(test::writeSampleRecording(next.toStdString(), {.blocks = 6}));
    QSignalSpy gone(&m_window->loader(), &RecordingLoader::fileGone);
    ASSERT_EQ(::rename(next.toLocal8Bit().constData(), path.toLocal8Bit().constData()), 0);
    ASSERT_TRUE(gone.wait(60'000));
    EXPECT_TRUE(gone[0][1].toBool());
    const auto* bar = m_window->findChild<ConnectionBar*>();
    EXPECT_TRUE(bar->text().startsWith(u"Another file is now at the place of sample.sscope"_s))
        << bar->text().toStdString();
    QSignalSpy opened(&m_window->loader(), &RecordingLoader::opened);
    for (QAbstractButton* each : bar->findChildren<QAbstractButton*>())
        if (each->text() == u"Open the new one"_s) each->click();
    ASSERT_TRUE(opened.wait(60'000));
    settle();
    EXPECT_TRUE(bar->text().isEmpty());
    EXPECT_EQ(m_window->loader().recording()->path, path);
}

/// Whatever has the focus, as its close button says.
TEST_F(WindowTest, EscapeTakesTheMessageAway) {
    openSample();
    auto* bar = m_window->findChild<ConnectionBar*>();
    for (const auto id : {page_ids::kOverview, page_ids::kProblems}) {
        const QString page(id);
        m_window->showPage(page);
        settle();
        bar->showLoss(u"the host is gone"_s, u"Reconnect"_s);
        QTest::keyClick(m_window->page(page), Qt::Key_Escape);
        EXPECT_TRUE(bar->text().isEmpty()) << page.toStdString();
    }
    bar->showLoss(u"the host is gone"_s, u"Reconnect"_s);
    QTest::keyClick(bar, Qt::Key_Escape);
    EXPECT_TRUE(bar->text().isEmpty());
}

}  // namespace
}  // namespace shardscope::desktop
