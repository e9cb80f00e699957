#include "app/desktop/models/step_split.h"

#include "app/desktop/models/format.h"
#include "storage/model/step_facts.h"

#include <QObject>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <string_view>
#include <utility>

namespace shardscope::desktop {
namespace {

using analysis::at;
using analysis::LedgerPart;
using analysis::LedgerParts;

constexpr std::size_t kMostColumns = 1000;
const QString kWithoutDetail = QStringLiteral("without detail");

void add(const LedgerParts& more, LedgerParts& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i] += more[i];
}

/// Of a row, in ns.
std::int64_t meanWall(const StepSums::Column& column) {
    Duration all = column.bare;
    for (const Duration part : column.parts) all += part;
    return all.ns / std::max<std::int64_t>(1, column.rows + column.bareRows);
}

StackedBar barOf(const StepSums::Column& sum) {
    StackedBar bar{QString::number(sum.steps.first.value), {}, {}};
    Duration whole;
    const std::int64_t rows = sum.rows + sum.bareRows;
    for (const LedgerPart part : kAll<LedgerPart>) {
        const Duration mean{sum.parts[at(part)].ns / rows};
        whole += mean;
        if (mean.ns > 0)
            bar.segments.push_back({mean.milliseconds(), meaningOf(part),
                                    QString::fromLatin1(toWord(part)), formatDuration(mean)});
    }
    const Duration bare{sum.bare.ns / rows};
    if (bare.ns > 0)
        bar.segments.push_back(
            {bare.milliseconds(), Meaning::kHost, kWithoutDetail, formatDuration(bare), true});
    bar.total = formatDuration(whole + bare);
    return bar;
}

using namespace Qt::StringLiterals;

/// In the order in which data flows.
enum Row : std::size_t { kFetch, kWait, kCompute, kRelease, kReduce, kOther, kRows };
constexpr std::array<const char*, kRows> kNames{"fetch",   "wait",   "compute",
                                                "release", "reduce", "other"};

Row rowOf(Phase phase) {
    if (isWait(phase)) return kWait;
    if (isWork(phase)) return kCompute;
    return phase == Phase::kRelease ? kRelease : kOther;
}

Row rowOf(CollectiveOp operation) {
    if (operation == CollectiveOp::kAllGather) return kFetch;
    const bool reduces =
        operation == CollectiveOp::kReduceScatter || operation == CollectiveOp::kAllReduce;
    return reduces ? kReduce : kOther;
}

QString layerText(LayerIndex layer) {
    return layer.value >= 0 ? QString::number(layer.value) : QString();
}

QString detailsOf(std::string_view what, LayerIndex layer, Duration duration) {
    return u"%1, %2: %3"_s.arg(fromUtf8(what), formatLayer(layer), formatDuration(duration));
}

RowSpan spanOf(const StepFacts& step, TimeRange range, Meaning meaning, LayerIndex layer,
               std::string_view what) {
    const auto place = [&](Timestamp time) {
        return (std::clamp(time, step.start, step.end) - step.start).milliseconds();
    };
    return {place(range.begin), place(range.end), meaning, layerText(layer),
            detailsOf(what, layer, range.end - range.begin)};
}

}  // namespace

