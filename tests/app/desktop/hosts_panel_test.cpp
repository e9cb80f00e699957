// Hosts on the New run page: where they can be chosen from, and what is found of them.
#include "app/desktop/pages/newrun/hosts_panel.h"

#include "app/desktop/models/format.h"
#include "app/desktop/pages/live/live_run.h"
#include "app/desktop/pages/newrun/new_run_page.h"
#include "app/desktop/pages/newrun/ssh_config.h"
#include "app/desktop/pages/run_fields/bound_field.h"
#include "app/desktop/pages/run_fields/fold_section.h"
#include "app/desktop/session/recorder_session.h"
#include "storage/model/host_facts.h"
#include "tests/app/desktop/window_fixture.h"

#include <gmock/gmock.h>

#include <QAction>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QScrollArea>
#include <QTemporaryDir>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using testing::ElementsAre;
using testing::IsEmpty;

class SshConfig : public testing::Test {
protected:
    QString write(const QString& name, const QByteArray& text) const {
        QFile file(m_folder.filePath(name));
        EXPECT_TRUE(file.open(QFile::WriteOnly));
        file.write(text);
        return file.fileName();
    }
    QTemporaryDir m_folder;
};

TEST_F(SshConfig, NamesHostsInGroupsWithoutPatterns) {
    write(u"more"_s, "Host \"node c\" node-a\nHost=node-d\n");
    const QString config =
        write(u"config"_s,
              "# Host commented\nHost node-a node-b *.example !bad\n  HostName x\n"
              "host *\nInclude more nothing-there\nInclude config\n");
    EXPECT_THAT(hostsOfSshConfig(config),
                ElementsAre(HostGroup{u"node-a"_s, u"node-b"_s}, HostGroup{u"node"_s, u"c"_s},
                            HostGroup{u"node-d"_s}));
    EXPECT_THAT(hostsOfSshConfig(m_folder.filePath(u"none"_s)), IsEmpty());
}

TEST_F(SshConfig, IsTheFileThatTheCommandNames) {
    EXPECT_EQ(sshConfigPath(u"ssh -F /tmp/config -v"_s), u"/tmp/config"_s);
    EXPECT_TRUE(sshConfigPath(u"ssh"_s).endsWith(u"/.ssh/config"_s));
}

TEST(HostsInAList, AreAddedAndTakenOutWithoutTouchingTheOthers) {
    EXPECT_EQ(withHosts(u""_s, {u"node-a"_s, u"node-b"_s}, true), u"node-a,node-b"_s);
    EXPECT_EQ(withHosts(u"node-a:4,node-b:2"_s, {u"node-c"_s}, true),
              u"node-a:4,node-b:2,node-c"_s);
    EXPECT_EQ(withHosts(u"node-a:4,node-b:2"_s, {u"node-a"_s}, true), u"node-a:4,node-b:2"_s);
    EXPECT_EQ(withHosts(u"node-a:4,node-b:2"_s, {u"node-a"_s}, false), u"node-b:2"_s);
    EXPECT_EQ(withHosts(u"node-a slots=2; node-b slots=2 interface=eth1"_s, {u"node-c"_s}, true),
              u"node-a slots=2; node-b slots=2 interface=eth1; node-c"_s);
    EXPECT_EQ(namesIn(u"node-a slots=2; me@node-b:3"_s),
              QStringList({u"node-a"_s, u"me@node-b"_s}));
}

constexpr const char* kAnswer = R"({"schema":"shardscope.doctor-hosts/1","hosts":[
 {"host":"node-a","ok":true,"reached":true,"system":"Linux x86_64","glibc":"2.36","cores":64,
  "free_memory_bytes":257698037760,"free_disk_bytes":1099511627776,"folder":"/c","program":true,
  "libtorch":"2.11.0","gpus":["NVIDIA H100","NVIDIA H100"],"driver":"550.54.15","address":"10.0.0.1",
  "clock_ahead_s":-0.25,"clock_error_s":0.01,"unknown_key":null,"noisy_shell":false,"problem":null},
 {"host":"node-b","ok":false,"reached":false,"system":"","glibc":null,"cores":null,
  "free_memory_bytes":null,"free_disk_bytes":null,"folder":"","program":false,"libtorch":null,
  "gpus":[],"address":"","clock_ahead_s":null,"clock_error_s":null,
  "unknown_key":"SHA256:abc","noisy_shell":false,"problem":"the key of node-b is not known"}]})";

