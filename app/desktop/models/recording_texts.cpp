#include "app/desktop/models/recording_texts.h"

#include "app/desktop/models/format.h"
#include "engine/run/config/run_config.h"
#include "engine/run/config/run_settings.h"
#include "profiler/analysis/rules/notices.h"
#include "storage/model/host_facts.h"
#include "storage/model/plain_text.h"
#include "storage/model/rank_facts.h"
#include "storage/model/repaired.h"
#include "storage/model/step_facts.h"

#include <QDateTime>
#include <QLocale>
#include <QObject>
#include <QStringList>
#include <algorithm>
#include <limits>
#include <map>
#include <optional>

namespace shardscope::desktop {

using namespace Qt::StringLiterals;

QString importingText(const ImportProgress& progress) {
    if (progress.again)
        return u"This trace is being imported. It is read a second time, because its time base "
               u"or steps appeared late in the file; shown are the results of the first pass."_s;
    return u"This trace is being imported: %1 read so far. Flows, memory, collectives and "
           u"hardware follow at the end."_s.arg(
               ValueText{QString::number(static_cast<int>(progress.share * 100)), u"%"_s}.joined());
}

QString notYetText(const OpenRecording& recording) {
    return recording.isImporting() ? u"not read yet: the trace is being imported"_s : QString();
}

QString leftOutText(const OpenRecording& recording) {
    const auto& basis = recording.report.basis;
    QStringList sentences;
    for (const std::string& phrase : basis.leftOut) {
        QString sentence = fromUtf8(phrase);
        sentence[0] = sentence[0].toUpper();
        sentences << sentence + u'.';
    }
    if (!basis.whole())
        sentences << u"Shares and sums are of the %1 of %2 steps that have detail."_s.arg(
            formatCount(basis.detailed), formatCount(basis.steps));
    return sentences.join(u' ');
}

QString leftOutWord(const DetailFacts& detail) {
    return QString::fromLatin1(fateOf(detail.reason));
}

QString completenessText(const OpenRecording& recording) {
    const analysis::Completeness& completeness = recording.report.completeness;
    if (recording.isImporting())
        return u"The trace is being imported: this is what has been read so far."_s;
    if (recording.isRunning())
        return u"The run is still recording: this is what there is so far."_s;
    if (completeness.complete)
        return u"Recording complete: every event that a step must have is there."_s;
    if (completeness.known) return u"Recording incomplete."_s;
    if (recording.program())
        return u"Whether events are missing is unknown: a program does not say how many a step "
               u"must have."_s;
    return recording.isTrace()
               ? u"Whether events are missing is unknown: this is an imported trace."_s
               : u"Whether events are missing is unknown at this capture level."_s;
}

QString completenessWord(const OpenRecording& recording) {
    const analysis::Completeness& completeness = recording.report.completeness;
    if (recording.isImporting()) return u"importing"_s;
    if (recording.isRunning()) return u"running"_s;
    if (!recording.summary.complete) return u"not finalised"_s;
    if (completeness.complete) return u"complete ✓"_s;
    return completeness.known ? u"incomplete"_s : u"completeness unknown"_s;
}

bool wasSalvaged(const OpenRecording& recording) {
    const auto& diagnostics = recording.summary.diagnostics;
    return std::any_of(diagnostics.begin(), diagnostics.end(),
                       [](const Diagnostic& each) { return each.code == kRepairedCode; });
}

QString absenceText(const OpenRecording& recording, CaptureLevel least, const QString& what) {
    if (wasSalvaged(recording)) return u"lost: the file was damaged"_s;
    const auto config = run::parseRunConfigJson(recording.summary.run.configJson);
    const auto program = recording.program();
    if ((config && config->capture < least) || (program && program->capture < least))
        return u"not recorded: %1 are from capture level %2 on"_s.arg(what,
                                                                      fromUtf8(toWord(least)));
    if (analysis::hasNoRank(recording.summary.run, recording.summary.processes))
        return u"none: %1"_s.arg(lackText(recording, analysis::Lack::kPhases));
    return u"none in the selection"_s;
}

QString lackText(const OpenRecording& recording, analysis::Lack lack) {
    return fromUtf8(analysis::howToGet(recording.summary, lack));
}

QString noMemoryText(const OpenRecording& recording) {
    if (recording.isImporting()) return notYetText(recording);
    if (recording.isTrace()) return u"no memory events are in this trace"_s;
    if (recording.program() && recording.summary.events.memory == 0)
        return u"not recorded: %1"_s.arg(lackText(recording, analysis::Lack::kMemory));
    return absenceText(recording, CaptureLevel::kFull, u"memory events"_s);
}

QString noCommunicationText(const SelectedPart& part) {
    if (part.recording->isTrace())
        return part.report->marked.empty()
                   ? u"no communication kernel is in this trace"_s
                   : u"collectives are marked only: their kernels are not in this trace"_s;
    if (analysis::hasNoRank(part.recording->summary.run, part.recording->summary.processes))
        return u"none: %1"_s.arg(lackText(*part.recording, analysis::Lack::kCollectives));
    if (part.summary->run.worldSize <= 1) return u"none: the run has one rank"_s;
    // Of a program they are recorded at every level.
    if (part.recording->program() && part.recording->summary.events.collectives == 0)
        return u"none: %1"_s.arg(lackText(*part.recording, analysis::Lack::kCollectives));
    if (part.recording->summary.events.collectives == 0)
        return absenceText(*part.recording, CaptureLevel::kLight, u"collectives"_s);
    return u"none in the selection"_s;
}

QString noOverlapText(const SelectedPart& part) {
    if (part.report->overlap.computeKnown) return noCommunicationText(part);
    return u"unknown: %1"_s.arg(lackText(*part.recording, analysis::Lack::kPhases));
}

namespace {

/// Up to which all ranks finished their steps and nothing is missing from them; absent: none.
std::optional<StepIndex> lastWholeStep(const OpenRecording& recording) {
    std::map<RankId, std::int32_t> last;
    for (const StepFacts& step : recording.summary.steps) {
        const auto [found, isNew] = last.emplace(step.rank, step.step.value);
        if (!isNew) found->second = std::max(found->second, step.step.value);
    }
    if (last.empty() || static_cast<std::int64_t>(last.size()) < recording.summary.run.worldSize)
        return std::nullopt;
    std::int32_t whole = std::numeric_limits<std::int32_t>::max();
    for (const auto& [rank, step] : last) whole = std::min(whole, step);
    for (const analysis::CountGap& gap : recording.report.completeness.gaps)
        whole = std::min(whole, gap.step.value - 1);
    return whole < 0 ? std::nullopt : std::optional(StepIndex{whole});
}

/// Which rank or host it was and how it ended, without its last words: those are on Problems.
QString endOfRun(const RecordingSummary& summary) {
    for (const Diagnostic& each : summary.diagnostics)
        if (each.code == "rank-died" || each.code == "host-lost" || each.code == "run-failed")
            return fromUtf8(analysis::sentence(each.message.substr(0, each.message.find("; "))));
    return summary.run.status == RunStatus::kKilled ? u"The run was killed."_s
                                                    : u"The run failed."_s;
}

/// Empty: it ended by itself, or was stopped.
QString failureText(const OpenRecording& recording) {
    const RecordingSummary& summary = recording.summary;
    if (summary.run.status != RunStatus::kFailed && summary.run.status != RunStatus::kKilled)
        return {};
    const analysis::Report& report = recording.report;
    const bool lacks = (report.completeness.known && !report.completeness.complete) ||
                       report.dropped > 0 || report.lost > 0;
    if (!lacks)
        return endOfRun(summary) +
               u" It did not reach its last step; everything up to its end is here."_s;
    const auto whole = lastWholeStep(recording);
    return endOfRun(summary) +
           (whole ? u" Steps are complete up to step %1; Problems lists what is missing."_s.arg(
                        whole->value)
                  : u" No step is complete; Problems lists what is missing."_s);
}

/// Of events that did not come into the recording.
QString lossText(const OpenRecording& recording) {
    const auto& report = recording.report;
    if (report.dropped > 0) {
        return u"%1 of %2 events %3: counts and sums are too low."_s.arg(
            formatCount(static_cast<std::int64_t>(report.dropped)),
            formatCount(static_cast<std::int64_t>(report.events + report.dropped)),
            wasSalvaged(recording) ? u"were lost with the part of the file that was damaged"_s
                                   : u"were dropped because a queue was full"_s);
    }
    if (report.lost > 0) {
        return u"%1 of %2 events that ranks counted were lost on their way into the recording: "
               u"counts and sums are too low."_s.arg(
                   formatCount(static_cast<std::int64_t>(report.lost)),
                   formatCount(
                       static_cast<std::int64_t>(report.lost + report.dropped + report.events)));
    }
    return {};
}

}  // namespace

QString incompleteText(const OpenRecording& recording) {
    if (recording.isImporting()) return importingText(recording.imported);
    if (recording.isRunning())
        return u"This run is still recording: shown is what there is so far."_s;
    if (!recording.summary.complete) {
        return u"This recording was not finished: its writer stopped. %1 were recovered; what came "
               u"after is lost."_s.arg(formatDuration(recording.bounds().duration()));
    }
    for (const QString& text : {failureText(recording), lossText(recording)})
        if (!text.isEmpty()) return text;
    const analysis::Completeness& completeness = recording.report.completeness;
    if (!completeness.known || completeness.missing.empty()) return {};
    return fromUtf8(analysis::sentence(completeness.missing.front()));
}

QString sharedDeviceText(const OpenRecording& recording) {
    for (const DeviceFacts& device : recording.summary.devices) {
        if (device.sharedBy < 2) continue;
        return u"Shared device: %1 ranks take turns on one %2. Times here do not show how fast "
               u"the run would be with one device per rank."_s.arg(QString::number(device.sharedBy),
                                                                   fromUtf8(device.name));
    }
    return {};
}

QString startedText(const RunFacts& run) {
    if (run.startedUnixNs <= 0) return {};
    const auto started = QDateTime::fromMSecsSinceEpoch(run.startedUnixNs / 1'000'000);
    return QLocale(QLocale::English).toString(started, u"d MMM yyyy, HH:mm:ss"_s);
}

QString occasionText(const OpenRecording& recording) {
    const RecordingSummary& summary = recording.summary;
    QStringList facts;
    if (const QString started = startedText(summary.run); !started.isEmpty())
        facts << u"started %1"_s.arg(started);
    QStringList hosts;
    for (const HostFacts& host : summary.hosts)
        if (!host.name.empty()) hosts << fromUtf8(printableLine(host.name));
    if (!hosts.isEmpty()) facts << u"on %1"_s.arg(hosts.join(u", "_s));
    if (const auto steps = recording.stepsIn(recording.bounds()))
        facts << u"steps %1 to %2"_s.arg(steps->first.value).arg(steps->last.value);
    if (facts.isEmpty()) return {};
    facts.front()[0] = facts.front()[0].toUpper();
    return facts.join(u" · "_s) + u'.';
}

QString modelledLinkText(const OpenRecording& recording) {
    const auto config = run::parseRunConfigJson(recording.summary.run.configJson);
    const std::string link = config ? run::modelledLink(*config) : "";
    if (link.empty()) return {};
    return u"The link between ranks is %1: times of collectives are those of the model."_s.arg(
        fromUtf8(link));
}

QString selectionText(const OpenRecording& recording, const Selection& selection) {
    QStringList parts;
    const TimeRange range = recording.timeOf(selection);
    if (const auto steps = recording.stepsOf(selection)) {
        parts << (steps->first == steps->last
                      ? QObject::tr("step %1").arg(steps->first.value)
                      : QObject::tr("steps %1–%2").arg(steps->first.value).arg(steps->last.value));
    }
    if (selection.ranks.empty()) {
        parts << QObject::tr("ranks all");
    } else {
        QStringList ranks;
        for (RankId rank : selection.ranks) ranks << QString::number(rank.value);
        parts << (ranks.size() == 1 ? QObject::tr("rank %1") : QObject::tr("ranks %1"))
                     .arg(ranks.join(u", "_s));
    }
    const Duration resolution{std::max<std::int64_t>(1, range.duration().ns / 1000)};
    parts << u"%1 – %2"_s.arg(formatInstant(range.begin, resolution),
                              formatInstant(range.end, resolution));
    return parts.join(u" · "_s);
}

}  // namespace shardscope::desktop
