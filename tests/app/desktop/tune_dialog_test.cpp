// Tune on the New run page: what it starts, what it says meanwhile, and what is taken of it.
#include "app/desktop/pages/newrun/tune_dialog.h"

#include "app/desktop/pages/newrun/new_run_page.h"
#include "app/desktop/widgets/data_table.h"
#include "tests/app/desktop/window_fixture.h"

#include <QCheckBox>
#include <QFile>
#include <QLabel>
#include <QPointer>
#include <QPushButton>
#include <QTemporaryDir>
#include <optional>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

TEST(TuningProgress, IsReadFromWhatTuneTells) {
    const auto first = parseTuningProgress(u"[1] start ...\n"_s);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->run, 1);
    EXPECT_EQ(first->most, 0);
    const auto third = parseTuningProgress(u"[3/6] --strategy zero2 --batch 8 ..."_s);
    ASSERT_TRUE(third);
    EXPECT_EQ(third->run, 3);
    EXPECT_EQ(third->most, 6);
    EXPECT_EQ(third->settings, u"--strategy zero2 --batch 8"_s);
    EXPECT_FALSE(parseTuningProgress(u"shardscope tune: no memory"_s));
}

TEST(TuningOutcome, OfAnythingElseIsNone) {
    EXPECT_FALSE(parseTuning("no JSON"));
    EXPECT_FALSE(parseTuning(R"({"schema":"shardscope.plan/1"})"));
    const auto without =
        parseTuning(R"({"schema":"shardscope.tune/1","run_file":"/nowhere.toml"})");
    ASSERT_TRUE(without);
    EXPECT_FALSE(without->best) << "its run file cannot be read";
}

/// A `shardscope` that is a script.
class TuneDialogTest : public WindowTest {
protected:
    void SetUp() override {
        WindowTest::SetUp();
        m_window->showPage(u"newrun"_s);
        m_page = qobject_cast<NewRunPage*>(m_window->page(u"newrun"_s));
    }
    QString program(const QByteArray& lines) {
        QFile file(m_folder.filePath(u"shardscope"_s));
        EXPECT_TRUE(file.open(QFile::WriteOnly));
        file.write(
            "#!/bin/sh\nfile=$2\nwhile [ $# -gt 1 ]; do\n  [ \"$1\" = --output ] && "
            "folder=$2\n  shift\ndone\n" +
            lines);
        file.close();
        file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
        return file.fileName();
    }
    /// Two runs, of which the second is the best.
    QString tuning(const QByteArray& between = {}) {
        return program(
            "echo '[1] start ...' >&2\n"
            "echo '[2/3] --strategy zero1 ...' >&2\n" +
            between +
            "sed 's/^strategy = .*/strategy = \"zero1\"/' \"$file\" > "
            "\"$folder/best.toml\"\n"
            "cat <<END\n"
            R"({"schema":"shardscope.tune/1","points":4,"runs":1,"path":[
 {"settings":"the start","expected_tokens_per_s":null,"tokens_per_s":1000,"against_start_pct":0,"best":""},
 {"settings":"--strategy zero1","expected_tokens_per_s":1500,"tokens_per_s":1400,"against_start_pct":40,"best":"yes"}],
 "run_file":"$folder/best.toml","sentences":["Fastest: --strategy zero1, 1.40 times the tokens/s of the start."],
 "could_not_tell":[]})"
            "\nEND\n");
    }
    TuneDialog* open(const QString& with) {
        run::RunConfig config = m_page->config();
        config.strategy = run::Strategy::kZero3;
        config.ranks = 2;
        auto* dialog = new TuneDialog(config, with, m_folder.path(), m_window.get());
        QObject::connect(dialog, &TuneDialog::taken,
                         [this](const run::RunConfig& best) { m_taken = best; });
        dialog->open();
        return dialog;
    }
    static QPushButton* button(const TuneDialog* dialog, const QString& text) {
        for (QPushButton* each : dialog->findChildren<QPushButton*>())
            if (each->text() == text && each->isVisibleTo(dialog)) return each;
        return nullptr;
    }
    static QString words(const TuneDialog* dialog) {
        QString all;
        for (const QLabel* label : dialog->findChildren<QLabel*>()) all += label->text() + u'\n';
        return all;
    }
    static bool waitFor(const TuneDialog* dialog, const QString& text) {
        return QTest::qWaitFor([&] { return words(dialog).contains(text); }, 20'000);
    }

    QTemporaryDir m_folder;
    NewRunPage* m_page = nullptr;
    std::optional<run::RunConfig> m_taken;
};

