// What is known of the run, one fact a row.
#include "app/desktop/pages/overview/overview_model.h"
#include "engine/run/config/run_config.h"
#include "engine/run/config/run_settings.h"

#include <QDateTime>
#include <QLocale>
#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using Facts = std::vector<std::pair<QString, QString>>;

void addSettings(const OpenRecording& recording, Facts& facts) {
    const auto config = run::parseRunConfigJson(recording.summary.run.configJson);
    if (!config) return;
    for (const run::Setting& setting : run::settingsOf(*config))
        facts.emplace_back(QString::fromLatin1(setting.name), fromUtf8(setting.text));
    facts.emplace_back(u"steps"_s,
                       u"%1 recorded, %2 asked for"_s.arg(formatCount(recording.report.basis.steps),
                                                          formatCount(config->steps)));
}

/// Hosts of one kind, told apart by name only.
void addHosts(const std::vector<HostFacts>& hosts, Facts& facts) {
    constexpr qsizetype kMostNames = 3;
    std::vector<std::pair<QString, QStringList>> kinds;
    for (const HostFacts& host : hosts) {
        if (host.name.empty()) continue;
        const QString kind = u"%1, %2 cores, %3"_s.arg(fromUtf8(host.cpu))
                                 .arg(host.cores)
                                 .arg(formatBytes(host.memory));
        auto same = std::find_if(kinds.begin(), kinds.end(),
                                 [&](const auto& each) { return each.first == kind; });
        if (same == kinds.end()) same = kinds.insert(kinds.end(), {kind, {}});
        same->second.push_back(fromUtf8(host.name));
    }
    for (const auto& [kind, names] : kinds) {
        QString said = names.mid(0, kMostNames).join(u", "_s);
        if (names.size() > kMostNames) said += u" and %1 more"_s.arg(names.size() - kMostNames);
        facts.emplace_back(names.size() == 1 ? u"host"_s : u"%1 hosts"_s.arg(names.size()),
                           u"%1, %2"_s.arg(said, kind));
    }
}

void addClocks(const analysis::HostClocks& clocks, Facts& facts) {
    constexpr std::size_t kMostClocks = 8;
    if (!clocks.several()) return;
    const auto& hosts = clocks.hosts();
    for (std::size_t i = 0; i < std::min(hosts.size(), kMostClocks); ++i)
        facts.emplace_back(u"clock"_s, u"%1: %2"_s.arg(fromUtf8(hosts[i].name),
                                                       fromUtf8(analysis::clockText(hosts[i]))));
    if (hosts.size() > kMostClocks)
        facts.emplace_back(u"clocks"_s,
                           u"of %1 more: `shardscope report`"_s.arg(hosts.size() - kMostClocks));
}

}  // namespace

std::vector<std::pair<QString, QString>> runFacts(const OpenRecording& recording) {
    const RunFacts& run = recording.summary.run;
    const QString ranks = run.worldSize == 1 ? u"1 rank"_s : u"%1 ranks"_s.arg(run.worldSize);
    Facts facts;
    if (recording.isImported()) {
        facts.emplace_back(u"run"_s, u"imported, %1"_s.arg(ranks));
    } else {
        facts.emplace_back(u"model"_s, u"%1, %2 parameters"_s.arg(fromUtf8(run.model),
                                                                  formatCount(run.parameters)));
        facts.emplace_back(u"strategy"_s, u"%1 on %2"_s.arg(fromUtf8(run.strategy), ranks));
        addSettings(recording, facts);
    }
    if (run.startedUnixNs > 0) {
        const auto started = QDateTime::fromMSecsSinceEpoch(run.startedUnixNs / 1'000'000);
        facts.emplace_back(u"started"_s,
                           QLocale(QLocale::English).toString(started, u"d MMM yyyy, HH:mm:ss"_s));
    }
    facts.emplace_back(u"recorded"_s, formatDuration({run.ended.ns}));
    facts.emplace_back(u"state"_s, recording.isImporting() ? u"being imported"_s
                                   : recording.isRunning()
                                       ? u"running"_s
                                       : QString::fromLatin1(toWord(run.status)));
    facts.emplace_back(u"recorded by"_s, fromUtf8(run.product));
    if (!run.commandLine.empty()) facts.emplace_back(u"command"_s, fromUtf8(run.commandLine));
    addHosts(recording.summary.hosts, facts);
    addClocks(recording.report.clocks, facts);
    return facts;
}

}  // namespace shardscope::desktop
