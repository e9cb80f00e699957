// One step of each recording as bars, from the step's start on.
#include "app/desktop/pages/compare/compare_model.h"
#include "profiler/analysis/steps/ledger.h"

#include <algorithm>
#include <map>
#include <set>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using analysis::LedgerPart;
using analysis::LedgerPiece;

/// More pieces than a bar has pixels: neighbours of less than a piece's share become one.
constexpr std::size_t kMostPieces = 2000;

QString partName(LedgerPart part) {
    return QString::fromLatin1(toWord(part));
}

BarSegment segmentOf(Duration time, LedgerPart part) {
    return {time.milliseconds(), meaningOf(part), partName(part), formatDuration(time)};
}

/// Of short neighbours: the part that most of it goes to, and that there are others.
BarSegment mixed(const std::map<LedgerPart, Duration>& parts) {
    const auto most =
        std::max_element(parts.begin(), parts.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    Duration all;
    for (const auto& [part, time] : parts) all += time;
    BarSegment segment = segmentOf(all, most->first);
    if (parts.size() > 1) segment.name += u" and %1 more"_s.arg(parts.size() - 1);
    return segment;
}

std::vector<BarSegment> segmentsOf(const questions::StepOfRank& step) {
    const bool many = step.pieces.size() > kMostPieces;
    const std::int64_t least =
        many ? step.step.range().duration().ns / static_cast<std::int64_t>(kMostPieces) : 0;
    std::vector<BarSegment> segments;
    std::map<LedgerPart, Duration> gathered;
    Duration together;
    const auto flush = [&] {
        if (!gathered.empty()) segments.push_back(mixed(gathered));
        gathered.clear();
        together = {};
    };
    for (const LedgerPiece& piece : step.pieces) {
        const Duration time = piece.range.duration();
        if (time.ns >= least) {
            flush();
            segments.push_back(segmentOf(time, piece.part));
            continue;
        }
        gathered[piece.part] += time;
        together += time;
        if (together.ns >= least) flush();
    }
    flush();
    return segments;
}

StackedBar barOf(std::size_t recording, const questions::StepOfRank& step) {
    StackedBar bar;
    bar.label = u"%1  rank %2"_s.arg(letterOf(recording)).arg(step.step.rank.value);
    bar.segments = segmentsOf(step);
    bar.total = bar.segments.empty() ? u"what it went to is not recorded"_s
                                     : formatDuration(step.step.range().duration());
    return bar;
}

}  // namespace

StepBars stepBars(const std::vector<std::vector<questions::StepOfRank>>& steps) {
    std::set<RankId> ranks;
    for (const auto& recording : steps)
        for (const questions::StepOfRank& each : recording) ranks.insert(each.step.rank);
    StepBars made;
    for (const RankId rank : ranks)
        for (std::size_t i = 0; i < steps.size(); ++i)
            for (const questions::StepOfRank& each : steps[i]) {
                if (each.step.rank != rank) continue;
                made.bars.push_back(barOf(i, each));
                made.origins.push_back({i, each.step.step, rank});
            }
    return made;
}

std::vector<LegendEntry> stepLegend(const std::vector<std::vector<questions::StepOfRank>>& steps) {
    std::set<LedgerPart> parts;
    for (const auto& recording : steps)
        for (const questions::StepOfRank& each : recording)
            for (const LedgerPiece& piece : each.pieces) parts.insert(piece.part);
    std::vector<LegendEntry> entries;
    for (const LedgerPart part : parts) entries.push_back({partName(part), meaningOf(part), false});
    return entries;
}

}  // namespace shardscope::desktop
