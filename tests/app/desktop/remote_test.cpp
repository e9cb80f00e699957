// Recordings of other hosts in the window. A script stands for what connects: it serves files of
// this machine.
#include "app/desktop/loading/file_saver.h"
#include "app/desktop/pages/recording_page.h"
#include "app/desktop/pages/start/recent_list.h"
#include "app/desktop/shell/remote_dialog.h"
#include "app/desktop/shell/status_line.h"
#include "storage/model/step_facts.h"
#include "tests/app/desktop/growing_recording.h"
#include "tests/app/desktop/window_fixture.h"

#include <gmock/gmock.h>

#include <QDir>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <csignal>
#include <utility>
#include <vector>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

class RemoteWindow : public WindowTest {
protected:
    void SetUp() override {
        WindowTest::SetUp();
        connectBy("echo $$ > '" + filePath("pid") +
                  "'; exec '" SHARDSCOPE_RECORDER "' serve --stdio");
    }
    std::string filePath(const char* name) const {
        return m_folder.filePath(QString::fromLatin1(name)).toStdString();
    }
    /// What stands for the program: these lines of sh.
    void connectBy(const std::string& lines) {
        const QString program = m_folder.filePath(u"connect"_s);
        QFile file(program);
        ASSERT_TRUE(file.open(QIODevice::WriteOnly | QIODevice::Truncate));
        file.write(QByteArray::fromStdString("#!/bin/sh\n" + lines + "\n"));
        file.close();
        ASSERT_TRUE(file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner));
        m_window->setRecorder(program);
    }
    static QString addressOf(const QString& path) { return u"ssh://node1"_s + path; }
    void openThere(const QString& path) {
        QSignalSpy opened(&m_window->loader(), &RecordingLoader::opened);
        m_window->openFile(addressOf(path));
        ASSERT_TRUE(opened.wait(10'000)) << bar().text().toStdString();
        settle();
    }
    const ConnectionBar& bar() { return *m_window->findChild<ConnectionBar*>(); }
    const PageFrame& frame(const QString& id) {
        return qobject_cast<RecordingPage*>(m_window->page(id))->frame();
    }
    void endConnection() {
        QFile file(QString::fromStdString(filePath("pid")));
        ASSERT_TRUE(file.open(QIODevice::ReadOnly));
        const pid_t pid = file.readAll().trimmed().toInt();
        ASSERT_GT(pid, 0);
        ASSERT_EQ(::kill(pid, SIGKILL), 0);
    }
    RemoteDialog* openDialog(const QString& address) {
        auto* dialog = new RemoteDialog(m_window->loader(), address, m_window.get());
        QObject::connect(dialog, &RemoteDialog::chosen, m_window.get(), &MainWindow::openFile);
        dialog->show();
        return dialog;
    }
};

TEST_F(RemoteWindow, ShowsARecordingOfAnotherHostOnEveryPage) {
    const QString path = writeSample();
    openThere(path);
    for (const bool dark : {false, true}) {
        m_window->useTheme(dark);
        for (const char* id : {"overview", "timeline", "memory", "training"}) {
            m_window->showPage(QString::fromLatin1(id));
            settle();
            EXPECT_EQ(frame(QString::fromLatin1(id)).state(), PageFrame::State::kFull);
            keepPicture(
                u"remote_%1_%2"_s.arg(QString::fromLatin1(id), dark ? u"dark"_s : u"light"_s));
        }
    }
    m_window->useTheme(false);
    EXPECT_EQ(m_window->loader().recording()->path, addressOf(path));
    const RecentFiles recent(m_folder.filePath(u"state/recent.json"_s));
    ASSERT_FALSE(recent.files().empty());
    EXPECT_EQ(recent.files().front().path, addressOf(path));
}

TEST_F(RemoteWindow, ALostConnectionSaysSoAndComesBack) {
    openThere(writeSample());
    m_window->showPage(u"timeline"_s);
    settle();
    EXPECT_EQ(bar().text(), QString());
    endConnection();
    QSignalSpy lost(&m_window->loader(), &RecordingLoader::connectionLost);
    m_window->resize(1100, 700);  // asks for another picture
    ASSERT_TRUE(lost.wait(10'000));
    EXPECT_TRUE(bar().text().contains(u"the connection to node1 was lost"_s))
        << bar().text().toStdString();
    EXPECT_EQ(frame(u"timeline"_s).state(), PageFrame::State::kFull) << "what was there stays";
    for (const bool dark : {false, true}) {
        m_window->useTheme(dark);
        keepPicture(u"remote_lost_%1"_s.arg(dark ? u"dark"_s : u"light"_s));
    }
    m_window->useTheme(false);
    QSignalSpy opened(&m_window->loader(), &RecordingLoader::opened);
    QTest::mouseClick(bar().findChild<QPushButton*>(), Qt::LeftButton);
    ASSERT_TRUE(opened.wait(10'000));
    settle();
    EXPECT_EQ(bar().text(), QString());
}

TEST_F(RemoteWindow, AHostThatCannotBeHadIsASentence) {
    connectBy("echo 'shardscope: node1 refused the login' >&2; exit 4");
    QSignalSpy failed(&m_window->loader(), &RecordingLoader::openFailed);
    m_window->openFile(addressOf(u"/run.sscope"_s));
    ASSERT_TRUE(failed.wait(10'000));
    EXPECT_TRUE(bar().text().contains(u"node1 refused the login"_s)) << bar().text().toStdString();
    EXPECT_EQ(bar().findChild<QPushButton*>()->text(), u"Try again"_s);
    // A file of this machine is opened as ever.
    openSample();
    EXPECT_EQ(bar().text(), QString());
}

TEST_F(RemoteWindow, ClosesWhileItConnects) {
    connectBy("exec sleep 600");
    m_window->openFile(addressOf(u"/run.sscope"_s));
    QTest::qWait(50);
    m_window.reset();
}

TEST_F(RemoteWindow, AnotherFileIsOpenedWhileItConnects) {
    connectBy("exec sleep 600");
    m_window->openFile(addressOf(u"/run.sscope"_s));
    QTest::qWait(50);
    openSample();
    EXPECT_TRUE(m_window->loader().recording()->path.endsWith(u"sample.sscope"_s));
}

TEST_F(RemoteWindow, IsSavedFromWhereItLies) {
    const QString path = writeSample();
    openThere(path);
    Selection selection;
    selection.steps = StepSpan{{2}, {4}};
    const auto offersOf = [&](const RecordingPtr& recording) {
        return recordingOffers(recording, selection, m_window->loader().access());
    };
    const RecordingPtr far = m_window->loader().recording();
    auto near = std::make_shared<OpenRecording>(*far);
    near->path = path;
    const auto theirs = offersOf(far), ours = offersOf(near);
    ASSERT_EQ(theirs.size(), ours.size());
    EXPECT_EQ(savedName(far), u"sample"_s);
    EXPECT_EQ(savedFolder(far), QDir::homePath());
    const auto bytesOf = [&](const SaveOffer& offer, const QString& name) {
        const QString to = m_folder.filePath(name + u'.' + offer.ending);
        const auto account = offer.job(to)({[](double) { return true; }, {}});
        EXPECT_TRUE(account) << offer.name.toStdString() << ": " << account.error().message;
        QFile file(to);
        EXPECT_TRUE(file.open(QIODevice::ReadOnly)) << to.toStdString();
        return file.readAll();
    };
    for (std::size_t i = 0; i < ours.size(); ++i)
        for (const QString& name :
             {u"Perfetto trace"_s, u"Collectives (CSV)"_s, u"Folded stacks"_s})
            if (ours[i].name == name) {
                EXPECT_TRUE(bytesOf(theirs[i], u"far"_s) == bytesOf(ours[i], u"near"_s))
                    << name.toStdString();
            }
}

TEST_F(RemoteWindow, WhatCannotBeReachedIsNotSavedAndSaysSo) {
    openThere(writeSample());
    connectBy("echo nobody is here >&2; exit 1");
    const auto offers =
        recordingOffers(m_window->loader().recording(), {}, m_window->loader().access());
    for (const SaveOffer& offer : offers) {
        if (offer.name != u"Perfetto trace"_s) continue;
        const QString to = m_folder.filePath(u"x.pftrace"_s);
        const auto account = offer.job(to)({[](double) { return true; }, {}});
        ASSERT_FALSE(account);
        EXPECT_NE(account.error().message.find("node1"), std::string::npos)
            << account.error().message;
        EXPECT_FALSE(QFile::exists(to));
    }
}

TEST_F(RemoteWindow, TheDialogListsCompletesAndChooses) {
    const QString path = writeSample();
    ASSERT_TRUE(QDir(m_folder.path()).mkpath(u"samples of mine"_s));
    const QString folder = addressOf(m_folder.path()) + u'/';
    RemoteDialog* dialog = openDialog(folder);
    auto* list = dialog->findChild<QListWidget*>();
    auto* address = dialog->findChild<QLineEdit*>();
    ASSERT_TRUE(QTest::qWaitFor([&] { return list->count() == 2; }, 10'000));
    EXPECT_EQ(list->item(0)->text(), u"samples of mine/"_s);
    EXPECT_TRUE(list->item(1)->text().startsWith(u"sample.sscope"_s));
    for (const bool dark : {false, true}) {
        m_window->useTheme(dark);
        const QString pictures = qEnvironmentVariable("SHARDSCOPE_TEST_PICTURES");
        if (!pictures.isEmpty())
            dialog->grab().save(pictures +
                                u"/remote_dialog_%1.png"_s.arg(dark ? u"dark"_s : u"light"_s));
    }
    m_window->useTheme(false);
    QTest::keyClicks(address, u"sa"_s);
    QTest::keyClick(address, Qt::Key_Tab);
    EXPECT_EQ(address->text(), folder + u"sample"_s) << "as far as all that match agree";
    QTest::keyClicks(address, u"."_s);
    EXPECT_EQ(list->count(), 1);
    QTest::keyClick(address, Qt::Key_Tab);
    EXPECT_EQ(address->text(), addressOf(path));
    QSignalSpy opened(&m_window->loader(), &RecordingLoader::opened);
    QTest::keyClick(address, Qt::Key_Return);
    ASSERT_TRUE(opened.wait(10'000));
    EXPECT_EQ(m_window->loader().recording()->path, addressOf(path));
}

TEST_F(RemoteWindow, TheDialogSaysWhyAFolderCannotBeListed) {
    RemoteDialog* dialog = openDialog(addressOf(m_folder.filePath(u"none/"_s)));
    const auto says = [&](const QString& words) {
        const auto labels = dialog->findChildren<QLabel*>();
        return std::any_of(labels.begin(), labels.end(),
                           [&](const QLabel* label) { return label->text().contains(words); });
    };
    EXPECT_TRUE(QTest::qWaitFor([&] { return says(u"cannot be listed"_s); }, 10'000));
    dialog->findChild<QLineEdit*>()->setText(u"ssh://a b/"_s);
    EXPECT_TRUE(QTest::qWaitFor([&] { return says(u"names no host"_s); }, 10'000));
}

/// Of this machine or another: a recording is read again as it grows, and where one looks stays.
class RecordingThatGrows : public RemoteWindow, public testing::WithParamInterface<bool> {};

TEST_P(RecordingThatGrows, IsFollowedUntilItIsComplete) {
    const QString path = m_folder.filePath(u"growing.sscope"_s);
    GrowingRecording growing(path.toStdString());
    QSignalSpy opened(&m_window->loader(), &RecordingLoader::opened);
    m_window->openFile(GetParam() ? addressOf(path) : path);
    ASSERT_TRUE(opened.wait(10'000));
    settle();
    EXPECT_EQ(m_window->loader().recording()->summary.events.spans, 1'000u);
    EXPECT_TRUE(m_window->loader().recording()->isRunning());
    EXPECT_TRUE(m_window->loader().recording()->report.running);
    EXPECT_TRUE(frame(u"overview"_s).banner().contains(u"still recording"_s));
    const TimeRange range{{1'000}, {200'000}};
    m_window->selection().selectRange(range);
    QSignalSpy grown(&m_window->loader(), &RecordingLoader::grown);
    growing.write();
    ASSERT_TRUE(grown.wait(20'000));
    EXPECT_EQ(m_window->loader().recording()->summary.events.spans, 2'000u);
    EXPECT_TRUE(m_window->loader().recording()->isRunning());
    EXPECT_EQ(m_window->selection().current().range, range);
    EXPECT_EQ(frame(u"overview"_s).state(), PageFrame::State::kFull);
    growing.finish();
    ASSERT_TRUE(grown.wait(20'000));
    EXPECT_TRUE(m_window->loader().recording()->summary.complete);
    EXPECT_FALSE(m_window->loader().recording()->isRunning());
}

INSTANTIATE_TEST_SUITE_P(Places, RecordingThatGrows, testing::Values(false, true),
                         [](const auto& place) {
                             return std::string(place.param ? "OfAnotherHost" : "OfThisMachine");
                         });

}  // namespace
}  // namespace shardscope::desktop
