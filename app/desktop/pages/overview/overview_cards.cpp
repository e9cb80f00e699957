// The six cards of the Overview.
#include "app/desktop/models/recording_texts.h"
#include "app/desktop/models/targets.h"
#include "app/desktop/models/training_figures.h"
#include "app/desktop/pages/overview/overview_model.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <cmath>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using analysis::blockedIn;

void judge(const TargetVerdict& verdict, CardContent& card) {
    card.verdict = verdict.text;
    card.verdictGood = verdict.passes;
}

void markUnsure(CardContent& card) {
    card.verdict = unsureWord();
    card.verdictGood = false;
}

/// A share as headlines and tables write it, number and unit apart.
ValueText percentParts(double fraction) {
    const QString text = formatPercent(fraction);
    const qsizetype unit = text.size() - 2;  // a thin space and the sign
    return {text.left(unit), text.mid(unit + 1)};
}

QString ranksText(std::size_t ranks) {
    return formatCounted(static_cast<std::int64_t>(ranks), "rank");
}

/// What a card draws of a curve.
QVector<QPointF> trendOf(const QVector<QPointF>& curve) {
    return decimated(curve, kChartPointLimit);
}

/// Hidden share of communication, one value a step.
QVector<QPointF> overlapTrend(const SelectedPart& part) {
    QVector<QPointF> points;
    for (const analysis::StepOverlap& step : part.report->overlapByStep)
        if (step.computeKnown)
            points.push_back(
                {static_cast<double>(step.step.value), share(step.hidden, step.communication)});
    return trendOf(points);
}

QString stepCount(int steps) {
    return steps == 1 ? u"1 step"_s : u"%1 steps"_s.arg(formatCount(steps));
}

CardContent throughputCard(const SelectedPart& part) {
    const auto& report = *part.report;
    CardContent card;
    card.title = u"Throughput"_s;
    card.trend = trendOf(part.figures->curves.throughput);
    card.definition =
        u"Tokens of a step over all selected ranks, divided by its time: median over the steps. "
        u"Left "
        u"out: %1 warm-up steps, steps with a validation pass.\nSource: steps of the recording."_s
            .arg(report.warmupStepsLeftOut);
    if (report.wholeTokensPerSecond)
        card.definition +=
            u"\nOver the whole run's time, warm-up and validation included: %1 tok/s."_s.arg(
                formatNumber(*report.wholeTokensPerSecond));
    if (!report.tokensPerSecond) {
        card.value = {unknownText(), {}};
        card.detail = part.summary->steps.empty()
                          ? u"no whole step is selected"_s
                          : u"the steps do not say how many tokens they have"_s;
        return card;
    }
    card.value = {formatNumber(*report.tokensPerSecond), u"tok/s"_s};
    card.detail = u"%1 · median step %2 of %3"_s.arg(
        ranksText(part.summary->ranks.size()),
        formatDuration({std::llround(report.stepSecondsMedian.value_or(0) * 1e9)}),
        stepCount(report.steadySteps));
    if (report.cores.known())
        card.definition += u"\nWithout a core: "_s + fromUtf8(analysis::coresText(report.cores));
    if (report.cores.takenOfSteps() >= analysis::kNotedTaken)
        card.qualifier = u"· %1 without a core"_s.arg(formatPercent(report.cores.takenOfSteps()));
    return card;
}

/// How FLOPs are counted, for people.
QString countingText(const std::string& variant) {
    if (variant == "operators")
        return u"by operators: matrix products, attention and convolutions of the steps, by "
               u"their recorded shapes"_s;
    if (variant == "6N") return u"6 a parameter and token (6N)"_s;
    if (variant == "palm") return u"as PaLM counts: 6N + 12·L·C·T per token"_s;
    return u"unknown how many"_s;
}

/// Short enough for a card, where the reason is long.
QString mfuLack(const SelectedPart& part) {
    const auto& mfu = part.report->mfu;
    const auto program = part.recording->program();
    const bool level = program && program->capture < CaptureLevel::kFull;
    return level && !mfu.flopsPerSecond ? lackText(*part.recording, analysis::Lack::kOperators)
                                        : fromUtf8(mfu.reason);
}

