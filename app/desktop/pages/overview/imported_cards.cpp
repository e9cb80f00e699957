// The six cards of another tool's trace: what its devices did.
#include "app/desktop/models/recording_texts.h"
#include "app/desktop/pages/overview/overview_model.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <algorithm>
#include <cmath>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr const char* kKernelSource =
    "Kernels that run at the same time count once. Source: kernels of the trace.";

constexpr std::size_t kMostCards = 6;

QString basisOf(const SelectedPart& part) {
    return part.report->withinSteps ? u" of step time"_s : u", from the first kernel to the last"_s;
}

/// Why there is nothing; that may still come.
QString absent(const SelectedPart& part, const QString& why) {
    const QString notYet = notYetText(*part.recording);
    return notYet.isEmpty() ? why : notYet;
}

CardContent shareCard(const QString& title, Duration time, const DeviceSums& sums,
                      const SelectedPart& part, const QString& meaning) {
    CardContent card;
    card.title = title;
    card.definition =
        u"%1%2. %3"_s.arg(meaning, part.report->withinSteps ? u", of step time"_s : basisOf(part),
                          QLatin1String(kKernelSource));
    if (sums.whole.ns == 0) {
        card.value = {unknownText(), {}};
        card.detail = absent(part, u"no kernels are in this trace"_s);
        return card;
    }
    card.value = {formatNumber(100 * share(time, sums.whole)), u"%"_s};
    card.detail =
        u"%1 of %2%3"_s.arg(formatDuration(time), formatDuration(sums.whole), basisOf(part));
    return card;
}

CardContent overlapCard(const DeviceSums& sums, const SelectedPart& part) {
    CardContent card;
    card.title = u"Overlap"_s;
    card.definition =
        u"Time of communication kernels hidden behind compute kernels, divided by all time of "
        u"communication kernels: HTA's definition (hta/analyzers/communication_analysis.py), over "
        u"exact intervals of all kernels. What HTA itself prints, which rounds and leaves kernels "
        u"out, `shardscope report` reports beside it. %1"_s.arg(QLatin1String(kKernelSource));
    if (sums.communication.ns == 0) {
        card.value = {unknownText(), {}};
        card.detail =
            absent(part, sums.kernels == 0 ? u"no kernels are in this trace"_s
                                           : u"none: no communication kernel is in this trace"_s);
        return card;
    }
    card.value = {formatNumber(100 * share(sums.hidden, sums.communication)), u"%"_s};
    card.qualifier = u"of communication"_s;
    card.detail =
        u"%1 of %2 hidden"_s.arg(formatDuration(sums.hidden), formatDuration(sums.communication));
    return card;
}

/// What is in the trace, where no kernels are.
CardContent contentCard(const SelectedPart& part) {
    CardContent card;
    card.title = u"Events"_s;
    card.definition = part.recording->program()
                          ? u"All events of the recording."_s
                          : u"All events of the recording that was made of the trace."_s;
    card.value = {formatCount(static_cast<std::int64_t>(part.report->events)), {}};
    if (part.recording->program()) {
        card.detail = u"in %1"_s.arg(formatDuration(part.recording->bounds().duration()));
        return card;
    }
    card.detail = (part.recording->isImporting() ? u"in %1; no kernels are among them so far"_s
                                                 : u"in %1; no kernels are among them"_s)
                      .arg(formatDuration(part.recording->bounds().duration()));
    return card;
}

}  // namespace

CardContent stepCard(const SelectedPart& part, const LedgerView& ledger) {
    CardContent card;
    card.title = u"Step"_s;
    card.definition =
        part.recording->program()
            ? u"Median time of the program's steps.\nSource: shardscope.step(), ranges that mark "
              u"steps, or the optimizer."_s
            : u"Median time of the steps that the trace marks (ProfilerStep and the "
              u"like).\nSource: "
              u"annotations of the trace."_s;
    const auto& median = part.report->stepSecondsMedian;
    if (!median) {
        card.value = {unknownText(), {}};
        card.detail = absent(
            part, part.recording->program()
                      ? u"no step was seen: "_s + lackText(*part.recording, analysis::Lack::kSteps)
                  : ledger.empty() ? u"the trace marks no whole step"_s
                                   : u"no step is marked on every rank"_s);
        return card;
    }
    card.value = durationParts({std::llround(*median * 1e9)});
    card.detail = u"median of %1"_s.arg(formatCounted(part.report->steadySteps, "step"));
    card.trend = decimated(ledger.stepTimes, kChartPointLimit);
    return card;
}

DeviceSums deviceSums(const SelectedPart& part) {
    DeviceSums sums;
    for (const analysis::DeviceUse& use : part.report->devices) {
        if (!use.traced) continue;
        sums.compute += use.compute;
        sums.communication += use.communication;
        sums.hidden += use.hidden;
        sums.copies += use.copies;
        sums.unused += use.unused();
        sums.whole += use.whole();
        sums.kernels += use.kernels;
        ++sums.devices;
    }
    return sums;
}

std::vector<CardContent> importedCards(const SelectedPart& part, const LedgerView& ledger) {
    const DeviceSums sums = deviceSums(part);
    CardContent busy =
        shareCard(u"Compute"_s, sums.compute, sums, part, u"A compute kernel runs"_s);
    if (sums.kernels > 0)
        busy.detail +=
            u" · %1 on %2"_s.arg(formatCounted(sums.kernels, "kernel"),
                                 formatCounted(static_cast<std::int64_t>(sums.devices), "device"));
    std::vector<CardContent> cards;
    if (sums.kernels > 0 || !part.recording->summary.steps.empty())
        cards.push_back(stepCard(part, ledger));
    if (sums.kernels > 0) {
        cards.push_back(busy);
        cards.push_back(
            shareCard(u"Communication"_s, sums.communication, sums, part,
                      u"A communication kernel runs, waiting for peers inside it included"_s));
        if (sums.communication.ns > 0) cards.push_back(overlapCard(sums, part));
        if (sums.copies.ns > 0)
            cards.push_back(shareCard(
                u"Copies"_s, sums.copies, sums, part,
                u"Memory is copied or set with no kernel beside it, as in the step ledger"_s));
        cards.push_back(shareCard(u"Idle"_s, sums.unused, sums, part,
                                  u"Neither a kernel runs, nor is memory copied or set"_s));
    }
    cards.push_back(memoryCard(part));
    if (sums.kernels == 0) cards.push_back(contentCard(part));
    // a trace cannot be recorded again with more in it; what it lacks stands among the findings
    if (part.recording->isTrace() && !part.recording->isImporting())
        std::erase_if(cards,
                      [](const CardContent& card) { return card.value.number == unknownText(); });
    cards.resize(std::min(cards.size(), kMostCards));
    return cards;
}

}  // namespace shardscope::desktop
