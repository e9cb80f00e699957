#include "app/desktop/pages/newrun/hosts_panel.h"

#include "app/desktop/models/format.h"
#include "app/desktop/pages/newrun/ssh_config.h"
#include "app/desktop/pages/run_fields/bound_field.h"
#include "app/desktop/session/recorder_session.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"

#include <QHBoxLayout>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QRegularExpression>
#include <QVBoxLayout>
#include <map>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr QStringView kBetweenFacts = u" · ";

/// Hosts of a list, each with what is said of it.
QStringList entriesOf(const QString& list) {
    const bool named = list.contains(u';') || list.contains(u'=');
    QStringList entries;
    for (const QString& each : list.split(named ? u';' : u',', Qt::SkipEmptyParts))
        if (const QString entry = each.trimmed(); !entry.isEmpty()) entries.append(entry);
    return entries;
}

QString nameIn(const QString& entry) {
    static const QRegularExpression kEnd(u"[\\s:]"_s);
    return entry.left(entry.indexOf(kEnd) < 0 ? entry.size() : entry.indexOf(kEnd));
}

/// "2 x NVIDIA H100, NVIDIA L4"
QString gpusOf(const QStringList& names) {
    std::map<QString, int> counts;
    for (const QString& name : names) ++counts[name];
    QStringList parts;
    for (const auto& [name, count] : counts)
        parts.append(count == 1 ? name : u"%1 x %2"_s.arg(count).arg(name));
    return parts.join(u", "_s);
}

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

QStringList namesIn(const QString& list) {
    QStringList names;
    for (const QString& entry : entriesOf(list)) names.append(nameIn(entry));
    return names;
}

QString withHosts(const QString& list, const QStringList& names, bool wanted) {
    QStringList entries;
    for (const QString& entry : entriesOf(list))
        if (wanted || !names.contains(nameIn(entry))) entries.append(entry);
    const QStringList there = namesIn(list);
    for (const QString& name : names)
        if (wanted && !there.contains(name)) entries.append(name);
    const QString joined = entries.join(u","_s);
    return joined.contains(u'=') || joined.contains(u' ') ? entries.join(u"; "_s) : joined;
}

QString summaryOf(const HostCheck& host) {
    if (!host.reached) return HostsPanel::tr("not reached");
    QStringList facts;
    if (host.cores > 0) facts.append(HostsPanel::tr("%n cores", nullptr, host.cores));
    facts.append(host.gpus.isEmpty() ? HostsPanel::tr("no GPU") : gpusOf(host.gpus));
    if (!host.driver.isEmpty()) facts.append(HostsPanel::tr("driver %1").arg(host.driver));
    facts.append(!host.libTorch.isEmpty() ? HostsPanel::tr("LibTorch %1").arg(host.libTorch)
                 : host.libTorchFetched   ? HostsPanel::tr("LibTorch will be fetched")
                                          : HostsPanel::tr("no LibTorch"));
    if (host.freeMemory)
        facts.append(HostsPanel::tr("%1 of memory free").arg(formatBytes(Bytes{*host.freeMemory})));
    if (host.freeDisk)
        facts.append(HostsPanel::tr("%1 of disk free").arg(formatBytes(Bytes{*host.freeDisk})));
    if (!host.glibc.isEmpty()) facts.append(u"glibc "_s + host.glibc);
    if (host.clockAhead)
        facts.append(HostsPanel::tr("clock %1 s ± %2")
                         .arg(QString::asprintf("%+.2f", *host.clockAhead),
                              QString::number(host.clockError.value_or(0), 'f', 2)));
    facts.append(host.programThere ? HostsPanel::tr("this program is there")
                                   : HostsPanel::tr("this program will be sent"));
    return facts.join(kBetweenFacts);
}