CardContent mfuCard(const SelectedPart& part, const Targets& targets) {
    const auto& mfu = part.report->mfu;
    CardContent card;
    card.title = u"Model FLOP utilisation"_s;
    card.briefTitle = u"MFU"_s;
    card.definition =
        u"Model FLOPs per second divided by the peak of all ranks.\nFLOPs: %1.\nPeak: %2"_s.arg(
            countingText(mfu.variant), fromUtf8(mfu.peakSource));
    card.trend = trendOf(mfuCurve(part));
    const auto& devices = part.summary->devices;
    const bool gpu = !devices.empty();
    if (const auto use = part.report->measuredPeakUse) {
        card.qualifier = u"· %1 of measured"_s.arg(formatPercent(*use));
        card.definition +=
            u"\nOf measured: the same, divided by what matrix products of the run's "
            u"own shapes reached.\nMeasured: %1"_s.arg(
                fromUtf8(devices.front().measuredPeakSource));
    }
    if (!mfu.value) {
        card.value = {gpu ? u"n/a"_s : unknownText(), {}};
        card.detail = mfuLack(part);
        card.definition += u"\nUnknown: %1."_s.arg(fromUtf8(mfu.reason));
        if (mfu.flopsPerSecond)
            card.qualifier = u"· %1 (%2)"_s.arg(formatSi(*mfu.flopsPerSecond, u"FLOP/s"_s),
                                                fromUtf8(mfu.variant));
        card.trend.clear();
        return card;
    }
    card.value = percentParts(*mfu.value);
    const bool measured = mfu.peakSource.find("measured") != std::string::npos;
    card.detail = u"of %1, %2"_s.arg(
        formatSi(mfu.peakFlops.value_or(0), u"FLOP/s"_s),
        measured ? u"measured peak"_s : (gpu ? u"data sheet"_s : u"peak of the device"_s));
    if (mfu.variant != "palm")
        card.detail += u", FLOPs by %1"_s.arg(variantName(fromUtf8(mfu.variant)));
    judge(atLeast(*mfu.value, targets.mfu), card);
    if (mfu.unsure) markUnsure(card);
    return card;
}

CardContent overlapCard(const SelectedPart& part) {
    const auto& overlap = part.report->overlap;
    CardContent card;
    card.title = u"Overlap"_s;
    card.definition =
        u"Communication time hidden behind compute of the same rank, divided by all "
        u"communication time. Union of intervals within steps, summed over ranks. "
        u"%1Exposed is what is not hidden, whether the step thread "
        u"is blocked in it or not. Of the limit: of data transfer, without waiting, the "
        u"hidden time divided by what the same schedule would hide if neither compute "
        u"nor link ever paused.\nSource: collectives and phases."_s.arg(
            part.recording->isOwn() ? u"Validation is left out. "_s : QString());
    const auto ratio = overlap.ratio();
    if (!ratio) {
        card.value = {unknownText(), {}};
        card.detail = noOverlapText(part);
        return card;
    }
    card.value = {formatNumber(*ratio), {}};
    const auto reached = overlap.reachedOfLimit();
    card.qualifier = reached ? u"· %1 of the limit"_s.arg(formatPercent(*reached)) : QString();
    card.detail = u"%1 of %2 hidden, %3 exposed"_s.arg(formatDuration(overlap.hidden),
                                                       formatDuration(overlap.communication),
                                                       formatDuration(overlap.exposed));
    card.trend = overlapTrend(part);
    return card;
}

CardContent blockedCard(const SelectedPart& part, const LedgerView& ledger,
                        const Targets& targets) {
    CardContent card;
    card.title = u"Blocked in communication"_s;
    card.briefTitle = u"Blocked"_s;
    card.definition =
        u"Time the step thread is blocked in a collective, waiting for peers included, "
        u"divided by step time. Not the same as exposed communication: a collective may "
        u"run beside work that is not compute.\nSource: phases of the compute lane."_s;
    const Duration blocked = blockedIn(ledger.all.parts);
    const Duration wall = ledger.all.wall;
    if (wall.ns == 0) {
        card.value = {unknownText(), {}};
        const bool none = part.recording->program() && part.recording->summary.steps.empty();
        card.detail =
            none ? u"no step was seen: "_s + lackText(*part.recording, analysis::Lack::kSteps)
            : part.summary->steps.empty()
                ? u"no whole step is selected"_s
                : absenceText(*part.recording, CaptureLevel::kLight, u"phases"_s);
        return card;
    }
    if (part.report->overlap.communication.ns == 0 && blocked.ns == 0) {
        card.value = {u"0"_s, u"%"_s};
        card.detail = noCommunicationText(part);
        return card;
    }
    const double fraction = share(blocked, wall);
    const std::int64_t rows = ledger.all.rows;
    card.value = percentParts(fraction);
    card.detail = u"%1 of %2 per step, mean"_s.arg(formatDuration({blocked.ns / rows}),
                                                   formatDuration({wall.ns / rows}));
    card.trend = trendOf(ledger.blockedShares);
    if (part.summary->run.worldSize > 1)
        judge(atMost(fraction, targets.communication), card);
    else
        card.detail += u"; one rank: no peer to wait for"_s;
    return card;
}

