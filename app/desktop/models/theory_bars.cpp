#include "app/desktop/models/theory_bars.h"

#include "app/desktop/models/format.h"
#include "engine/run/config/model_tensors.h"
#include "engine/run/theory/theory.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using run::RunConfig;
using run::Strategy;

constexpr int kMostRanks = 1024;

struct Stage {
    Strategy strategy;
    const char* name;
    Meaning meaning;  ///< of its curve
};
constexpr std::array kStages{Stage{Strategy::kDdpBucket, "DDP", Meaning::kReduction},
                             Stage{Strategy::kZero1, "ZeRO-1", Meaning::kGather},
                             Stage{Strategy::kZero2, "ZeRO-2", Meaning::kCopy},
                             Stage{Strategy::kZero3, "ZeRO-3", Meaning::kCompute}};

/// Without what only the run's own strategy knows.
RunConfig withStage(RunConfig config, Strategy strategy, int ranks) {
    config.compression = run::Compression::kNone;
    config.keepGathered = config.keepGradients = false;
    config.shardRanks = config.vocabularyPieces = 0;
    config.ranks = ranks;
    // one rank shards nothing
    config.strategy = ranks == 1 ? Strategy::kSingle : strategy;
    return config;
}

QString groupOf(std::string_view tensor) {
    const auto in = [tensor](std::initializer_list<const char*> names) {
        for (const char* each : names)
            if (tensor.find(each) != std::string_view::npos) return true;
        return false;
    };
    if (in({"wte", "wpe"})) return u"embeddings"_s;
    if (in({"ln"})) return u"norms"_s;
    if (in({"head"})) return u"head"_s;
    return in({"qkv", "proj"}) ? u"attention"_s : u"feed-forward"_s;
}

}  // namespace

StackedBar theoryBar(const RunConfig& config, const QString& label, bool chosen) {
    const theory::MemoryByCategory categories = theory::memoryTheory(config);
    StackedBar bar;
    bar.label = label;
    bar.emphasised = chosen;
    bar.total = formatBytes(theory::total(categories));
    for (MemoryCategory category : stackOrder()) {
        const Bytes size = categories[static_cast<std::size_t>(category)];
        if (size.count <= 0) continue;
        bar.segments.push_back({static_cast<double>(size.count), meaningOf(category),
                                QString::fromLatin1(toWord(category)), formatBytes(size)});
    }
    return bar;
}

std::vector<LegendEntry> theoryLegend(const std::vector<StackedBar>& bars) {
    std::vector<LegendEntry> entries;
    for (MemoryCategory category : stackOrder()) {
        const QString name = QString::fromLatin1(toWord(category));
        for (const StackedBar& bar : bars) {
            const bool used =
                std::any_of(bar.segments.begin(), bar.segments.end(),
                            [&](const BarSegment& segment) { return segment.name == name; });
            if (!used) continue;
            entries.push_back({name, meaningOf(category), false});
            break;
        }
    }
    return entries;
}

std::vector<StackedBar> stageBars(const RunConfig& config) {
    std::vector<StackedBar> bars;
    bool named = false;
    for (const Stage& stage : kStages) {
        const bool own = stage.strategy == config.strategy ||
                         (stage.strategy == Strategy::kDdpBucket && run::isDdp(config.strategy));
        bars.push_back(theoryBar(own ? config : withStage(config, stage.strategy, config.ranks),
                                 QString::fromLatin1(stage.name), own));
        named = named || own;
    }
    if (!named) bars.push_back(theoryBar(config, fromUtf8(toWord(config.strategy)), true));
    return bars;
}

std::vector<LineSeries> stageCurves(const RunConfig& config) {
    std::vector<LineSeries> curves;
    for (const Stage& stage : kStages) {
        LineSeries curve{QString::fromLatin1(stage.name), {}, stage.meaning};
        for (int ranks = 1; ranks <= kMostRanks; ranks *= 2) {
            const Bytes most =
                theory::total(theory::memoryTheory(withStage(config, stage.strategy, ranks)));
            curve.points.push_back({static_cast<double>(ranks), static_cast<double>(most.count)});
        }
        curves.push_back(std::move(curve));
    }
    return curves;
}

std::vector<StackedBar> parameterBars(const RunConfig& config) {
    std::vector<StackedBar> bars;
    for (const run::ModelUnit& unit : run::modelUnits(config))
        for (const run::ModelTensor& tensor : unit.tensors) {
            const QString group = groupOf(tensor.name);
            auto bar = std::find_if(bars.begin(), bars.end(),
                                    [&](const StackedBar& each) { return each.label == group; });
            if (bar == bars.end()) {
                bars.push_back({group, {}, {{0, Meaning::kCompute, group, {}}}});
                bar = bars.end() - 1;
            }
            bar->segments.front().value += static_cast<double>(tensor.count());
        }
    for (StackedBar& bar : bars)
        bar.total = bar.segments.front().text =
            formatCount(static_cast<std::int64_t>(bar.segments.front().value));
    return bars;
}

}  // namespace shardscope::desktop
