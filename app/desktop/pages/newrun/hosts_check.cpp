#include "app/desktop/pages/newrun/hosts_check.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

std::optional<qint64> bytesOf(const QJsonValue& value) {
    if (!value.isDouble()) return std::nullopt;
    return static_cast<qint64>(value.toDouble());
}

std::optional<double> secondsOf(const QJsonValue& value) {
    if (!value.isDouble()) return std::nullopt;
    return value.toDouble();
}

HostCheck checkOf(const QJsonObject& host) {
    HostCheck check;
    check.name = host[u"host"].toString();
    check.ok = host[u"ok"].toBool();
    check.reached = host[u"reached"].toBool();
    check.system = host[u"system"].toString();
    check.glibc = host[u"glibc"].toString();
    check.cores = host[u"cores"].toInt();
    for (const auto& gpu : host[u"gpus"].toArray()) check.gpus.append(gpu.toString());
    check.driver = host[u"driver"].toString();
    check.libTorchFetched = host[u"libtorch_fetched_by_a_run"].toBool();
    check.libTorch = host[u"libtorch"].toString();
    check.freeMemory = bytesOf(host[u"free_memory_bytes"]);
    check.freeDisk = bytesOf(host[u"free_disk_bytes"]);
    check.clockAhead = secondsOf(host[u"clock_ahead_s"]);
    check.clockError = secondsOf(host[u"clock_error_s"]);
    check.programThere = host[u"program"].toBool();
    check.folder = host[u"folder"].toString();
    check.problem = host[u"problem"].toString();
    check.unknownKey = host[u"unknown_key"].toString();
    return check;
}

}  // namespace

std::optional<std::vector<HostCheck>> parseHostChecks(const QByteArray& json) {
    const QJsonObject document = QJsonDocument::fromJson(json).object();
    if (document[u"schema"].toString() != u"shardscope.doctor-hosts/1") return std::nullopt;
    std::vector<HostCheck> checks;
    for (const auto& each : document[u"hosts"].toArray())
        checks.push_back(checkOf(each.toObject()));
    return checks;
}

HostsCheck::HostsCheck(QObject* parent) : QObject(parent) {
    connect(&m_process, &QProcess::finished, this, &HostsCheck::ended);
    connect(&m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error != QProcess::FailedToStart) return;
        Q_EMIT stateChanged();
        Q_EMIT failed(
            tr("%1 cannot be started: %2").arg(m_process.program(), m_process.errorString()));
    });
}

HostsCheck::~HostsCheck() {
    m_process.disconnect(this);
    if (!isGoing()) return;
    m_process.kill();
    m_process.waitForFinished(1000);
}

void HostsCheck::start(const QString& program, const QString& hosts, const QString& sshCommand,
                       const QString& acceptKey) {
    if (isGoing()) return;
    QStringList arguments{u"doctor"_s, u"--json"_s,        u"--hosts"_s,
                          hosts,       u"--ssh-command"_s, sshCommand};
    if (!acceptKey.isEmpty()) arguments << u"--accept-key"_s << acceptKey;
    m_cancelled = false;
    m_process.start(program, arguments, QProcess::ReadOnly);
    Q_EMIT stateChanged();
}

void HostsCheck::cancel() {
    m_cancelled = true;
    m_process.terminate();
}

void HostsCheck::ended(int, QProcess::ExitStatus) {
    const auto checks = parseHostChecks(m_process.readAllStandardOutput());
    const QString words = QString::fromUtf8(m_process.readAllStandardError()).trimmed();
    Q_EMIT stateChanged();
    if (m_cancelled) return;
    if (checks) return Q_EMIT found(*checks);
    Q_EMIT failed(words.isEmpty() ? tr("The hosts could not be looked at.") : words);
}

}  // namespace shardscope::desktop
