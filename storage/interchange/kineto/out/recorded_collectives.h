// Collectives of a recorded rank: record_param_comms where each was asked for, and the kernel that
// each one was, found among those that were traced or made up.
#pragma once

#include "storage/interchange/kineto/out/recorded_rank.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace shardscope::interchange::kineto_out {

class RecordedCollectives {
public:
    explicit RecordedCollectives(const RecordedRank& rank) : m_rank(rank) {}

    /// Before anything else.
    Result<void> read();
    /// By when `kernel` ran; nothing: it is no collective's.
    [[nodiscard]] std::optional<std::size_t> of(const SpanEvent& kernel) const;
    /// The collective's kernel was traced. Of a rank without a device all kernels are made up.
    void ran(std::size_t index) { m_ran[index] = true; }
    void write(RowTable& rows);
    /// Its arguments; returns its kernel's correlation.
    std::uint64_t describe(RecordedArguments& arguments, std::size_t index) const;

private:
    void writeIssue(std::size_t index, const TraceRow& row);
    void writeKernel(std::size_t index, const TraceRow& row);

    const RecordedRank& m_rank;
    std::vector<CollectiveEvent> m_collectives;  ///< by start
    std::vector<bool> m_ran;                     ///< whether their kernels are there
    RecordedArguments m_arguments;
};

// Counters, metrics and memory events of a recorded rank, as Kineto writes such.

/// Samples of a counter lane. Those that are no numbers are left out: JSON has none.
Result<void> writeCounter(const RecordedRank& rank, const LaneFacts& lane);
/// Of all ranks, as counters of this one.
void writeMetrics(const RecordedRank& rank);
/// [memory] as PyTorch's allocator tells it, of what the allocator knows of.
Result<void> writeMemory(const RecordedRank& rank);

}  // namespace shardscope::interchange::kineto_out
