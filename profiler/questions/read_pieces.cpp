#include "profiler/questions/read_pieces.h"

#include "profiler/analysis/steps/seen_waits.h"
#include "profiler/questions/read_device.h"
#include "storage/model/step_facts.h"

#include <algorithm>
#include <utility>

namespace shardscope::questions {
namespace {

Result<std::vector<analysis::LedgerPiece>> piecesOf(storage::RecordingReader& reader,
                                                    const RecordingSummary& summary,
                                                    const StepFacts& step) {
    const auto within = readRank(reader, summary, step.rank, step.range());
    if (!within) return failure(within);
    if (analysis::ranKernels(*within)) {
        // What a device idles for may lie behind the step.
        const TimeRange whole{summary.bounds.begin, {summary.bounds.end.ns + 1}};
        const auto all = readRank(reader, summary, step.rank, whole);
        if (!all) return failure(all);
        const auto device = readDevice(reader, summary, *all);
        if (!device) return failure(device);
        auto pieces = analysis::devicePieces(step, *all, *device);
        if (!pieces.empty()) return pieces;
    }
    return analysis::phasePieces(step, *within);
}

}  // namespace

Result<RankEvents> readRank(storage::RecordingReader& reader, const RecordingSummary& summary,
                            RankId rank, TimeRange time) {
    auto events = reader.rankEvents(rank, time);
    if (!events) return events;
    return analysis::withSeenWaits(summary.run, std::move(*events));
}

Result<std::vector<StepOfRank>> readStep(storage::RecordingReader& reader,
                                         const RecordingSummary& summary, StepIndex step,
                                         std::size_t mostRanks) {
    std::vector<StepOfRank> found;
    for (const StepFacts& each : summary.steps)
        if (each.step == step) found.push_back({each, {}});
    std::sort(found.begin(), found.end(),
              [](const auto& a, const auto& b) { return a.step.rank < b.step.rank; });
    if (found.size() > mostRanks) found.resize(mostRanks);
    for (StepOfRank& each : found) {
        auto pieces = piecesOf(reader, summary, each.step);
        if (!pieces) return failure(pieces);
        each.pieces = std::move(*pieces);
    }
    return found;
}

}  // namespace shardscope::questions
