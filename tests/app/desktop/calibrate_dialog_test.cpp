// Calibrating from the Plan page: what it starts, what it says meanwhile, and what the page takes
// of it.
#include "app/desktop/pages/plan/calibrate_dialog.h"

#include "app/desktop/widgets/data_table.h"
#include "profiler/planning/calibration_store.h"
#include "tests/app/desktop/plan_fixture.h"

#include <QFile>
#include <QLabel>
#include <QPushButton>
#include <ctime>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// A `shardscope` that is a script, and calibrations in a folder of the test's own.
class CalibrateDialogTest : public PlanFixture {
protected:
    void SetUp() override {
        m_before = qgetenv("XDG_STATE_HOME");
        qputenv("XDG_STATE_HOME", m_folder.filePath(u"state"_s).toUtf8());
        PlanFixture::SetUp();
    }
    void TearDown() override {
        m_before.isNull() ? qunsetenv("XDG_STATE_HOME") : qputenv("XDG_STATE_HOME", m_before);
    }
    QString program(const QByteArray& lines) {
        QFile file(m_folder.filePath(u"shardscope"_s));
        EXPECT_TRUE(file.open(QFile::WriteOnly));
        file.write("#!/bin/sh\n[ \"$1\" = calibrate ] || exit 2\n" + lines);
        file.close();
        file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
        return file.fileName();
    }
    static planning::Calibration measured() {
        planning::Calibration calibration;
        calibration.host = thisMachine().name.toStdString();
        calibration.device = "a CPU";
        calibration.cores = 2;
        calibration.product = "shardscope 1.2.3";
        calibration.unixS = std::time(nullptr);
        const auto rate = [&](const run::MeasuredFigure& what, double median) {
            calibration.rates.push_back(
                {what, median, median, {median, median}, 5, calibration.unixS});
        };
        rate({0, run::MachineFigure::kMatmul, run::Precision::kFloat32, 512, 512, 512, 2}, 1e11);
        rate({0, run::MachineFigure::kTriad, {}, 0, 0, 0, 2}, 1e10);
        return calibration;
    }
    /// Says what calibrate says, keeps what it keeps and prints it.
    QString measuring(const QByteArray& between = {}) {
        const QByteArray json = QByteArray::fromStdString(planning::toJson(measured()));
        const QByteArray first = QByteArray::fromStdString(
            planning::textOf(planning::CalibrationProgress{"the machine", 1, 2}));
        QFile file(m_folder.filePath(u"measured.json"_s));
        EXPECT_TRUE(file.open(QFile::WriteOnly));
        file.write(json);
        return program("echo '" + first + "' >&2\n" + between + "cat '" + file.fileName().toUtf8() +
                       "'\n");
    }
    static QString words(const CalibrateDialog* dialog) {
        QString all;
        for (const QLabel* label : dialog->findChildren<QLabel*>()) all += label->text() + u'\n';
        return all;
    }
    static bool waitFor(const CalibrateDialog* dialog, const QString& text) {
        return QTest::qWaitFor([&] { return words(dialog).contains(text); }, 20'000);
    }
    static QPushButton* buttonOf(const CalibrateDialog* dialog, const QString& text) {
        for (QPushButton* each : dialog->findChildren<QPushButton*>())
            if (each->text() == text) return each;
        return nullptr;
    }

    QByteArray m_before;
};

TEST_F(CalibrateDialogTest, ThePageTakesWhatWasMeasured) {
    planned();
    EXPECT_TRUE(m_page->view().sources.contains(u"calibrate this machine"_s))
        << m_page->view().sources.toStdString();
    CalibrateDialog* dialog = m_page->openCalibration(measuring());
    EXPECT_TRUE(words(dialog).contains(u"was never calibrated"_s));
    ASSERT_TRUE(planning::keepCalibration(measured()));
    buttonOf(dialog, u"Calibrate"_s)->click();
    ASSERT_TRUE(waitFor(dialog, u"a CPU, 2 cores"_s)) << words(dialog).toStdString();
    EXPECT_EQ(dialog->findChild<DataTable*>()->table()->allRows(), 2);
    keepDialog(*dialog, u"calibrated"_s);
    EXPECT_TRUE(QTest::qWaitFor(
        [this] {
            return m_page->view().sources.contains(u"calibrat"_s) && !m_page->isReading() &&
                   !m_page->view().times.rows.empty();
        },
        10'000));
    EXPECT_TRUE(table(u"Time of a step"_s)->isVisibleTo(m_page));
    dialog->reject();
    CalibrateDialog* again = m_page->openCalibration({});
    EXPECT_TRUE(words(again).contains(u"a CPU, 2 cores"_s)) << "what is kept";
}

TEST_F(CalibrateDialogTest, SaysWhatIsMeasuredAndIsCancelled) {
    CalibrateDialog* dialog = m_page->openCalibration(program(
        "echo 'Measuring the machine (1 of 2).' >&2\n"
        "trap 'echo \"shardscope: interrupted while the machine was measured; nothing is kept of "
        "it\" >&2; exit 130' TERM\nsleep 60 >&- 2>&- &\nwait $!\n"));
    dialog->begin();
    ASSERT_TRUE(waitFor(dialog, u"Measuring the machine (1 of 2)"_s))
        << words(dialog).toStdString();
    EXPECT_FALSE(buttonOf(dialog, u"Calibrate"_s)->isEnabled());
    keepDialog(*dialog, u"calibrating"_s);
    buttonOf(dialog, u"Cancel"_s)->click();
    ASSERT_TRUE(waitFor(dialog, u"interrupted while the machine was measured; nothing is kept"_s))
        << words(dialog).toStdString();
    EXPECT_FALSE(words(dialog).contains(u"shardscope:"_s));
    EXPECT_TRUE(dialog->isVisible());
    EXPECT_TRUE(buttonOf(dialog, u"Calibrate"_s)->isEnabled());
    EXPECT_NE(buttonOf(dialog, u"Close"_s), nullptr);
}

TEST_F(CalibrateDialogTest, SaysWhyNothingWasMeasured) {
    CalibrateDialog* dialog = m_page->openCalibration(
        program("echo 'shardscope: no memory is free; use fewer ranks' >&2\nexit 1\n"));
    dialog->begin();
    ASSERT_TRUE(waitFor(dialog, u"no memory is free; use fewer ranks"_s))
        << words(dialog).toStdString();
    delete dialog;
    CalibrateDialog* missing = m_page->openCalibration(m_folder.filePath(u"none"_s));
    missing->begin();
    ASSERT_TRUE(waitFor(missing, u"cannot be started"_s)) << words(missing).toStdString();
    delete missing;
    CalibrateDialog* none = m_page->openCalibration({});
    none->begin();
    EXPECT_TRUE(words(none).contains(u"neither beside shardscope-desktop nor in PATH"_s));
}

}  // namespace
}  // namespace shardscope::desktop