TEST(HostChecks, AreReadFromWhatDoctorPrints) {
    const auto checks = parseHostChecks(kAnswer);
    ASSERT_TRUE(checks);
    ASSERT_EQ(checks->size(), 2u);
    EXPECT_EQ(
        summaryOf((*checks)[0]).toStdString(),
        u"64 cores · 2 x NVIDIA H100 · driver 550.54.15 · LibTorch 2.11.0 · %1 of memory free · %2 of disk free · glibc 2.36 · clock -0.25 s ± 0.01 · this program is there"_s
            .arg(formatBytes(Bytes{257'698'037'760}), formatBytes(Bytes{1'099'511'627'776}))
            .toStdString());
    EXPECT_EQ(summaryOf((*checks)[1]), u"not reached"_s);
    EXPECT_EQ((*checks)[1].unknownKey, u"SHA256:abc"_s);
    EXPECT_FALSE(parseHostChecks("{\"schema\":\"another\"}"));
    EXPECT_FALSE(parseHostChecks("no JSON"));
}

TEST(LiveHosts, AreFollowedUntilTheNextRun) {
    RecorderSession session;
    LiveRun run;
    const RunFollower follower(session, run);
    Q_EMIT session.hostChanged({1, "node-b", "sending", "the program", Bytes{4}, Bytes{10}});
    ASSERT_EQ(run.hosts().size(), 1u);
    EXPECT_EQ(run.hosts().at(1).text(), u"node-b sending the program, "_s + formatPercent(0.4));
    Q_EMIT session.hostChanged({1, "node-b", "ready", "", Bytes{}, Bytes{}});
    EXPECT_EQ(run.hosts().at(1).text(), u"node-b ready"_s);
    run.clear();
    EXPECT_TRUE(run.hosts().empty());
}

class HostsPanelTest : public WindowTest {
protected:
    void SetUp() override {
        WindowTest::SetUp();
        m_window->showPage(u"newrun"_s);
        m_page = qobject_cast<NewRunPage*>(m_window->page(u"newrun"_s));
        for (FoldSection* section : m_page->sections()) section->setOpen(true);
        m_panel = m_page->hosts();
    }
    void enter(const char* key, const QString& text) {
        qobject_cast<QLineEdit*>(m_page->field(key)->input())->setText(text);
    }
    QString words() const {
        QString all;
        for (const QLabel* label : m_panel->findChildren<QLabel*>()) all += label->text() + u'\n';
        return all;
    }
    NewRunPage* m_page = nullptr;
    HostsPanel* m_panel = nullptr;
};

TEST_F(HostsPanelTest, OffersTheHostsOfTheSshConfiguration) {
    QTemporaryDir folder;
    QFile file(folder.filePath(u"config"_s));
    ASSERT_TRUE(file.open(QFile::WriteOnly));
    file.write("Host node-a node-b\nHost other\n");
    file.close();
    enter("ssh_command", u"ssh -F "_s + file.fileName());
    Q_EMIT m_panel->menu()->aboutToShow();
    ASSERT_EQ(m_panel->menu()->actions().size(), 2);
    m_panel->menu()->actions()[0]->trigger();
    EXPECT_EQ(m_page->config().hosts, "node-a,node-b");
    Q_EMIT m_panel->menu()->aboutToShow();
    EXPECT_TRUE(m_panel->menu()->actions()[0]->isChecked());
    m_panel->menu()->actions()[0]->trigger();
    EXPECT_EQ(m_page->config().hosts, "");
}

TEST_F(HostsPanelTest, TestsAConnectionAndSaysWhatItFound) {
    EXPECT_FALSE(m_panel->testButton()->isEnabled()) << "there are no hosts";
    enter("hosts", u"node-a"_s);
    enter("ssh_command", u"/bin/false"_s);
    ASSERT_TRUE(m_panel->testButton()->isEnabled());
    m_panel->testButton()->click();
    EXPECT_EQ(m_panel->testButton()->text(), u"Cancel"_s);
    ASSERT_TRUE(QTest::qWaitFor([this] { return words().contains(u"not reached"_s); }, 20'000))
        << words().toStdString();
    EXPECT_TRUE(words().contains(u"0 of 1 hosts can run ranks."_s));
}

TEST_F(HostsPanelTest, OffersToTrustAKeyWithItsFingerprint) {
    enter("hosts", u"node-a:4,node-b:4"_s);
    m_panel->show(*parseHostChecks(kAnswer));
    EXPECT_TRUE(words().contains(u"1 of 2 hosts can run ranks."_s));
    EXPECT_TRUE(words().contains(u"the key of node-b is not known"_s));
    QStringList buttons;
    for (const QPushButton* button : m_panel->findChildren<QPushButton*>())
        buttons.append(button->text());
    EXPECT_TRUE(buttons.contains(u"Trust the key SHA256:abc"_s));
    for (auto* scroll : m_page->findChildren<QScrollArea*>())
        if (scroll->isAncestorOf(m_panel)) {
            settle();
            QTest::qWait(50);
            scroll->ensureWidgetVisible(m_panel);
        }
    keepPicture(u"newrun-hosts"_s);
}

}  // namespace
}  // namespace shardscope::desktop
