// Drives a subcommand of `shardscope` that works for a while and prints a document at its end, as
// `tune` and `calibrate`: a child process whose lines are handed on. GUI thread; never waits but in
// its destructor.
#pragma once

#include <QByteArray>
#include <QObject>
#include <QProcess>
#include <QString>
#include <QStringList>

namespace shardscope::desktop {

class ProgramSession : public QObject {
    Q_OBJECT

public:
    explicit ProgramSession(QObject* parent = nullptr);
    /// Ends the program, and its children with it.
    ~ProgramSession() override;

    /// Ignored while one is going.
    void start(const QString& program, const QStringList& arguments);
    /// Ends it as Ctrl-C does: what it prints then is handed on.
    void cancel();
    [[nodiscard]] bool isGoing() const { return m_process.state() != QProcess::NotRunning; }
    [[nodiscard]] bool isCancelled() const { return m_cancelled; }
    [[nodiscard]] qint64 processId() const { return m_process.processId(); }

Q_SIGNALS:
    void stateChanged();
    /// A line of its standard error.
    void said(const QString& line);
    /// After its last line; with what it printed.
    void ended(int code, const QByteArray& printed);
    /// It did not begin: a sentence.
    void failed(const QString& why);

private:
    void readErrors();
    void end(int code);

    QProcess m_process;
    bool m_cancelled = false;
};

}  // namespace shardscope::desktop
