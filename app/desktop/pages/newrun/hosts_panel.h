// Below the hosts of a run: a menu of those that the user's ssh configuration names, "Test
// connection", and what was found of each host. GUI thread.
#pragma once

#include <QObject>
#include <QProcess>
#include <QString>
#include <QStringList>
#include <QWidget>
#include <functional>
#include <optional>
#include <vector>

class QLabel;
class QMenu;
class QPushButton;
class QVBoxLayout;

namespace shardscope::desktop {

// "Test connection": asks `shardscope doctor --hosts` what the hosts of a run are and have. A child
// process; GUI thread, never waits.

/// One host, as far as it is known.
struct HostCheck {
    QString name;
    bool ok = false;
    bool reached = false;
    QString system;
    int cores = 0;  ///< 0: not known
    QStringList gpus;
    QString driver;                ///< driver version; empty: not reported
    QString libTorch;              ///< version; empty: none that ranks can use
    bool libTorchFetched = false;  ///< a run would try to fetch it there
    QString glibc;
    std::optional<qint64> freeMemory, freeDisk;    ///< bytes
    std::optional<double> clockAhead, clockError;  ///< seconds
    bool programThere = false;
    QString folder;
    QString problem;     ///< what is missing and what fixes it; empty: nothing
    QString unknownKey;  ///< fingerprint of a key that ssh does not know
};

/// What doctor has printed; nothing where that is not such a document.
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

class BoundField;

class HostsPanel : public QWidget {
    Q_OBJECT

public:
    /// The fields of hosts and of the ssh command outlive it.
    HostsPanel(BoundField* hosts, BoundField* ssh, QWidget* parent);

    /// Of the list as it stands; without hosts nothing happens.
    void test(const QString& acceptKey = {});
    /// Replaces what is shown.
    void show(const std::vector<HostCheck>& hosts);
    [[nodiscard]] QMenu* menu() const { return m_menu; }
    [[nodiscard]] QPushButton* testButton() const { return m_test; }

private:
    void fillMenu();
    void toggle(const QStringList& names, bool wanted);
    void addRow(const HostCheck& host);
    void clear();
    void showState();
    [[nodiscard]] QString textOf(const BoundField* field) const;

    BoundField* m_hosts;
    BoundField* m_ssh;
    HostsCheck m_check;
    QMenu* m_menu = nullptr;
    QPushButton* m_test = nullptr;
    QLabel* m_status = nullptr;
    QVBoxLayout* m_rows = nullptr;
};

/// The list with these names, or without them; what is said of the other hosts stays.
[[nodiscard]] QString withHosts(const QString& list, const QStringList& names, bool wanted);
/// Names in a list as it stands, without slots and words.
[[nodiscard]] QStringList namesIn(const QString& list);
/// "64 cores · 2 x NVIDIA H100 · LibTorch 2.11.0 · ..."
[[nodiscard]] QString summaryOf(const HostCheck& host);

}  // namespace shardscope::desktop