CardContent lossCard(const SelectedPart& part) {
    const auto& report = *part.report;
    CardContent card;
    card.title = u"Loss"_s;
    card.definition =
        u"Mean cross entropy over all tokens of a step and all ranks, in nats.\nSource: metrics."_s;
    card.trend = trendOf(part.figures->curves.of("loss"));
    if (!report.lossLast) {
        card.value = {unknownText(), {}};
        card.detail = part.recording->program()   ? lackText(*part.recording, analysis::Lack::kLoss)
                      : part.recording->isTrace() ? u"a trace holds no training metrics"_s
                                                  : u"no selected step reported one"_s;
        return card;
    }
    card.value = {formatNumber(*report.lossLast), u"nats"_s};
    card.detail = u"from %1"_s.arg(formatNumber(report.lossFirst.value_or(*report.lossLast)));
    if (report.validationLossLast) {
        card.detail += u", validation %1"_s.arg(formatNumber(*report.validationLossLast));
    }
    return card;
}

/// What holds most of a peak that theory says nothing of.
QString mostOf(const analysis::RankMemory& memory) {
    const auto most = std::max_element(memory.byCategory.begin(), memory.byCategory.end());
    const auto category = static_cast<MemoryCategory>(most - memory.byCategory.begin());
    return u"%1 of it %2"_s.arg(formatBytes(*most), QString::fromLatin1(toWord(category)));
}

}  // namespace

CardContent memoryCard(const SelectedPart& part) {
    CardContent card;
    card.title = u"Peak memory"_s;
    card.definition =
        u"Most bytes alive at once on the rank that needs most: every allocation the engine and "
        u"its tensors made.\nTheory: what the configuration implies.\nSource: memory events."_s;
    const analysis::RankMemory* worst = part.report->worstMemory();
    if (worst == nullptr) {
        card.value = {unknownText(), {}};
        card.detail = noMemoryText(*part.recording);
        return card;
    }
    card.value = bytesParts(worst->peak);
    card.qualifier = u"on rank %1"_s.arg(worst->rank.value);
    if (worst->theory.count > 0) {
        card.detail =
            u"%1 × theory (%2)"_s.arg(formatNumber(static_cast<double>(worst->managed().count) /
                                                   static_cast<double>(worst->theory.count)),
                                      formatBytes(worst->theory));
        if (const Bytes outside = worst->peak - worst->managed(); outside.count > 0) {
            card.detail += u", without %1 outside the allocator"_s.arg(formatBytes(outside));
            card.definition +=
                u"\nTheory does not include memory outside the allocator (CUDA context, NCCL, "
                u"libraries): the peak does, the comparison with theory leaves it out."_s;
        }
    } else {
        card.detail = mostOf(*worst);
    }
    return card;
}

std::vector<CardContent> overviewCards(const SelectedPart& part, const LedgerView& ledger,
                                       const Targets& targets) {
    std::vector<CardContent> cards{throughputCard(part), mfuCard(part, targets),
                                   overlapCard(part),    blockedCard(part, ledger, targets),
                                   memoryCard(part),     lossCard(part)};
    // sums of what is left pass or fail nothing
    for (CardContent& card : cards)
        if (isUnsure(*part.report) && !card.verdict.isEmpty()) markUnsure(card);
    return cards;
}

std::vector<CardContent> cardsOf(const SelectedPart& part, const LedgerView& ledger,
                                 const Targets& targets) {
    if (part.recording->isOwn()) return overviewCards(part, ledger, targets);
    const bool hasKernels = deviceSums(part).kernels > 0;
    if (part.recording->isTrace() || hasKernels) return importedCards(part, ledger);
    auto cards = overviewCards(part, ledger, targets);
    // Tokens are the program's business.
    if (!part.report->tokensPerSecond) cards.front() = stepCard(part, ledger);
    return cards;
}

}  // namespace shardscope::desktop
