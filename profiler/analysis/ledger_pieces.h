// One step's ledger in order of time: which part each instant belongs to. Pieces of a part add up
// to what the ledger's row says of it, to the nanosecond. Pure.
#pragma once

#include "profiler/analysis/device_ledger.h"
#include "profiler/analysis/ledger.h"
#include "storage/model/recording.h"

#include <vector>

namespace shardscope::analysis {

struct LedgerPiece {
    TimeRange range;
    LedgerPart part = LedgerPart::kOther;
};

/// By the phases of the step thread (ledger.cpp). `events` of the step's rank reach over all of the
/// step. Disjoint, by start, without gaps; none where no phase lies in it.
[[nodiscard]] std::vector<LedgerPiece> phasePieces(const StepFacts& step, const RankEvents& events);

/// By the work of a device that was traced (device_ledger.h). None where deviceLedger() has no row
/// of it.
[[nodiscard]] std::vector<LedgerPiece> devicePieces(const StepFacts& step, const RankEvents& events,
                                                    const DeviceTimeline& device);

}  // namespace shardscope::analysis
