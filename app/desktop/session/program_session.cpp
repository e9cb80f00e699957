#include "app/desktop/session/program_session.h"

namespace shardscope::desktop {
namespace {

constexpr int kPatienceMs = 5000;

}  // namespace

ProgramSession::ProgramSession(QObject* parent) : QObject(parent) {
    connect(&m_process, &QProcess::finished, this, &ProgramSession::end);
    connect(&m_process, &QProcess::readyReadStandardError, this, &ProgramSession::readErrors);
    connect(&m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error != QProcess::FailedToStart) return;
        Q_EMIT stateChanged();
        Q_EMIT failed(
            tr("%1 cannot be started: %2").arg(m_process.program(), m_process.errorString()));
    });
}

ProgramSession::~ProgramSession() {
    m_process.disconnect(this);
    if (!isGoing()) return;
    m_process.terminate();
    if (m_process.waitForFinished(kPatienceMs)) return;
    m_process.kill();
    m_process.waitForFinished(kPatienceMs);
}

void ProgramSession::start(const QString& program, const QStringList& arguments) {
    if (isGoing()) return;
    m_cancelled = false;
    m_process.start(program, arguments, QProcess::ReadOnly);
    Q_EMIT stateChanged();
}

void ProgramSession::cancel() {
    if (!isGoing()) return;
    m_cancelled = true;
    m_process.terminate();
    Q_EMIT stateChanged();
}

void ProgramSession::readErrors() {
    m_process.setReadChannel(QProcess::StandardError);
    while (m_process.canReadLine()) Q_EMIT said(QString::fromUtf8(m_process.readLine()).trimmed());
}

void ProgramSession::end(int code) {
    readErrors();
    const QByteArray rest = m_process.readAllStandardError().trimmed();
    if (!rest.isEmpty()) Q_EMIT said(QString::fromUtf8(rest));
    const QByteArray printed = m_process.readAllStandardOutput();
    Q_EMIT stateChanged();
    Q_EMIT ended(code, printed);
}

}  // namespace shardscope::desktop
