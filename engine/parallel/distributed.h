// What every partitioning over several ranks needs: memory that peers can read, waits that are
// reported, state handed out in pieces. Internal to engine/parallel.
#pragma once

#include "engine/kernels/shard_update.h"
#include "engine/parallel/partitioning.h"
#include "engine/parallel/views.h"

#include <cstdint>

namespace shardscope::parallel {

/// A run of a flat buffer, in elements.
struct Slice {
    std::int64_t begin = 0;
    std::int64_t count = 0;
};

/// `slice` of `buffer`.
[[nodiscard]] comm::SymmetricBuffer sliceOf(const comm::SymmetricBuffer& buffer, Slice slice);

/// Memory that peers can read, reported to `observer` (may be null) under `category`; `owner` is a
/// static string.
[[nodiscard]] comm::SymmetricBuffer allocate(comm::Communicator& communicator,
                                             control::Observer* observer, at::Device device,
                                             std::int64_t count, DataType dtype,
                                             MemoryCategory category, LayerIndex layer,
                                             const char* owner);

class Distributed : public Partitioning {
public:
    void reportPhases(bool report) override { m_phaseObserver = report ? m_observer : nullptr; }

    [[nodiscard]] comm::Communicator& communicator() const { return m_communicator; }
    [[nodiscard]] const Placement& placement() const { return m_placement; }
    [[nodiscard]] control::Observer* phaseObserver() const { return m_phaseObserver; }

    comm::SymmetricBuffer allocate(std::int64_t count, DataType dtype, MemoryCategory category,
                                   LayerIndex layer, const char* owner);
    /// The buffer's memory as a tensor (count).
    [[nodiscard]] at::Tensor asTensor(const comm::SymmetricBuffer& buffer) const;
    /// All ranks' parts of an fp32 master that is not where peers can read it, one after another,
    /// on the device; a collective. Takes memory for good: rare.
    [[nodiscard]] at::Tensor gatherMaster(comm::Communicator& communicator, const at::Tensor& part,
                                          const comm::CollectiveTag& tag);
    /// Waits for `work`, if valid; blocked time is a phase.
    void block(const comm::Work& work, Phase phase, LayerIndex layer);

protected:
    /// Before memory goes that `work` may still write to. What went wrong is known elsewhere.
    static void settle(const comm::Work& work) noexcept;

    Distributed(const Placement& placement, comm::Communicator& communicator,
                control::Observer* observer)
        : m_placement(placement),
          m_communicator(communicator),
          m_observer(observer),
          m_phaseObserver(observer) {}

    const Placement m_placement;
    comm::Communicator& m_communicator;
    control::Observer* const m_observer;
    control::Observer* m_phaseObserver;
};

/// Visits the pieces of `part` of a unit; `state` begins at `stateBegin` of the unit's buffer.
/// `counted`: only those that this rank answers for.
void visitPiecesOf(const UnitReference& unit, const ShardLayout& layout,
                   const kernels::ShardState& state, std::int64_t stateBegin, Slice part,
                   bool counted, const PieceVisitor& visitor);

}  // namespace shardscope::parallel
