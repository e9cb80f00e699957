#include "app/desktop/pages/communication/communication_texts.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/ledger_view.h"
#include "app/desktop/models/recording_texts.h"
#include "profiler/questions/communication.h"
#include "storage/model/rank_facts.h"

#include <QStringList>
#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using analysis::at;
using analysis::blockedIn;
using analysis::ExposureReason;
using analysis::LedgerPart;

QString ranksText(std::size_t ranks) {
    return formatCounted(static_cast<std::int64_t>(ranks), "rank");
}

QString basisText(const LedgerView& ledger) {
    const QString ranks = ranksText(ledger.ranks.size());
    if (!ledger.first) return ranks;
    if (ledger.first == ledger.last) return u"%1, step %2"_s.arg(ranks).arg(ledger.first->value);
    return u"%1, steps %2–%3"_s.arg(ranks).arg(ledger.first->value).arg(ledger.last->value);
}

bool hasCommunication(const SelectedPart& part) {
    return part.report->overlap.communication.ns > 0;
}

QString capitalised(QString text) {
    if (!text.isEmpty()) text[0] = text[0].toUpper();
    return text;
}

QString overlapText(const analysis::Overlap& overlap) {
    return u"%1 of communication is hidden behind compute (%2 of %3; %4 exposed)"_s.arg(
        formatPercent(overlap.ratio().value_or(0)), formatDuration(overlap.hidden),
        formatDuration(overlap.communication), formatDuration(overlap.exposed));
}

QString ledgerHeadline(const SelectedPart& part, const LedgerView& ledger) {
    const Duration blocked = blockedIn(ledger.all.parts), wall = ledger.all.wall;
    const QString answer = u"%1 of step time is blocked in communication (%2 of %3, %4)"_s.arg(
        formatPercent(share(blocked, wall)), formatDuration(blocked), formatDuration(wall),
        basisText(ledger));
    if (!knowsWaiting(part)) return answer + u"; how much of it is waiting is unknown."_s;
    return answer + u", of which %1 is waiting for the slowest rank."_s.arg(
                        formatDuration(ledger.all.parts[at(LedgerPart::kWaiting)]));
}

}  // namespace

std::optional<NothingText> noCommunicationAtAll(const SelectedPart& part) {
    const OpenRecording& recording = *part.recording;
    if (recording.isOwn() && recording.summary.run.worldSize == 1)
        return NothingText{
            u"One rank: there is nothing to communicate"_s,
            u"Collectives of one rank move no data and wait for no other rank. Record with "
            u"--ranks 2 or more to see what communication costs."_s};
    if (recording.summary.events.collectives > 0 || recording.report.overlap.communication.ns > 0)
        return std::nullopt;
    if (recording.isImporting())
        return NothingText{u"Collectives are not read yet"_s,
                           u"They come at the end of the import."_s};
    if (recording.isTrace() && !recording.report.marked.empty())
        return NothingText{u"Collectives are marked in this trace, not recorded"_s,
                           fromUtf8(questions::markedText(recording.report.marked))};
    if (recording.program())
        return NothingText{u"No communication was recorded"_s,
                           capitalised(noCommunicationText(part)) +
                               u". Collectives of torch.distributed are recorded at every "
                               u"capture level."_s};
    if (recording.isTrace())
        return NothingText{
            u"No communication is in this trace"_s,
            u"Neither a collective nor a communication kernel (NCCL) is in it: either this "
            u"part of the program does not communicate, or the tracer did not record it."_s};
    const QString why = noCommunicationText(part);
    return NothingText{why.startsWith(u"not recorded"_s) || why.startsWith(u"lost"_s)
                           ? u"Collectives were not recorded"_s
                           : u"There are no collectives in this recording"_s,
                       capitalised(why) + u". Record with --capture light or full."_s};
}

QString communicationHeadline(const SelectedPart& part) {
    if (!part.refusal.isEmpty())
        return u"Nothing to show for this selection: %1."_s.arg(part.refusal);
    const LedgerView& ledger = part.figures->ledger;
    if (!hasCommunication(part) && blockedIn(ledger.all.parts).ns == 0)
        return u"No communication: %1."_s.arg(noCommunicationText(part));
    if (!ledger.empty()) return ledgerHeadline(part, ledger);
    if (!part.report->overlap.computeKnown)
        return u"%1 went into communication; what of it compute hid is %2."_s.arg(
            formatDuration(part.report->overlap.communication), noOverlapText(part));
    return overlapText(part.report->overlap) + u"; what steps are blocked in was not recorded."_s;
}

