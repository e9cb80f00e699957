#include "profiler/analysis/report/report_draft.h"

#include "profiler/analysis/part.h"
#include "profiler/analysis/rules/run_findings.h"
#include "storage/model/event_account.h"
#include "storage/model/host_facts.h"
#include "storage/model/quantity_text.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace shardscope::analysis {
namespace {

void takeLosses(const RecordingSummary& summary, Report& report) {
    for (const MetricPoint& metric : summary.metrics) {
        if (metric.name == "loss") {
            if (!report.lossFirst) report.lossFirst = metric.value;
            report.lossLast = metric.value;
        }
        if (metric.name == "validation_loss") report.validationLossLast = metric.value;
    }
}

/// Ranks of which nothing else is known.
std::vector<RankEvents> named(const std::vector<RankId>& ranks) {
    std::vector<RankEvents> named(ranks.size());
    for (std::size_t place = 0; place < ranks.size(); ++place) named[place].rank = ranks[place];
    return named;
}

bool isOnlyWorld(const RankEvents& outline) {
    return std::all_of(outline.collectives.begin(), outline.collectives.end(),
                       [](const CollectiveEvent& each) { return each.group == 0; });
}

}  // namespace

ReportDraft::ReportDraft(const RecordingSummary& summary, const std::vector<RankId>& ranks)
    : m_summary(summary),
      m_ranks(ranks.size()),
      m_ofWorld(named(ranks), m_nothingInDoubt),
      m_passages(summary) {
    m_report.run = summary.run;
    m_report.label = labelIn(summary.facts);
    leaveOutPoorSteps();
}

/// Of steps without detail nothing can be said but how long they took and without a core.
void ReportDraft::leaveOutPoorSteps() {
    DetailedPart part = detailedPart(m_summary);
    m_report.basis = std::move(part.basis);
    m_detailed = std::move(part.summary);
}

RankShare ReportDraft::share(std::size_t place, const ShownRank& rank,
                             const std::vector<LedgerRow>& deviceRows,
                             std::vector<TimeRange> copies) const {
    RankShare share =
        shareOf({m_summary, detailed(), deviceRows, isLookedAt(place, m_ranks), std::move(copies)},
                rank.events);
    // Clocks and groups take all ranks to be known.
    if (m_passages.several() || !isOnlyWorld(share.outline)) return share;
    LastArrivals last = m_ofWorld;
    share.late = lateShare(rank, last);
    return share;
}

void ReportDraft::add(RankShare share, const RankEvents& events) {
    Report& report = m_report;
    const RankId rank = share.outline.rank;
    report.withinSteps = report.withinSteps && share.withinSteps;
    report.overlapByRank.push_back(share.overlap);
    for (const auto& [step, overlap] : share.overlapBySteps) m_overlapBySteps[step] += overlap;
    report.ledger.insert(report.ledger.end(), share.ledger.begin(), share.ledger.end());
    report.memory.push_back(share.memory);
    if (share.device) report.devices.push_back(*share.device);
    m_passages.add(events);
    addSeen(events);
    m_outlines.push_back(std::move(share.outline));
    m_collectives += share.collectives;
    m_seesPeers = m_seesPeers || share.seesPeers;
    if (!isSelected(m_summary)) m_recorded[rank] = std::move(share.recorded);
    m_gathered.hideable.add(share.hideable);
    m_isLateKnown.push_back(share.late.has_value());
    m_gathered.blocked.emplace_back();
    if (!share.late) return;
    m_waits.add(share.late->waits);
    m_gathered.blocked.back() = std::move(share.late->blocked);
}

/// Of other recordings the strategy is known, or nothing of the kind is asked.
void ReportDraft::addSeen(const RankEvents& events) {
    if (sourceOf(m_summary.run) != RecordingSource::kProgram) return;
    std::set<CollectiveOp> seen(m_report.seen.begin(), m_report.seen.end());
    for (const CollectiveEvent& each : events.collectives)
        if (each.step != kNoStep) seen.insert(each.operation);
    m_report.seen.assign(seen.begin(), seen.end());
}

