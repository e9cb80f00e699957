// Times collectives of known payloads between the ranks of a measuring run, and looks whether they
// give what they should. Step thread; each rank runs its own beside the others.
//
// A step for each operation and size of the plan. Every round begins when all ranks are there, by
// an agreement that does not count. What counts is reported to the observer with Cause::kNone by
// the communicator itself, all else with Cause::kStart, so that who reads the recording knows them
// apart. Elements are fp32.
//
// Results are looked at outside of the timing, of the first round of a step and of its last: rank r
// brings h(i) + 1 + 3 r as element i of the whole payload, h a hash below 1024. A part of the wrong
// rank, in the wrong place, twice or not at all shows, and all sums are exact in fp32 whatever
// their order.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/control/observer.h"
#include "engine/run/config/measurement_plan.h"
#include "storage/model/result.h"

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace shardscope::worker {

/// References outlive the sweep.
struct SweepParts {
    comm::Communicator& communicator;
    control::Observer& observer;
    at::Device device;       ///< where payloads lie
    std::int64_t freeBytes;  ///< of memory there that this rank may take
    std::function<void(std::int32_t)> beforeStep;
    std::function<bool()> stopWanted;
};

/// The same on every rank.
struct SweepOutcome {
    bool stopped = false;       ///< on request; steps after it were not begun
    std::int32_t cutShort = 0;  ///< steps with fewer rounds than planned, for time
    std::vector<run::MeasurementPlan::Item> skipped;  ///< too little memory
    std::int64_t leastFreeBytes = 0;                  ///< of any rank
};

/// What a rank needs at most for a payload: it, the result, and what the communicator holds.
inline constexpr std::int64_t kPayloadCopies = 3;

class CollectiveSweep {
public:
    CollectiveSweep(SweepParts parts, run::MeasurementPlan plan);

    /// kRank with a sentence that names operation, size, rank and element: a result is wrong.
    /// Throws CommunicationError.
    [[nodiscard]] Result<SweepOutcome> run();

private:
    /// What all ranks know when all are there.
    struct Meeting {
        bool stop = false, timeUp = false;
    };
    using Item = run::MeasurementPlan::Item;

    void takeMemory();
    [[nodiscard]] bool fits(Bytes size) const;
    Result<void> step(std::int32_t step, const Item& item);
    Result<void> rounds(std::int32_t step, const Item& item);
    Result<bool> round(std::int32_t step, const Item& item, std::int32_t number, Meeting met);
    [[nodiscard]] Meeting meet(std::int32_t step);
    [[nodiscard]] comm::Work launch(const Item& item, comm::CollectiveTag tag);
    void fill(const Item& item);
    [[nodiscard]] Result<void> check(const Item& item) const;

    [[nodiscard]] std::int64_t elementsOf(const Item& item) const;
    [[nodiscard]] comm::SymmetricBuffer payload(std::int64_t elements) const;
    [[nodiscard]] at::Tensor tensorAt(void* memory, std::int64_t elements) const;

    const SweepParts m_parts;
    const run::MeasurementPlan m_plan;
    comm::SymmetricBuffer m_buffer;  ///< of the largest payload
    at::Tensor m_result;             ///< likewise
    SweepOutcome m_outcome;
    std::int64_t m_clockNs = 0;     ///< when the step began, later by what was not measuring
    std::int32_t m_roundsDone = 0;  ///< timed, of the step
};

}  // namespace shardscope::worker
