#include "profiler/analysis/report.h"

#include "profiler/analysis/by_rank.h"
#include "profiler/analysis/findings.h"
#include "profiler/analysis/part.h"
#include "profiler/analysis/run_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>
#include <vector>

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

void takeThroughput(const RecordingSummary& summary, const std::vector<RankEvents>& ranks,
                    Report& report) {
    const Throughput throughput = measureThroughput(summary, ranks);
    report.tokensPerSecond = throughput.tokensPerSecond;
    report.stepSecondsMedian = throughput.stepSecondsMedian;
    report.warmupStepsLeftOut = throughput.warmupStepsLeftOut;
    report.steadySteps = throughput.steps;
    report.mfu = modelFlopsUtilisation(summary, throughput.tokensPerSecond);
    report.measuredPeakUse = measuredPeakUse(summary, throughput.tokensPerSecond);
    if (report.mfu.value && *report.mfu.value > 1.0)
        report.diagnostics.push_back(
            {Severity::kWarning,
             "mfu-above-peak",
             fmt::format("MFU is {:.1f} %, more than the stated peak of {:.3g} FLOP/s ({}) allows",
                         *report.mfu.value * 100, *report.mfu.peakFlops, report.mfu.peakSource),
             "distrust this peak: measure it again on an idle machine",
             std::nullopt,
             {},
             1});
}

bool seesPeers(const RecordingSummary& summary, const std::vector<RankEvents>& ranks) {
    if (summary.run.worldSize <= 1) return true;
    bool any = false;
    for (const RankEvents& events : ranks) {
        for (const CollectiveEvent& collective : events.collectives) {
            if (collective.arrivals.size() > 1) return true;
            any = true;
        }
    }
    return !any;
}

/// The run with those steps only that have phases and collectives on every rank: of the others
/// nothing can be said but how long they took.
RecordingSummary detailedSteps(const RecordingSummary& summary, StepBasis& basis) {
    RecordingSummary detailed = summary;
    basis.leftOut = detailPhrases(summary.detail);
    const StepDetail detail(summary.detail);
    std::set<StepIndex> all, poor;
    for (const StepFacts& step : summary.steps) {
        all.insert(step.step);
        if (detail.of(step.rank, step.step) < CaptureLevel::kLight) poor.insert(step.step);
    }
    std::erase_if(detailed.steps, [&](const StepFacts& step) { return poor.contains(step.step); });
    basis.steps = static_cast<std::int32_t>(all.size());
    basis.detailed = static_cast<std::int32_t>(all.size() - poor.size());
    return detailed;
}

/// What a report says of a rank by itself.
struct RankPart {
    Overlap overlap;
    StepOverlaps overlapBySteps;
    std::vector<LedgerRow> ledger;
    RankMemory memory;
    std::optional<DeviceUse> device;
};

void takeRanks(const RecordingSummary& summary, const RecordingSummary& detailed,
               const std::vector<RankEvents>& ranks, const std::vector<LedgerRow>& deviceRows,
               Report& report) {
    std::vector<RankPart> parts(ranks.size());
    forEachRank(ranks.size(), [&](std::size_t place) {
        RankPart& part = parts[place];
        part.overlap = rankOverlap(detailed, ranks[place], part.overlapBySteps);
        part.ledger = rankLedger(detailed, ranks[place], deviceRows);
        part.memory = rankMemory(summary, ranks[place]);
        part.device = deviceUse(detailed, ranks[place]);
    });
    StepOverlaps overlapBySteps;
    for (std::size_t place = 0; place < ranks.size(); ++place) {
        const RankPart& part = parts[place];
        report.withinSteps = report.withinSteps && hasSteps(summary, ranks[place]);
        report.overlapByRank.push_back(part.overlap);
        for (const auto& [step, overlap] : part.overlapBySteps) overlapBySteps[step] += overlap;
        report.ledger.insert(report.ledger.end(), part.ledger.begin(), part.ledger.end());
        report.memory.push_back(part.memory);
        if (part.device) report.devices.push_back(*part.device);
    }
    std::stable_sort(report.ledger.begin(), report.ledger.end(),
                     [](const LedgerRow& a, const LedgerRow& b) { return a.step < b.step; });
    report.overlap = sumOf(report.overlapByRank);
    for (const auto& [step, overlap] : overlapBySteps) report.overlapByStep.push_back(overlap);
}

}  // namespace

Report analyse(const RecordingSummary& summary, const std::vector<RankEvents>& ranks,
               const std::vector<LedgerRow>& deviceRows, const std::vector<RankGrowth>& growths,
               const Surroundings& around) {
    Report report;
    report.run = summary.run;
    const RecordingSummary detailed = detailedSteps(summary, report.basis);
    report.diagnostics = summary.diagnostics;
    std::erase_if(report.diagnostics, [](const Diagnostic& each) {
        return each.code == kSelectedPart || each.code == kSelectedRanks;
    });
    takeLosses(summary, report);
    takeThroughput(summary, ranks, report);
    takeRanks(summary, detailed, ranks, deviceRows, report);
    report.clocks = HostClocks(summary, ranks);
    LateRanks late = lateRanks(ranks, report.clocks);
    report.waiting = std::move(late.named);
    report.untold = late.untold;
    report.waitingKnown = seesPeers(summary, ranks);
    // Of a recording, not of what is selected of it.
    if (!isSelected(summary)) report.completeness = certify(summary, ranks);
    report.events = summary.events.total();
    for (const RankFacts& rank : summary.ranks) report.dropped += rank.dropped;
    report.fileSize = summary.fileSize;
    report.finalised = summary.complete;
    RunFindings findings = runFindings(detailed, ranks, report, growths, around);
    report.findings = std::move(findings.found);
    report.judged = std::move(findings.judged);
    report.slowSteps = std::move(findings.slowSteps);
    return report;
}

}  // namespace shardscope::analysis
