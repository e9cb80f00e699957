// What DDP and ZeRO 1 and 2 share: parameters that are whole on every rank. Internal to
// engine/parallel.
#pragma once

#include "engine/kernels/shard_update.h"
#include "engine/parallel/partitioning.h"
#include "engine/parallel/shard_layout.h"

#include <cstdint>
#include <vector>

namespace shardscope::parallel {

/// The part of a flat buffer that an operation is about.
struct Slice {
    std::int64_t begin = 0;
    std::int64_t count = 0;
};

/// `buffer` from `slice.begin` on.
[[nodiscard]] comm::SymmetricBuffer sliceOf(const comm::SymmetricBuffer& buffer, Slice slice);

class Replicated : public Partitioning {
public:
    void load(const ValueSource& source) override;
    void visit(const ValueSink& sink) override;
    void beginStep(std::int32_t step) override;
    void beginMicroStep(bool last) override { m_lastMicroStep = last; }
    void fetch(std::size_t, Cause) override {}
    void wait(std::size_t) override {}
    void release(std::size_t) override {}
    void addSquaredNorm(const at::Tensor& total) const override;
    void reportPhases(bool report) override { m_phaseObserver = report ? m_observer : nullptr; }
    [[nodiscard]] std::int64_t stateBytes() const override;

protected:
    /// Whether each rank updates its own part of the parameters only.
    enum class Optimizer : bool { kWhole = false, kSharded = true };

    struct Unit {
        UnitReference reference;
        ShardLayout layout;
        comm::SymmetricBuffer whole;  ///< parameters as they are computed with, (padded)
        kernels::ShardState state;    ///< of the part that this rank updates
        at::Tensor values;            ///< `whole` as a tensor
        bool fresh = true;            ///< no gradient of this step yet
    };

    Replicated(std::vector<UnitReference> units, const Placement& placement,
               comm::Communicator& communicator, control::Observer* observer, Optimizer optimizer);

    [[nodiscard]] std::int64_t rank() const { return m_communicator.rank(); }
    /// The part of a unit that this rank updates.
    [[nodiscard]] Slice ownPart(const Unit& unit) const;
    /// This rank's W-th of the unit, whoever updates it.
    [[nodiscard]] Slice share(const Unit& unit) const;
    comm::SymmetricBuffer allocate(std::int64_t count, DataType dtype, MemoryCategory category,
                                   LayerIndex layer, const char* owner);
    [[nodiscard]] at::Tensor asTensor(const comm::SymmetricBuffer& buffer) const;
    void block(const comm::Work& work, Phase phase, LayerIndex layer);
    /// Elements of a unit's reduced gradient that this rank answers for in the norm.
    [[nodiscard]] virtual at::Tensor shareOfGradient(const Unit& unit) const = 0;
    /// Bytes of gradients held from step to step.
    [[nodiscard]] virtual std::int64_t gradientBytes() const = 0;

    const Placement m_placement;
    comm::Communicator& m_communicator;
    control::Observer* const m_observer;
    control::Observer* m_phaseObserver;
    const Optimizer m_optimizer;
    std::vector<Unit> m_units;
    std::int32_t m_step = -1;
    bool m_lastMicroStep = true;

private:
    void addUnit(const UnitReference& reference);
};

}  // namespace shardscope::parallel
