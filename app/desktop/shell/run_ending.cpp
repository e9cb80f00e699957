#include "app/desktop/shell/run_ending.h"

#include "app/desktop/models/format.h"
#include "storage/recording/remote/remote_address.h"

#include <QAbstractButton>
#include <QMessageBox>
#include <QProcess>
#include <QPushButton>

namespace shardscope::desktop {

using namespace Qt::StringLiterals;

RunEnding::RunEnding(RecorderSession& session, RecordingLoader& loader, QWidget* window)
    : m_session(session), m_loader(loader), m_window(window) {}

bool RunEnding::canEnd() const {
    return m_session.isGoing() || isOpenRunGoing();
}

bool RunEnding::isOpenRunGoing() const {
    const RecordingPtr recording = m_loader.recording();
    return recording && recording->isRunning() && !recording->isImporting() &&
           !storage::remote::isRemote(recording->path.toStdString());
}

void RunEnding::end(const QString& how) {
    if (m_session.isGoing()) return how == u"kill" ? m_session.kill() : m_session.stop();
    if (!isOpenRunGoing()) return;
    auto* control = new QProcess(this);
    connect(control, &QProcess::finished, this, [this, control] {
        const QByteArray said = control->readAllStandardOutput() + control->readAllStandardError();
        Q_EMIT reported(QString::fromUtf8(said).trimmed());
        control->deleteLater();
    });
    connect(control, &QProcess::errorOccurred, this, [this, control](QProcess::ProcessError error) {
        if (error != QProcess::FailedToStart) return;
        Q_EMIT reported(tr("The run could not be reached: %1.").arg(control->errorString()));
        control->deleteLater();
    });
    control->start(m_recorder.isEmpty() ? findRecorder() : m_recorder,
                   {u"control"_s, m_loader.recording()->path, how});
}

/// Of a run that goes on nothing is lost either way.
QString RunEnding::whatComesOfIt() const {
    if (!m_session.canDetach())
        return tr(
            "What it prints goes to this window, so it ends with it; its recording is "
            "finished first.");
    const QString stays = tr("It can go on without the window: its recording, %1, stays open to "
                             "look at, and Start lists it.")
                              .arg(fromUtf8(m_session.run().output));
    const QString printed = m_session.printedFile();
    if (printed.isEmpty()) return stays;
    return stays + u' ' + tr("What it prints is then kept in %1.").arg(printed);
}

void RunEnding::askBeforeClosing() {
    auto* question =
        new QMessageBox(QMessageBox::Question, tr("A run is going on"),
                        tr("A run is going on in this window."), QMessageBox::NoButton, m_window);
    question->setAttribute(Qt::WA_DeleteOnClose);
    question->setInformativeText(whatComesOfIt());
    QAbstractButton* stop = question->addButton(tr("Stop the run"), QMessageBox::DestructiveRole);
    QAbstractButton* letGoOn =
        m_session.canDetach() ? question->addButton(tr("Let it go on"), QMessageBox::AcceptRole)
                              : nullptr;
    QPushButton* stay = question->addButton(QMessageBox::Cancel);
    question->setDefaultButton(stay);
    question->setEscapeButton(stay);
    connect(question, &QMessageBox::buttonClicked, this, [=, this](QAbstractButton* chosen) {
        if (chosen == stop) Q_EMIT stopChosen();
        if (letGoOn != nullptr && chosen == letGoOn) {
            m_session.detach();
            Q_EMIT letGo();
        }
    });
    question->open();
}

}  // namespace shardscope::desktop
