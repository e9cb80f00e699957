// Reads what was traced of a rank's device: its work joined with the calls that launched it, and
// what the host did meanwhile; and how much work lay in queue.
#pragma once

#include "profiler/analysis/device/device_ledger.h"
#include "profiler/analysis/device/launches.h"
#include "profiler/questions/question.h"
#include "storage/model/result.h"
#include "storage/recording/read/recording_reader.h"

#include <string>
#include <vector>

namespace shardscope::questions {

/// Of the whole recording. Work and calls belong together by their correlation. Which work is the
/// optimizer's or validation's say our own recordings' phases; of imported traces what was launched
/// within an annotation "Optimizer.step#...". Data and checkpoints are phases, or annotations named
/// as data loaders are, or as saving a checkpoint is. Nothing but copies and collectives without a
/// device that was traced.
[[nodiscard]] Result<analysis::DeviceTimeline> readDevice(storage::RecordingReader& reader,
                                                          const RecordingSummary& summary,
                                                          const RankEvents& events);

/// Copies and sets of memory of the rank's device that touch the time, by lane.
[[nodiscard]] Result<std::vector<TimeRange>> copiesOf(storage::RecordingReader& reader,
                                                      const RecordingSummary& summary, RankId rank,
                                                      TimeRange time);

/// The ledger of all ranks whose kernels were traced, one rank in memory at a time. `ranks` cover
/// the whole run.
[[nodiscard]] Result<std::vector<analysis::LedgerRow>> deviceRows(
    storage::RecordingReader& reader, const RecordingSummary& summary,
    const std::vector<RankEvents>& ranks);
/// That of one rank; empty where its kernels were not traced.
[[nodiscard]] Result<std::vector<analysis::LedgerRow>> deviceRowsOf(
    storage::RecordingReader& reader, const RecordingSummary& summary, const RankEvents& events);

/// How much work lay in queue over time: what the table `queues` of `launches` sums up.
struct StreamQueue {
    RankId rank;
    std::string stream;
    std::vector<analysis::QueueSample> samples;  ///< never empty
};
/// Of each stream of the selected ranks whose launches are known; of at most `mostRanks` ranks.
[[nodiscard]] Result<std::vector<StreamQueue>> readQueues(const Asked& asked,
                                                          std::size_t mostRanks);

}  // namespace shardscope::questions
