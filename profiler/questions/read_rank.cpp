#include "profiler/questions/read_rank.h"

#include "profiler/analysis/steps/seen_waits.h"

#include <utility>

namespace shardscope::questions {

Result<RankEvents> readRank(storage::RecordingReader& reader, const RecordingSummary& summary,
                            RankId rank, TimeRange time) {
    auto events = reader.rankEvents(rank, time);
    if (!events) return events;
    return analysis::withSeenWaits(summary.run, std::move(*events));
}

}  // namespace shardscope::questions