TEST_F(TuneDialogTest, ShowsThePathAndGivesTheBest) {
    TuneDialog* dialog = open(tuning());
    EXPECT_EQ(dialog->over(), (QStringList{u"strategy"_s, u"prefetch"_s, u"bucket_mb"_s}));
    dialog->begin();
    ASSERT_TRUE(waitFor(dialog, u"Fastest:"_s)) << words(dialog).toStdString();
    EXPECT_EQ(dialog->findChild<DataTable*>()->table()->allRows(), 2);
    EXPECT_FALSE(words(dialog).contains(u"--strategy"_s)) << "words of the form";
    const auto* path = dialog->findChild<DataTable*>()->table();
    EXPECT_EQ(path->index(1, 0).data().toString(), u"“Strategy” zero1"_s);
    keepDialog(*dialog, u"tuned"_s);
    ASSERT_NE(button(dialog, u"Take these settings"_s), nullptr);
    button(dialog, u"Take these settings"_s)->click();
    ASSERT_TRUE(m_taken);
    EXPECT_EQ(m_taken->strategy, run::Strategy::kZero1);
}

TEST_F(TuneDialogTest, SaysWhichRunItIsAtAndCanBeCancelled) {
    TuneDialog* dialog = open(tuning("trap 'exit 130' TERM\nsleep 60 >&- 2>&- &\nwait $!\n"));
    button(dialog, u"Tune"_s)->click();
    ASSERT_TRUE(waitFor(dialog, u"Run 2 of at most 3: “Strategy” zero1"_s))
        << words(dialog).toStdString();
    keepDialog(*dialog, u"tuning"_s);
    EXPECT_EQ(button(dialog, u"Tune"_s)->isEnabled(), false);
    const QPointer<TuneDialog> watched(dialog);
    button(dialog, u"Cancel"_s)->click();
    ASSERT_TRUE(QTest::qWaitFor([&] { return !watched || !watched->isVisible(); }, 20'000));
    EXPECT_FALSE(m_taken);
}

TEST_F(TuneDialogTest, SaysWhyThereIsNothing) {
    TuneDialog* dialog =
        open(program("echo 'tune: no memory is free; use fewer ranks' >&2\nexit 1\n"));
    dialog->begin();
    ASSERT_TRUE(waitFor(dialog, u"no memory is free"_s)) << words(dialog).toStdString();
    keepDialog(*dialog, u"tune-failed"_s);
    EXPECT_TRUE(button(dialog, u"Tune"_s)->isEnabled());
    TuneDialog* missing = open(m_folder.filePath(u"none"_s));
    missing->begin();
    ASSERT_TRUE(waitFor(missing, u"cannot be started"_s)) << words(missing).toStdString();
}

TEST_F(TuneDialogTest, NeedsSomethingToTuneOver) {
    TuneDialog* dialog = open(tuning());
    for (QCheckBox* box : dialog->findChildren<QCheckBox*>()) box->setChecked(false);
    EXPECT_FALSE(button(dialog, u"Tune"_s)->isEnabled());
    EXPECT_FALSE(button(dialog, u"Tune"_s)->toolTip().isEmpty());
}

TEST_F(TuneDialogTest, IsOfferedForARunThatCanStart) {
    QPushButton* tune = nullptr;
    for (QPushButton* each : m_page->findChildren<QPushButton*>())
        if (each->text() == u"Tune…"_s) tune = each;
    ASSERT_NE(tune, nullptr);
    ASSERT_TRUE(QTest::qWaitFor([&] { return m_page->reason().isEmpty(); }, 10'000));
    EXPECT_TRUE(tune->isEnabled());
    m_page->setBusy(true);
    EXPECT_FALSE(tune->isEnabled());
    m_page->setBusy(false);
    tune->click();
    EXPECT_NE(m_page->findChild<TuneDialog*>(), nullptr);
}

}  // namespace
}  // namespace shardscope::desktop