HostsPanel::HostsPanel(BoundField* hosts, BoundField* ssh, QWidget* parent)
    : QWidget(parent), m_hosts(hosts), m_ssh(ssh) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kGapSmall);
    auto* row = new QHBoxLayout;
    m_test = new QPushButton(tr("Test connection"), this);
    m_test->setToolTip(tr("Checks each host; starts and leaves nothing there"));
    m_status = quietLabel({}, this);
    row->addWidget(m_test);
    row->addWidget(m_status, 1);
    layout->addLayout(row);
    m_rows = new QVBoxLayout;
    m_rows->setSpacing(kGapSmall);
    layout->addLayout(m_rows);

    auto* choose =
        hosts->addButton(tr("From ssh…"), tr("Choose hosts of your ssh configuration"), [] {});
    m_menu = new QMenu(choose);
    choose->setMenu(m_menu);
    connect(m_menu, &QMenu::aboutToShow, this, &HostsPanel::fillMenu);
    connect(m_test, &QPushButton::clicked, this,
            [this] { m_check.isGoing() ? m_check.cancel() : test(); });
    connect(hosts, &BoundField::changed, this, &HostsPanel::showState);
    connect(&m_check, &HostsCheck::stateChanged, this, &HostsPanel::showState);
    connect(&m_check, &HostsCheck::found, this, &HostsPanel::show);
    connect(&m_check, &HostsCheck::failed, this, [this](const QString& why) {
        clear();
        m_status->setText(why);
    });
    showState();
}

QString HostsPanel::textOf(const BoundField* field) const {
    return qobject_cast<QLineEdit*>(field->input())->text().trimmed();
}

void HostsPanel::fillMenu() {
    m_menu->clear();
    const QStringList chosen = namesIn(textOf(m_hosts));
    for (const HostGroup& group : hostsOfSshConfig(sshConfigPath(textOf(m_ssh)))) {
        bool all = true;
        for (const QString& name : group) all = all && chosen.contains(name);
        QAction* action = m_menu->addAction(group.join(u", "_s));
        action->setCheckable(true);
        action->setChecked(all);
        connect(action, &QAction::triggered, this, [this, group, all] { toggle(group, !all); });
    }
    if (!m_menu->isEmpty()) return;
    m_menu->addAction(tr("Your ssh configuration names no hosts"))->setEnabled(false);
}

void HostsPanel::toggle(const QStringList& names, bool wanted) {
    qobject_cast<QLineEdit*>(m_hosts->input())->setText(withHosts(textOf(m_hosts), names, wanted));
}

void HostsPanel::test(const QString& acceptKey) {
    const QString hosts = textOf(m_hosts);
    if (hosts.isEmpty()) return;
    const QString program = findRecorder();
    if (program.isEmpty()) {
        m_status->setText(tr("There is no `shardscope` beside this program or in PATH."));
        return;
    }
    clear();
    m_check.start(program, hosts, textOf(m_ssh), acceptKey);
}

void HostsPanel::showState() {
    const bool going = m_check.isGoing();
    m_test->setText(going ? tr("Cancel") : tr("Test connection"));
    m_test->setEnabled(going || !textOf(m_hosts).isEmpty());
    m_status->setText(going ? tr("Checking the hosts…") : QString());
}

void HostsPanel::clear() {
    while (QLayoutItem* item = m_rows->takeAt(0)) {
        delete item->widget();
        delete item;
    }
}

void HostsPanel::show(const std::vector<HostCheck>& hosts) {
    clear();
    qsizetype good = 0;
    for (const HostCheck& host : hosts) {
        addRow(host);
        good += host.ok ? 1 : 0;
    }
    m_status->setText(good == static_cast<qsizetype>(hosts.size())
                          ? tr("All hosts can run ranks.")
                          : tr("%1 of %2 hosts can run ranks.").arg(good).arg(hosts.size()));
}

void HostsPanel::addRow(const HostCheck& host) {
    auto* row = new QWidget(this);
    auto* layout = new QVBoxLayout(row);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(2);
    layout->addWidget(sectionLabel(host.name, row));
    layout->addWidget(quietLabel(summaryOf(host), row));
    if (!host.problem.isEmpty()) {
        auto* problem = quietLabel(host.problem, row);
        problem->setForegroundRole(QPalette::BrightText);
        problem->setTextInteractionFlags(Qt::TextSelectableByMouse);
        layout->addWidget(problem);
    }
    if (!host.unknownKey.isEmpty()) {
        auto* accept = new QPushButton(tr("Trust the key %1").arg(host.unknownKey), row);
        accept->setToolTip(
            tr("Compare it with the one that the host's administrator gives you. ssh keeps "
               "it and does not ask again."));
        connect(
            accept, &QPushButton::clicked, this, [this, key = host.unknownKey] { test(key); },
            Qt::QueuedConnection);
        layout->addWidget(accept, 0, Qt::AlignLeft);
    }
    m_rows->addWidget(row);
}

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
    Q_EMIT failed(words.isEmpty() ? tr("The hosts could not be checked.") : words);
}

}  // namespace shardscope::desktop
