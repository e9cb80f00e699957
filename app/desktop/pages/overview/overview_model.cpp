#include "app/desktop/pages/overview/overview_model.h"

#include "app/desktop/models/recording_texts.h"
#include "app/desktop/models/run_name.h"
#include "engine/run/config/run_config.h"
#include "engine/run/config/run_settings.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/run_facts.h"
#include "storage/model/step_facts.h"

#include <QDateTime>
#include <QLocale>
#include <QObject>
#include <algorithm>
#include <cmath>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using analysis::at;
using analysis::blockedIn;
using analysis::LedgerPart;

QString stepsText(const LedgerView& ledger) {
    if (!ledger.first) return u"no step"_s;
    if (ledger.first == ledger.last) return u"step %1"_s.arg(ledger.first->value);
    return u"steps %1–%2"_s.arg(ledger.first->value).arg(ledger.last->value);
}

QString ranksText(std::size_t ranks) {
    return formatCounted(static_cast<std::int64_t>(ranks), "rank");
}

/// Of a program without steps on all of its ranks.
QString programHeadline(const SelectedPart& part, const run::ProgramRun& program) {
    const QString name = fromUtf8(run::programTitle(program.command));
    if (const auto& median = part.report->stepSecondsMedian)
        return u"A step of %1 takes %2 (median of %3); what it is made of was not recorded."_s
            .arg(name, formatDuration({std::llround(*median * 1e9)}))
            .arg(part.report->steadySteps);
    return u"%1 ran for %2; no step was seen: %3."_s.arg(
        name, formatDuration({part.recording->summary.run.ended.ns}),
        lackText(*part.recording, analysis::Lack::kSteps));
}

/// Of a trace without kernels.
QString traceHeadline(const SelectedPart& part) {
    const QString lacking =
        part.summary->steps.empty() ? u"no steps and no kernels"_s : u"no kernels"_s;
    if (const auto* worst = part.report->worstMemory())
        return u"Memory peaks at %1 on rank %2; %3 are in this trace."_s
            .arg(formatBytes(worst->peak))
            .arg(worst->rank.value)
            .arg(lacking);
    if (part.recording->isImporting())
        return u"%1 of the trace so far; %2 yet."_s.arg(
            formatCounted(static_cast<std::int64_t>(part.report->events), "event"), lacking);
    if (const auto& median = part.report->stepSecondsMedian)
        return u"A step takes %1 (median of %2); what it is made of is unknown: no kernels are in "
               u"this trace."_s.arg(formatDuration({std::llround(*median * 1e9)}))
                   .arg(part.report->steadySteps);
    return u"A trace of %1: %2 are in it."_s.arg(
        formatCounted(static_cast<std::int64_t>(part.report->events), "event"), lacking);
}

/// The figures of the cards, what takes most first.
QString deviceHeadline(const SelectedPart& part, const DeviceSums& sums, const LedgerView& ledger) {
    struct Use {
        QString what;
        Duration time;
    };
    std::vector<Use> uses{{u"compute kernels"_s, sums.compute},
                          {u"communication kernels"_s, sums.communication},
                          {u"copies alone"_s, sums.copies},
                          {u"idle"_s, sums.unused}};
    std::stable_sort(uses.begin(), uses.end(),
                     [](const Use& a, const Use& b) { return a.time > b.time; });
    QStringList rest;
    for (std::size_t i = 1; i < uses.size() && uses[i].time.ns > 0; ++i)
        rest << u"%1 %2"_s.arg(uses[i].what, formatPercent(share(uses[i].time, sums.whole)));
    const QString basis = !part.report->withinSteps ? u"from the first kernel to the last"_s
                          : ledger.empty()
                              ? ranksText(part.recording->summary.ranks.size())
                              : u"%1, %2"_s.arg(ranksText(ledger.ranks.size()), stepsText(ledger));
    return u"Devices: %1 %2 of %3 (%4 of %5, %6)%7."_s.arg(
        uses.front().what, formatPercent(share(uses.front().time, sums.whole)),
        part.report->withinSteps ? u"step time"_s : u"the time"_s,
        formatDuration(uses.front().time), formatDuration(sums.whole), basis,
        rest.isEmpty() ? QString() : u"; "_s + rest.join(u", "_s));
}

