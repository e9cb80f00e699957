// Findings and run facts: the words beside the Overview's pictures.
#include "app/desktop/pages/overview/overview_model.h"
#include "engine/run/config/modelled_link.h"
#include "profiler/analysis/notices.h"

#include <QDateTime>
#include <QLocale>
#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// What the report says, with the page that shows it.
Finding shown(const OpenRecording& recording, const analysis::RunFinding& finding) {
    Finding row;
    row.severity = finding.severity;
    row.title = fromUtf8(finding.title);
    row.detail = fromUtf8(finding.detail);
    if (!finding.remedy.empty()) row.detail += u" What to try: %1."_s.arg(fromUtf8(finding.remedy));
    if (finding.code.starts_with("memory-")) row.page = u"memory"_s;
    if (!finding.range) return row;
    row.page = u"timeline"_s;
    // A little of what lies around it, so that it can be seen to be long.
    const Duration margin{std::max<std::int64_t>(finding.range->duration().ns / 10, 1'000'000)};
    Selection evidence;
    evidence.range =
        TimeRange{finding.range->begin - margin, finding.range->end + margin}.intersection(
            recording.bounds());
    row.evidence = evidence;
    return row;
}

}  // namespace

std::vector<Finding> findings(const SelectedPart& part) {
    std::vector<Finding> found;
    for (const analysis::RunFinding& notice : analysis::notices(*part.report))
        found.push_back(shown(*part.recording, notice));
    return found;
}

std::vector<QString> verdicts(const SelectedPart& part) {
    const analysis::Judged& judged = part.report->judged;
    std::vector<QString> said;
    if (judged.enough && analysis::notices(*part.report).empty())
        said.push_back(u"Nothing stands out."_s);
    for (const std::string& untold : judged.untold)
        said.push_back(u"Could not tell: %1"_s.arg(fromUtf8(untold)));
    return said;
}

std::vector<std::pair<QString, QString>> runFacts(const OpenRecording& recording) {
    const RunFacts& run = recording.summary.run;
    const QString ranks = run.worldSize == 1 ? u"1 rank"_s : u"%1 ranks"_s.arg(run.worldSize);
    std::vector<std::pair<QString, QString>> facts;
    if (recording.isImported()) {
        facts.emplace_back(u"run"_s, u"imported, %1"_s.arg(ranks));
    } else {
        facts.emplace_back(u"model"_s, u"%1, %2 parameters"_s.arg(fromUtf8(run.model),
                                                                  formatCount(run.parameters)));
        facts.emplace_back(u"strategy"_s, u"%1 on %2"_s.arg(fromUtf8(run.strategy), ranks));
        const auto config = run::parseRunConfigJson(run.configJson);
        if (const std::string link = config ? run::modelledLink(*config) : ""; !link.empty())
            facts.emplace_back(u"link"_s, fromUtf8(link));
    }
    for (const HostFacts& host : recording.summary.hosts) {
        if (host.name.empty()) continue;
        facts.emplace_back(u"host"_s,
                           u"%1, %2, %3 cores, %4"_s.arg(fromUtf8(host.name), fromUtf8(host.cpu))
                               .arg(host.cores)
                               .arg(formatBytes(host.memory)));
    }
    if (recording.report.clocks.several())
        for (const analysis::HostClock& host : recording.report.clocks.hosts())
            facts.emplace_back(u"clock"_s, u"%1: %2"_s.arg(fromUtf8(host.name),
                                                           fromUtf8(analysis::clockText(host))));
    if (run.startedUnixNs > 0) {
        const auto started = QDateTime::fromMSecsSinceEpoch(run.startedUnixNs / 1'000'000);
        facts.emplace_back(u"started"_s,
                           QLocale(QLocale::English).toString(started, u"d MMM yyyy, HH:mm:ss"_s));
    }
    facts.emplace_back(u"recorded"_s, formatDuration({run.ended.ns}));
    facts.emplace_back(u"state"_s, QString::fromLatin1(toWord(run.status)));
    facts.emplace_back(u"recorded by"_s, fromUtf8(run.product));
    if (!run.commandLine.empty()) facts.emplace_back(u"command"_s, fromUtf8(run.commandLine));
    return facts;
}

}  // namespace shardscope::desktop
