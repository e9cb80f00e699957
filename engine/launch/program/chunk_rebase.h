// Events of a later attempt at the same rank, made to fit behind those of the attempts before:
// torchrun starts ranks anew after a failure, and each process counts from 0 again.
#pragma once

#include "profiler/capture/program_link.h"
#include "storage/columns/chunk.h"
#include "storage/model/ids.h"
#include "storage/model/result.h"

#include <cstdint>
#include <map>

namespace shardscope::launch {

/// What is added to the numbers of a process; nothing of a rank's first.
struct AttemptOffsets {
    std::uint32_t attempt = 0;
    std::uint32_t strings = 0;
    std::int32_t steps = 0;

    /// Far above any sequence of one attempt, and within what a drawn collective has room for.
    [[nodiscard]] std::uint64_t sequences() const { return std::uint64_t{attempt} << 40; }
};

/// The chunk with them added, as one of `rank`.
Result<columns::ChunkBytes> rebased(const columns::ChunkBytes& chunk, RankId rank,
                                    const AttemptOffsets& offsets);

/// How far a rank's numbers have come over all of its attempts.
class RankNumbers {
public:
    void note(const capture::NewStrings& strings);
    void note(StepIndex step);
    /// For the next process of this rank; none before it: all 0.
    AttemptOffsets next();

private:
    std::uint32_t m_attempts = 0;
    std::uint32_t m_strings = 0;
    std::int32_t m_steps = 0;
};

}  // namespace shardscope::launch