/// What is said of the cores first is not said of them again.
bool leadsWithCores(const SelectedPart& part) {
    return !part.figures->ledger.empty() &&
           part.report->cores.takenOfSteps() >= analysis::kManyTaken;
}

QString ledgerHeadline(const LedgerView& ledger) {
    const auto& total = ledger.all.parts;
    const Duration wall = ledger.all.wall;
    const Duration blocked = blockedIn(total);
    const Duration compute = total[at(LedgerPart::kCompute)];
    const Duration idle = total[at(LedgerPart::kHostBound)] + total[at(LedgerPart::kLaunchBound)];
    const QString basis = u"%1, %2"_s.arg(ranksText(ledger.ranks.size()), stepsText(ledger));
    const Duration copies = total[at(LedgerPart::kCopies)];
    if (copies > idle && copies > blocked)
        return u"%1 of step time is compute; copies alone take %2 (%3 of %4, %5)."_s.arg(
            formatPercent(share(compute, wall)), formatPercent(share(copies, wall)),
            formatDuration(copies), formatDuration(wall), basis);
    if (idle > blocked)
        return u"%1 of step time is compute; the device idles %2 (%3 of %4, %5)."_s.arg(
            formatPercent(share(compute, wall)), formatPercent(share(idle, wall)),
            formatDuration(idle), formatDuration(wall), basis);
    if (blocked.ns == 0)
        return u"%1 of step time is compute (%2 of %3, %4); nothing is blocked in communication."_s
            .arg(formatPercent(share(compute, wall)), formatDuration(compute), formatDuration(wall),
                 basis);
    return u"%1 of step time is compute; %2 is blocked in communication (%3 of %4, %5)."_s.arg(
        formatPercent(share(compute, wall)), formatPercent(share(blocked, wall)),
        formatDuration(blocked), formatDuration(wall), basis);
}

/// "waiting for a core +1.20 s, compute +302 ms": what makes up most of the difference, in its
/// direction.
QString differencesText(const analysis::AgainstMedian& against) {
    constexpr std::size_t kMost = 2;
    constexpr double kLeast = 0.02;  // of the median step
    const bool longer = against.wall >= against.medianWall;
    std::vector<std::pair<Duration, LedgerPart>> parts;
    for (const LedgerPart part : kAll<LedgerPart>) {
        const Duration more = against.parts[at(part)] - against.medians[at(part)];
        const bool counts = share({std::abs(more.ns)}, against.medianWall) >= kLeast;
        if (counts && (more.ns > 0) == longer) parts.emplace_back(more, part);
    }
    std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
        return std::abs(a.first.ns) > std::abs(b.first.ns);
    });
    if (parts.size() > kMost) parts.resize(kMost);
    QStringList said;
    for (const auto& [more, part] : parts)
        said << u"%1 %2"_s.arg(QString::fromLatin1(toWord(part)), formatSignedDuration(more));
    return said.join(u", "_s);
}

/// Of one step, as slow steps are named: from the first rank's beginning to the last one's end.
QString stepHeadline(const SelectedPart& part, StepIndex step) {
    const auto& times = part.recording->figures->curves.times;
    const auto found = std::find_if(times.begin(), times.end(), [step](const QPointF& time) {
        return time.x() == static_cast<double>(step.value);
    });
    if (found == times.end()) return {};
    const auto duration = [](double ms) { return formatDuration({std::llround(ms * 1e6)}); };
    QString said = u"Step %1 took %2"_s.arg(step.value).arg(duration(found->y()));
    const auto& report = part.recording->report;
    if (report.stepSecondsMedian && *report.stepSecondsMedian > 0) {
        const double median = *report.stepSecondsMedian * 1e3;
        said += u", %1 × the median of %2 (%3)"_s.arg(formatNumber(found->y() / median))
                    .arg(report.steadySteps)
                    .arg(duration(median));
    }
    const QString differences = part.against ? differencesText(*part.against) : QString();
    return said + (differences.isEmpty() ? u"."_s : u": "_s + differences + u'.');
}

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

/// Hosts of one kind, which differ in name only.
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

