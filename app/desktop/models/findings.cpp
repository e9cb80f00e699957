// Findings, run facts and completeness: the words beside the Overview's pictures.
#include "app/desktop/models/overview_model.h"

#include <QDateTime>
#include <QLocale>
#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr double kSlowStepFactor = 1.15;

/// With a capital and a full stop.
QString sentence(QString text) {
    if (text.isEmpty()) return text;
    text[0] = text[0].toUpper();
    return text.endsWith(u'.') ? text : text + u'.';
}

Selection stepSelection(const OpenRecording& recording, StepIndex step) {
    Selection selection;
    for (const StepFacts& facts : recording.summary.steps) {
        if (facts.step != step) continue;
        if (!selection.range) {
            selection.range = facts.range();
        } else {
            selection.range->begin = std::min(selection.range->begin, facts.start);
            selection.range->end = std::max(selection.range->end, facts.end);
        }
    }
    return selection;
}

void addWaiting(const OpenRecording& recording, std::vector<Finding>& found) {
    const auto& waiting = recording.report.waiting;
    if (waiting.empty() || waiting.front().waited.ns == 0) return;
    const auto& worst = waiting.front();
    Finding finding;
    finding.severity = Severity::kWarning;
    finding.title = u"Rank %1 arrives last"_s.arg(worst.late.value);
    finding.detail = u"The others waited %1 for it, in %2 collectives."_s.arg(
        formatDuration(worst.waited), formatCount(worst.collectives));
    Selection evidence;
    Duration longest;
    for (const RankEvents& events : recording.ranks) {
        for (const CollectiveEvent& event : events.collectives) {
            const Duration waited = event.lastArrival() - event.start;
            if (events.rank == worst.late || waited <= longest || event.step == kNoStep) continue;
            longest = waited;
            const Duration margin{
                std::max<std::int64_t>((event.end - event.start).ns * 2, 1'000'000)};
            evidence.range = TimeRange{event.start - margin, event.end + margin}.intersection(
                recording.bounds());
        }
    }
    if (longest.ns > 0) {
        finding.detail += u" Longest single wait: %1."_s.arg(formatDuration(longest));
        finding.evidence = evidence;
        finding.page = u"timeline"_s;
    }
    found.push_back(finding);
}

void addSlowStep(const OpenRecording& recording, const LedgerView& ledger,
                 std::vector<Finding>& found) {
    if (ledger.ranks.empty() || ledger.rows.size() < 4) return;
    const RankId rank = ledger.ranks.front();
    const Duration median = ledger.medianWall(rank);
    // a validation pass is asked for, not slow
    const auto training = [](const analysis::LedgerRow& row) {
        return row.wall - row.parts[static_cast<std::size_t>(analysis::LedgerPart::kEvaluation)];
    };
    const analysis::LedgerRow* slowest = nullptr;
    for (const auto& row : ledger.rows) {
        if (row.rank == rank && (slowest == nullptr || training(row) > training(*slowest)))
            slowest = &row;
    }
    if (slowest == nullptr || median.ns == 0) return;
    const double factor =
        static_cast<double>(training(*slowest).ns) / static_cast<double>(median.ns);
    if (factor < kSlowStepFactor) return;
    const auto typical = ledger.median(rank);
    std::size_t grown = 0;
    for (std::size_t i = 1; i < typical.size(); ++i) {
        if (slowest->parts[i] - typical[i] > slowest->parts[grown] - typical[grown]) grown = i;
    }
    Finding finding;
    finding.severity = Severity::kWarning;
    finding.title =
        u"Step %1 took %2 × the median"_s.arg(slowest->step.value).arg(formatNumber(factor));
    finding.detail = u"%1 instead of %2; most of it in %3 (%4 instead of %5)."_s.arg(
        formatDuration(training(*slowest)), formatDuration(median),
        QString::fromLatin1(analysis::toWord(static_cast<analysis::LedgerPart>(grown))),
        formatDuration(slowest->parts[grown]), formatDuration(typical[grown]));
    finding.evidence = stepSelection(recording, slowest->step);
    finding.page = u"timeline"_s;
    found.push_back(finding);
}