void ReportDraft::takeThroughput() {
    Report& report = m_report;
    const RecordingSummary& summary = m_summary;
    const Throughput throughput = measureThroughput(summary, m_outlines);
    report.tokensPerSecond = throughput.tokensPerSecond;
    report.wholeTokensPerSecond = throughput.wholeTokensPerSecond;
    report.stepSecondsMedian = throughput.stepSecondsMedian;
    report.warmupStepsLeftOut = throughput.warmupStepsLeftOut;
    report.steadySteps = throughput.steps;
    std::set<StepIndex> steady;
    const SteadySteps steadies = steadySteps(summary, m_outlines);
    for (const auto& [index, step] : steadies.steps) steady.insert(index);
    report.steady.assign(steady.begin(), steady.end());
    report.cores = coreUse(summary, steady);
    report.mfu =
        sourceOf(summary.run) == RecordingSource::kOwnRun
            ? modelFlopsUtilisation(summary, throughput.tokensPerSecond)
            : programUtilisation(summary, programRates(summary, steadies, throughput, m_counted));
    report.measuredPeakUse = measuredPeakUse(summary, throughput.tokensPerSecond);
    if (report.mfu.value && *report.mfu.value > 1.0)
        report.diagnostics.push_back(
            {Severity::kWarning,
             "mfu-above-peak",
             fmt::format(
                 "MFU is {:.1f} %, more than the stated peak of {} ({}) allows",
                 *report.mfu.value * 100,
                 quantityText(*report.mfu.peakFlops, Unit::kFlops, Digits::kScreen).joined(),
                 report.mfu.peakSource),
             "distrust this peak: measure it again on an idle machine",
             std::nullopt,
             {},
             1});
}

/// What takes all ranks and none of their events.
void ReportDraft::settle() {
    if (std::exchange(m_settled, true)) return;
    Report& report = m_report;
    report.diagnostics = m_summary.diagnostics;
    report.processes = m_summary.processes;
    std::erase_if(report.diagnostics, [](const Diagnostic& each) {
        return each.code == kSelectedPart || each.code == kSelectedRanks;
    });
    takeLosses(m_summary, report);
    takeThroughput();
    std::stable_sort(report.ledger.begin(), report.ledger.end(),
                     [](const LedgerRow& a, const LedgerRow& b) { return a.step < b.step; });
    report.overlap = sumOf(report.overlapByRank);
    for (const auto& [step, overlap] : std::exchange(m_overlapBySteps, {}))
        report.overlapByStep.push_back(overlap);
    report.clocks = m_passages.clocks(m_summary);
    m_last.emplace(m_outlines, report.clocks);
    if (mayHaveSlowLink(rules({}, {}))) m_transfers.emplace();
}

RuleInput ReportDraft::rules(const std::vector<RankGrowth>& growths,
                             const Surroundings& around) const {
    RuleInput input = ruleInput(m_summary, m_outlines, m_gathered, m_report, growths, around);
    input.operators = m_counted.times;
    return input;
}

bool ReportDraft::wantsAgain(std::size_t place) {
    settle();
    return m_transfers || !m_isLateKnown[place];
}

void ReportDraft::addAgain(std::size_t place, const ShownRank& rank) {
    if (m_transfers) m_transfers->add(rank.events);
    if (m_isLateKnown[place]) return;
    m_isLateKnown[place] = true;
    LateShare late = lateShare(rank, *m_last);
    m_waits.add(late.waits);
    m_gathered.blocked[place] = std::move(late.blocked);
}

Report ReportDraft::conclude(const std::vector<RankGrowth>& growths, const Surroundings& around) {
    settle();
    Report& report = m_report;
    if (m_transfers) m_gathered.transfers = m_transfers->transfers(report.clocks);
    LateRanks late = m_waits.lateRanks();
    report.waiting = std::move(late.named);
    report.unknown = late.unknown;
    const bool alone = m_summary.run.worldSize <= 1 && !m_summary.run.model.empty();
    report.waitingKnown = alone || m_seesPeers || m_collectives == 0;
    // Of a recording, not of what is selected of it.
    if (!isSelected(m_summary)) report.completeness = certify(m_summary, std::move(m_recorded));
    report.events = m_summary.events.total();
    const EventAccount account = eventAccount(m_summary);
    report.dropped = account.dropped;
    if (!isSelected(m_summary)) report.lost = account.lost;
    report.fileSize = m_summary.fileSize;
    report.finalised = m_summary.complete;
    RunFindings findings = runFindings(rules(growths, around));
    report.findings = std::move(findings.found);
    report.judged = std::move(findings.judged);
    report.slowSteps = std::move(findings.slowSteps);
    return std::move(report);
}

}  // namespace shardscope::analysis