QString overlapSentence(const SelectedPart& part) {
    const analysis::Overlap& overlap = part.report->overlap;
    if (!overlap.ratio()) return {};
    const QString reached = overlapText(overlap);
    const auto limit = overlap.limit(), ofLimit = overlap.reachedOfLimit();
    if (!limit)
        return reached + u". The most that could be hidden is unknown: %1."_s.arg(
                             sharedDeviceText(*part.recording).isEmpty()
                                 ? u"what needs which collective, and when, is not recorded"_s
                                 : u"ranks take turns on a device"_s);
    if (!ofLimit)
        return reached +
               u". The schedule could hide at most %1 of moving data."_s.arg(formatPercent(*limit));
    return reached +
           u". The schedule could hide at most %1 of moving data; %2 of that is reached."_s.arg(
               formatPercent(*limit), formatPercent(*ofLimit));
}

QString reasonSentence(const CommunicationFrame& frame) {
    Duration exposed;
    for (const analysis::ReasonSum& sum : frame.communication.reasons) exposed += sum.exposed;
    if (exposed.ns == 0) return {};
    const analysis::ReasonSum& most = frame.communication.reasons.front();
    // a share alone: each collective is counted by itself, and two that are exposed at once make
    // more than the time that is
    const QString share =
        formatPercent(static_cast<double>(most.exposed.ns) / static_cast<double>(exposed.ns));
    switch (most.reason) {
        case ExposureReason::kWaited:
            return u"What holds it back most: collectives wait for a rank (%1 of what is exposed)."_s
                .arg(share);
        case ExposureReason::kQueued:
            return u"What holds it back most: collectives queue behind one another (%1 of what is "
                   u"exposed)."_s.arg(share);
        case ExposureReason::kLate:
            return u"What holds it back most: collectives are issued late (%1 of what is exposed)."_s
                .arg(share);
        case ExposureReason::kLong:
            return u"What holds it back most: collectives are longer than the compute beside them "
                   u"(%1 of what is exposed)."_s.arg(share);
        case ExposureReason::kNeeded:
            return u"What holds it back most: ranks that share layers need collectives at once (%1 "
                   u"of what is exposed)."_s.arg(share);
        case ExposureReason::kUnknown:
            return u"What holds it back is unknown: the recording does not say when ranks arrived, "
                   u"or when collectives were asked for."_s;
        case ExposureReason::kNone:
            break;
    }
    return u"No collective is exposed for more than %1 of its time."_s.arg(
        formatPercent(analysis::kLeastExposed));
}

QString skewSentence(const CommunicationFrame& frame) {
    const analysis::ArrivalSkew& skew = frame.communication.skew;
    if (skew.known == 0)
        return skew.unknown == 0
                   ? u"No collectives of steps in the selection."_s
                   : u"The last rank to arrive is unknown for %1: arrivals on "
                     u"all ranks of the group are not recorded or not selected, or differ by less "
                     u"than the uncertainty of the hosts' clocks."_s.arg(
                         formatCounted(skew.unknown, "collective"));
    const analysis::LastComer& worst = skew.ranks.front();
    // Of equal ranks one always costs a little more.
    constexpr double kTie = 0.9;
    const bool tie = skew.ranks.size() > 1 && static_cast<double>(skew.ranks[1].waited.ns) >=
                                                  kTie * static_cast<double>(worst.waited.ns);
    QString text =
        tie ? u"Ranks %1 and %2 cost the others about as much (%3 and %4): none is late by itself."_s
                  .arg(worst.rank.value)
                  .arg(skew.ranks[1].rank.value)
                  .arg(formatDuration(worst.waited), formatDuration(skew.ranks[1].waited))
            : u"Rank %1 costs the others most: last to %2 of %3 collectives, by %4 (median)."_s
                  .arg(worst.rank.value)
                  .arg(formatCount(worst.collectives), formatCount(skew.known),
                       formatDuration(worst.median));
    if (skew.unknown > 0) text += u" It is unknown for %1 more."_s.arg(formatCount(skew.unknown));
    return text;
}

QString unknownText(const CommunicationFrame& frame) {
    std::int64_t moving = 0, untimed = 0, unsized = 0;
    for (const analysis::Transfer& transfer : frame.communication.transfers) {
        if (!moves(transfer.operation)) continue;
        ++moving;
        untimed += !transfer.transfer;
        unsized += transfer.size == kUnknownSize;
    }
    QStringList sentences;
    if (untimed > 0)
        sentences << u"Waiting and transfer time of %1 of %2 collectives cannot be separated: not "
                     u"every rank of their group is recorded, or selected."_s.arg(
                         formatCount(untimed), formatCount(moving));
    if (unsized > 0)
        sentences << u"The trace does not say the size of %1, so their bandwidth is unknown."_s.arg(
            formatCount(unsized));
    return sentences.join(u' ');
}

}  // namespace shardscope::desktop