void addMemory(const OpenRecording& recording, std::vector<Finding>& found) {
    for (const auto& memory : recording.report.memory) {
        if (!memory.known || memory.theory.count == 0) continue;
        const double ratio =
            static_cast<double>(memory.managed().count) / static_cast<double>(memory.theory.count) -
            1;
        if (ratio < 0.02) continue;
        Finding finding;
        finding.severity = ratio > 0.10 ? Severity::kWarning : Severity::kNote;
        finding.title = u"Memory of rank %1 is %2 above theory"_s.arg(memory.rank.value)
                            .arg(formatPercent(ratio));
        finding.detail = u"%1 at the peak, %2 expected."_s.arg(formatBytes(memory.managed()),
                                                               formatBytes(memory.theory));
        finding.page = u"memory"_s;
        found.push_back(finding);
        return;
    }
}

}  // namespace

std::vector<Finding> findings(const OpenRecording& recording, const LedgerView& ledger) {
    std::vector<Finding> found;
    for (const Diagnostic& diagnostic : recording.report.diagnostics) {
        Finding finding;
        finding.severity = diagnostic.severity;
        finding.title = sentence(fromUtf8(diagnostic.message));
        finding.detail = sentence(fromUtf8(diagnostic.remedy));
        found.push_back(finding);
    }
    for (const std::string& missing : recording.report.completeness.missing) {
        Finding finding;
        const bool known = recording.report.completeness.known;
        finding.severity = known ? Severity::kProblem : Severity::kNote;
        finding.title = known ? u"Something is missing from the recording"_s
                              : u"Whether the recording is complete cannot be told"_s;
        finding.detail = sentence(fromUtf8(missing));
        found.push_back(finding);
    }
    addWaiting(recording, found);
    addSlowStep(recording, ledger, found);
    addMemory(recording, found);
    std::stable_sort(found.begin(), found.end(),
                     [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
    return found;
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
    }
    if (!recording.summary.hosts.empty() && !recording.summary.hosts.front().name.empty()) {
        const HostFacts& host = recording.summary.hosts.front();
        facts.emplace_back(u"host"_s,
                           u"%1, %2, %3 cores, %4"_s.arg(fromUtf8(host.name), fromUtf8(host.cpu))
                               .arg(host.cores)
                               .arg(formatBytes(host.memory)));
    }
    if (run.startedUnixNs > 0) {
        const auto started = QDateTime::fromMSecsSinceEpoch(run.startedUnixNs / 1'000'000);
        facts.emplace_back(u"started"_s,
                           QLocale(QLocale::English).toString(started, u"d MMM yyyy, HH:mm:ss"_s));
    }
    facts.emplace_back(u"length"_s, formatDuration(recording.bounds().duration()));
    facts.emplace_back(u"state"_s, QString::fromLatin1(toWord(run.status)));
    facts.emplace_back(u"recorded by"_s, fromUtf8(run.product));
    if (!run.commandLine.empty()) facts.emplace_back(u"command"_s, fromUtf8(run.commandLine));
    return facts;
}

QString incompleteText(const OpenRecording& recording) {
    const auto& report = recording.report;
    if (!recording.summary.complete) {
        return u"This recording was not finished: its writer stopped. %1 were recovered; what came "
               u"after is lost."_s.arg(formatDuration(recording.bounds().duration()));
    }
    if (report.dropped > 0) {
        return u"%1 of %2 events were dropped because a queue was full: counts and sums are too low."_s
            .arg(formatCount(static_cast<std::int64_t>(report.dropped)),
                 formatCount(static_cast<std::int64_t>(report.events + report.dropped)));
    }
    if (report.completeness.known && !report.completeness.complete &&
        !report.completeness.missing.empty()) {
        return fromUtf8(report.completeness.missing.front());
    }
    if (recording.summary.run.status == RunStatus::kFailed ||
        recording.summary.run.status == RunStatus::kKilled) {
        return u"The run did not reach its last step; everything up to its end is here."_s;
    }
    return {};
}

}  // namespace shardscope::desktop