void addKernels(const std::vector<FactRow>& rows, Facts& facts) {
    for (const Fact fact : kAll<Fact>)
        if (const std::string value = factText(rows, fact); !value.empty())
            facts.emplace_back(QString::fromLatin1(entryOf(fact)->title), fromUtf8(value));
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

QString overviewHeadline(const SelectedPart& part, const LedgerView& ledger) {
    if (!part.refusal.isEmpty())
        return u"Nothing to show for this selection: %1."_s.arg(part.refusal);
    if (const auto step = oneStep(part.selection))
        if (const QString said = stepHeadline(part, *step); !said.isEmpty()) return said;
    if (leadsWithCores(part))
        return u"Ranks were without a core for %1 of step time. "_s.arg(
                   formatPercent(part.report->cores.takenOfSteps())) +
               ledgerHeadline(ledger);
    if (!part.recording->isOwn())
        if (const DeviceSums sums = deviceSums(part); sums.whole.ns > 0)
            return deviceHeadline(part, sums, ledger);
    if (!ledger.empty()) return ledgerHeadline(ledger);
    if (const auto program = part.recording->program()) return programHeadline(part, *program);
    if (part.recording->isTrace()) return traceHeadline(part);
    if (part.recording->summary.steps.empty())
        return u"No step was finished; %1 events were recorded before the run ended."_s.arg(
            formatCount(static_cast<std::int64_t>(part.report->events)));
    if (part.summary->steps.empty()) return u"No whole step lies in the selection."_s;
    const auto& median = part.report->stepSecondsMedian;
    return median ? u"A step takes %1 (median of %2); what it is made of was not recorded."_s
                        .arg(formatDuration({static_cast<std::int64_t>(*median * 1e9)}))
                        .arg(part.report->steadySteps)
                  : u"What steps are made of was not recorded at this capture level."_s;
}

QString overviewSubline(const SelectedPart& part) {
    const auto& report = *part.report;
    QStringList parts;
    if (const auto step = oneStep(part.selection))
        if (const auto* slow = findSlow(part.recording->report, *step))
            parts << fromUtf8(slow->why);
    const auto finding = std::find_if(
        report.findings.begin(), report.findings.end(),
        [&](const auto& each) { return each.code != "cores-taken" || !leadsWithCores(part); });
    if (finding != report.findings.end()) parts << fromUtf8(finding->title) + u'.';
    parts << completenessText(*part.recording);
    const bool counts = !part.recording->isTrace();
    if (counts && report.events + report.dropped > 0)
        parts << u"%1 of %2 events dropped."_s.arg(
            formatCount(static_cast<std::int64_t>(report.dropped)),
            formatCount(static_cast<std::int64_t>(report.events + report.dropped)));
    if (report.lost > 0)
        parts << u"%1 events were lost on their way."_s.arg(
            formatCount(static_cast<std::int64_t>(report.lost)));
    return parts.join(u' ');
}

std::vector<TableColumn> partsColumns(const SelectedPart& part) {
    const LedgerView& ledger = part.figures->ledger;
    std::vector<TableColumn> columns{{QObject::tr("part"), {}, false, false, false, 208}};
    if (ledger.ranks.size() <= kMostRankBars)
        for (RankId rank : ledger.ranks)
            columns.push_back({QObject::tr("rank %1").arg(rank.value),
                               QObject::tr("of a step, mean of %1").arg(stepsText(ledger)), true,
                               false, false, 88});
    if (part.against) {
        columns.push_back({QObject::tr("median step"),
                           QObject::tr("median of %1 other steady steps, mean over ranks")
                               .arg(part.against->others),
                           true, false, false, 104});
        columns.push_back({QObject::tr("difference"),
                           QObject::tr("of this step, mean over ranks, to that median"), true,
                           false, false, 104});
    }
    columns.push_back({QObject::tr("of step time"),
                       QObject::tr("of all step time in the selection"), true, false, false, 104});
    columns.push_back({QObject::tr("definition"), {}, false, false, true, 240});
    return columns;
}

std::vector<std::vector<TableCell>> partsRows(const SelectedPart& part) {
    const LedgerView& ledger = part.figures->ledger;
    std::vector<std::vector<TableCell>> rows;
    std::vector<analysis::LedgerParts> means;
    if (ledger.ranks.size() <= kMostRankBars)
        for (const LedgerSum& sum : ledger.ofRanks) means.push_back(sum.mean());
    const auto timeCell = [](Duration value, const QString& text) {
        return TableCell{text, u"%1 ns"_s.arg(formatCount(value.ns)), static_cast<double>(value.ns),
                         Meaning::kNone};
    };
    for (LedgerPart each : kAll<LedgerPart>) {
        const Duration sum = ledger.all.parts[at(each)];
        const Duration median = part.against ? part.against->medians[at(each)] : Duration{};
        if (sum.ns == 0 && median.ns == 0) continue;
        std::vector<TableCell> row{{QString::fromLatin1(toWord(each)), {}, 0, meaningOf(each)}};
        for (const analysis::LedgerParts& mean : means)
            row.push_back(timeCell(mean[at(each)], formatDuration(mean[at(each)])));
        if (part.against) {
            row.push_back(timeCell(median, formatDuration(median)));
            const Duration more = part.against->parts[at(each)] - median;
            row.push_back(timeCell(more, formatSignedDuration(more)));
        }
        const double fraction = share(sum, ledger.all.wall);
        row.push_back({formatPercent(fraction),
                       u"%1 of %2"_s.arg(formatDuration(sum), formatDuration(ledger.all.wall)),
                       fraction, Meaning::kNone});
        row.push_back({QString::fromLatin1(analysis::definition(each)), {}, 0, Meaning::kNone});
        rows.push_back(std::move(row));
    }
    return rows;
}

std::vector<std::pair<QString, QString>> runFacts(const OpenRecording& recording) {
    const RunFacts& run = recording.summary.run;
    const QString ranks = formatCounted(run.worldSize, "rank");
    Facts facts;
    for (const auto& [title, text] : {std::pair(u"name"_s, runName(recording.summary.facts)),
                                      std::pair(u"tags"_s, runTags(recording.summary.facts))})
        if (!text.isEmpty()) facts.emplace_back(title, text);
    const auto program = recording.program();
    if (program) {
        facts.emplace_back(u"program"_s, fromUtf8(run::commandText(program->command)));
        facts.emplace_back(u"folder"_s, fromUtf8(program->folder));
        const bool none =
            run.worldSize == 0 || analysis::hasNoRank(run, recording.summary.processes);
        facts.emplace_back(u"ranks"_s, none ? u"none"_s : ranks);
        facts.emplace_back(u"model"_s,
                           run.parameters > 0
                               ? formatCounted(run.parameters, "parameter")
                               : u"unknown: "_s + lackText(recording, analysis::Lack::kModel));
        // No setting of the program's: it may well be configured otherwise.
        if (const std::string seen = analysis::seenText(recording.report.seen); !seen.empty())
            facts.emplace_back(u"seen in steps"_s, fromUtf8(seen));
        facts.emplace_back(u"capture"_s, QString::fromLatin1(toWord(program->capture)));
    } else if (recording.isTrace()) {
        facts.emplace_back(u"run"_s, u"a trace, %1"_s.arg(ranks));
    } else {
        facts.emplace_back(u"model"_s, u"%1, %2 parameters"_s.arg(fromUtf8(run.model),
                                                                  formatCount(run.parameters)));
        facts.emplace_back(u"strategy"_s, u"%1 on %2"_s.arg(fromUtf8(run.strategy), ranks));
        addSettings(recording, facts);
    }
    if (const QString started = startedText(run); !started.isEmpty())
        facts.emplace_back(u"started"_s, started);
    facts.emplace_back(u"recorded"_s, formatDuration({run.ended.ns}));
    facts.emplace_back(u"state"_s, recording.isImporting() ? u"being imported"_s
                                   : recording.isRunning() ? u"running"_s
                                   // a trace does not say how its program ended
                                   : recording.isTrace() ? u"imported"_s
                                                         : QString::fromLatin1(toWord(run.status)));
    facts.emplace_back(u"recorded by"_s, fromUtf8(run.product));
    if (!run.commandLine.empty() && !program)
        facts.emplace_back(u"command"_s, fromUtf8(run.commandLine));
    addHosts(recording.summary.hosts, facts);
    addKernels(recording.summary.facts, facts);
    addClocks(recording.report.clocks, facts);
    return facts;
}

}  // namespace shardscope::desktop
