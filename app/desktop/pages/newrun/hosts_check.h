// "Test connection": asks `shardscope doctor --hosts` what the hosts of a run are and have. A child
// process; GUI thread, never waits.
#pragma once

#include <QObject>
#include <QProcess>
#include <QString>
#include <QStringList>
#include <optional>
#include <vector>

namespace shardscope::desktop {

/// One host, as far as it is known.
struct HostCheck {
    QString name;
    bool ok = false;
    bool reached = false;
    QString system;
    int cores = 0;  ///< 0: not known
    QStringList gpus;
    QString driver;                ///< version of theirs; empty: not told
    QString libTorch;              ///< version; empty: none that ranks can use
    bool libTorchFetched = false;  ///< a run would try to fetch it there
    QString glibc;
    std::optional<qint64> freeMemory, freeDisk;    ///< bytes
    std::optional<double> clockAhead, clockError;  ///< seconds
    bool programThere = false;
    QString folder;
    QString problem;     ///< what is missing and what mends it; empty: nothing
    QString unknownKey;  ///< fingerprint of a key that ssh does not know
};

/// What doctor has printed; nothing where that is no such document.
[[nodiscard]] std::optional<std::vector<HostCheck>> parseHostChecks(const QByteArray& json);

class HostsCheck : public QObject {
    Q_OBJECT

public:
    explicit HostsCheck(QObject* parent = nullptr);
    ~HostsCheck() override;

    /// Gives up one that is going. `acceptKey`: a fingerprint that the user has accepted.
    void start(const QString& program, const QString& hosts, const QString& sshCommand,
               const QString& acceptKey = {});
    void cancel();
    [[nodiscard]] bool isGoing() const { return m_process.state() != QProcess::NotRunning; }

Q_SIGNALS:
    void stateChanged();
    void found(const std::vector<shardscope::desktop::HostCheck>& hosts);
    /// A sentence.
    void failed(const QString& why);

private:
    void ended(int code, QProcess::ExitStatus status);

    QProcess m_process;
    bool m_cancelled = false;
};

}  // namespace shardscope::desktop