StepSums sumSteps(const std::vector<analysis::LedgerRow>& rows, const std::vector<StepFacts>& steps,
                  std::optional<RankId> rank) {
    StepSums sums;
    std::map<StepIndex, StepSums::Column> bySteps;
    std::vector<std::pair<RankId, StepIndex>> detailed;
    for (const analysis::LedgerRow& row : rows) {
        if (rank && row.rank != *rank) continue;
        StepSums::Column& column = bySteps[row.step];
        add(row.parts, column.parts);
        add(row.parts, sums.all);
        ++column.rows;
        detailed.emplace_back(row.rank, row.step);
    }
    std::sort(detailed.begin(), detailed.end());
    for (const StepFacts& step : steps) {
        if (rank && step.rank != *rank) continue;
        if (std::binary_search(detailed.begin(), detailed.end(), std::pair(step.rank, step.step)))
            continue;
        StepSums::Column& column = bySteps[step.step];
        column.bare += step.range().duration();
        ++column.bareRows;
    }
    sums.each = std::max<std::size_t>(1, (bySteps.size() + kMostColumns - 1) / kMostColumns);
    for (auto step = bySteps.begin(); step != bySteps.end();) {
        StepSums::Column& column = sums.columns.emplace_back();
        StepSpan shared{step->first, step->first};
        for (std::size_t i = 0; i < sums.each && step != bySteps.end(); ++i, ++step) {
            shared.last = step->first;
            if (i == 0 || meanWall(step->second) > meanWall(column)) column = step->second;
        }
        column.steps = shared;
    }
    return sums;
}

StepSplit stepSplit(const StepSums& sums) {
    StepSplit split;
    split.across = sums.each == 1 ? QObject::tr("step")
                                  : QObject::tr("step, the slowest of %1 each").arg(sums.each);
    for (const StepSums::Column& column : sums.columns) {
        split.columns.push_back(barOf(column));
        split.steps.push_back(column.steps);
    }
    for (const LedgerPart part : kAll<LedgerPart>)
        if (sums.all[at(part)].ns > 0)
            split.legend.push_back({QString::fromLatin1(toWord(part)), meaningOf(part), false});
    if (std::any_of(sums.columns.begin(), sums.columns.end(),
                    [](const StepSums::Column& column) { return column.bare.ns > 0; }))
        split.legend.push_back({kWithoutDetail, Meaning::kHost, false, true});
    return split;
}

std::vector<SpanRow> stepFlow(const StepFacts& step, const RankEvents& events) {
    std::array<SpanRow, kRows> rows;
    for (std::size_t i = 0; i < kRows; ++i) rows[i].label = QString::fromLatin1(kNames[i]);
    for (const SpanEvent& phase : events.phases)
        if (phase.step == step.step && phase.phase != Phase::kNone)
            rows[rowOf(phase.phase)].spans.push_back(spanOf(
                step, phase.range(), meaningOf(phase.phase), phase.layer, toWord(phase.phase)));
    for (const CollectiveEvent& each : events.collectives)
        if (each.step == step.step)
            rows[rowOf(each.operation)].spans.push_back(spanOf(step, {each.start, each.end},
                                                               meaningOf(each.operation),
                                                               each.layer, toWord(each.operation)));
    // of what another tool traced its kernels stand for what a rank computes
    if (rows[kCompute].spans.empty())
        for (const TimeRange& kernel : events.computeKernels)
            if (kernel.begin < step.end && step.start < kernel.end)
                rows[kCompute].spans.push_back(
                    spanOf(step, kernel, Meaning::kCompute, kNoLayer, "kernels"));
    std::vector<SpanRow> shown;
    for (SpanRow& row : rows) {
        if (row.spans.empty()) continue;
        std::sort(row.spans.begin(), row.spans.end(),
                  [](const RowSpan& a, const RowSpan& b) { return a.begin < b.begin; });
        shown.push_back(std::move(row));
    }
    return shown;
}

const StepFacts* typicalStep(const RecordingSummary& summary, RankId rank) {
    std::vector<const StepFacts*> steps;
    for (const StepFacts& step : summary.steps)
        if (step.rank == rank) steps.push_back(&step);
    if (steps.empty()) return nullptr;
    const auto length = [](const StepFacts* step) { return (step->end - step->start).ns; };
    auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
    std::nth_element(
        steps.begin(), middle, steps.end(), [&](const StepFacts* a, const StepFacts* b) {
            return length(a) != length(b) ? length(a) < length(b) : a->step.value < b->step.value;
        });
    return *middle;
}

}  // namespace shardscope::desktop
