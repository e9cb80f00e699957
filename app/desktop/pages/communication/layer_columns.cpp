#include "app/desktop/pages/communication/layer_columns.h"

#include "app/desktop/models/format.h"

#include <algorithm>
#include <limits>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using analysis::ExposureKind;
using analysis::ExposureSum;

QString axisLabel(LayerIndex layer) {
    if (layer == kRootLayer) return u"embedding, head"_s;
    if (layer == kNoLayer) return u"no layer"_s;
    return QString::number(layer.value);
}

/// Embedding and head, blocks in their order, then what belongs to no layer.
int placeOf(LayerIndex layer) {
    if (layer == kRootLayer) return -1;
    return layer == kNoLayer ? std::numeric_limits<int>::max() : static_cast<int>(layer.value);
}

struct Scale {
    const char16_t* unit;
    double perNs;
};
Scale scaleOf(const LayerSums& sums) {
    Duration longest;
    for (const auto& [kind, sum] : sums) longest = std::max(longest, sum.whole);
    if (longest.ns >= 2'000'000'000) return {u"s", 1e-9};
    if (longest.ns >= 2'000'000) return {u"ms", 1e-6};
    return {u"µs", 1e-3};
}

StackedBar columnOf(const ExposureKind& kind, const ExposureSum& sum, double perNs) {
    StackedBar bar;
    bar.label = kindText(kind);
    const auto add = [&](Duration time, Meaning meaning, const QString& name, bool pale) {
        if (time.ns > 0)
            bar.segments.push_back(
                {static_cast<double>(time.ns) * perNs, meaning, name, formatDuration(time), pale});
    };
    const QString exposed = sum.waitingKnown ? u"exposed, moving"_s : u"exposed"_s;
    if (sum.waitingKnown)
        add(sum.waiting, waitingMeaningOf(kind.second), u"exposed, waiting"_s, false);
    add(sum.waitingKnown ? sum.moving : sum.exposed(), meaningOf(kind.second), exposed, false);
    add(sum.hidden, meaningOf(kind.second), u"hidden"_s, true);
    bar.total = u"%1, %2 on all ranks"_s.arg(
        formatDuration(sum.whole),
        sum.count == 1 ? u"1 collective"_s : u"%1 collectives"_s.arg(formatCount(sum.count)));
    return bar;
}

/// What is drawn of each kind.
std::vector<LegendEntry> legendOf(const LayerSums& sums) {
    std::map<CollectiveOp, ExposureSum> byKind;
    for (const auto& [kind, sum] : sums) {
        ExposureSum& all = byKind[kind.second];
        all.hidden += sum.hidden;
        all.waiting += sum.waiting;
        all.moving += sum.moving;
        all.waitingKnown = all.waitingKnown && sum.waitingKnown;
    }
    std::vector<LegendEntry> entries;
    for (const auto& [operation, sum] : byKind) {
        const QString word = QString::fromLatin1(toWord(operation));
        if (sum.waiting.ns > 0)
            entries.push_back({u"%1 waiting"_s.arg(word), waitingMeaningOf(operation)});
        if (sum.moving.ns > 0)
            entries.push_back(
                {sum.waitingKnown ? u"%1 exposed, moving"_s.arg(word) : u"%1 exposed"_s.arg(word),
                 meaningOf(operation)});
        if (sum.hidden.ns > 0)
            entries.push_back({u"%1 hidden"_s.arg(word), meaningOf(operation), false, true});
    }
    return entries;
}

}  // namespace

QString kindText(const ExposureKind& kind) {
    const QString word = QString::fromLatin1(toWord(kind.second));
    return kind.first == kNoLayer ? u"%1, no layer"_s.arg(word)
                                  : u"%1, %2"_s.arg(word, formatLayer(kind.first));
}

Meaning waitingMeaningOf(CollectiveOp operation) {
    switch (meaningOf(operation)) {
        case Meaning::kGather:
            return Meaning::kWaitGather;
        case Meaning::kReduction:
            return Meaning::kWaitReduction;
        default:
            return Meaning::kWaitOther;
    }
}

LayerColumns layerColumns(const LayerSums& sums, std::optional<ExposureKind> chosen) {
    LayerColumns shown;
    const Scale scale = scaleOf(sums);
    shown.unit = QString::fromUtf16(scale.unit);
    shown.legend = legendOf(sums);
    std::vector<const LayerSums::value_type*> sorted;
    for (const auto& each : sums) sorted.push_back(&each);
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
        return placeOf(a->first.first) < placeOf(b->first.first);
    });
    std::optional<LayerIndex> layer;
    for (const auto* each : sorted) {
        const auto& [kind, sum] = *each;
        if (layer != kind.first) {
            layer = kind.first;
            shown.groups.push_back({axisLabel(kind.first), {}});
            shown.kinds.emplace_back();
        }
        StackedBar bar = columnOf(kind, sum, scale.perNs);
        bar.emphasised = !chosen || *chosen == kind;
        shown.groups.back().columns.push_back(std::move(bar));
        shown.kinds.back().push_back(kind);
    }
    return shown;
}

}  // namespace shardscope::desktop
