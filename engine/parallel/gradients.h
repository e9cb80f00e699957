// Whole gradients of units until they are summed over ranks into each rank's shard. Internal to
// engine/parallel.
#pragma once

#include "engine/parallel/distributed.h"

#include <array>
#include <cstdint>
#include <vector>

namespace shardscope::parallel {

class GradientStore {
public:
    enum class Keep : std::uint8_t {
        kSlots,  ///< the root and two other units at a time, reduced in every micro-step
        kAll,    ///< every unit's, reduced in the last micro-step, in place
    };

    /// Whether other ranks than those a shard is summed over read it afterwards.
    enum class Shards : bool { kOwn = false, kShared = true };

    /// `communicator`: over which shards are spread; its size is the layouts' ranks.
    GradientStore(Distributed& owner, comm::Communicator& communicator, Keep keep,
                  Shards shards = Shards::kOwn)
        : m_owner(owner), m_communicator(communicator), m_keep(keep), m_shards(shards) {}

    /// In the order of the units, then finish().
    void add(const UnitReference& unit, const ShardLayout& layout);
    void finish();

    /// kSlots with offloaded gradients: reduced ones arrive on the device and are added up in host
    /// memory, one behind the next; after finishStep() all are there.
    void finishStep();

    void beginStep();
    void beginMicroStep(bool last) { m_lastMicroStep = last; }
    /// Binds the gradients of a unit, once peers have read what was there before.
    void begin(std::size_t unit);
    /// Starts the reduction of a unit whose gradients are complete; the shard is the sum over
    /// the step's micro-steps. Invalid when nothing is to be reduced yet.
    comm::Work reduce(std::size_t unit, std::int32_t step);
    /// This rank's shard, fp32.
    [[nodiscard]] const at::Tensor& shard(std::size_t unit) const { return m_units[unit].shard; }
    /// The same where peers can read it; kShared or kAll.
    [[nodiscard]] const comm::SymmetricBuffer& shardBuffer(std::size_t unit) const {
        return m_units[unit].shardBuffer;
    }
    /// Bytes kept from step to step; what takes turns is not state.
    [[nodiscard]] std::int64_t stateBytes() const;

private:
    struct Slot {
        comm::SymmetricBuffer buffer;
        at::Tensor flat;
        comm::Work reduction;  ///< last one that peers read this slot for
    };
    struct Unit {
        UnitReference reference;
        ShardLayout layout;
        at::Tensor shard;
        comm::SymmetricBuffer shardBuffer;
        std::size_t slot = 0;
        bool fresh = true;  ///< nothing of this step yet
    };

    /// Where a reduced gradient lies until it is in host memory.
    struct Arrival {
        at::Tensor device;  ///< (largest shard)
        comm::Work work;    ///< invalid: nothing has to be brought over
        std::size_t unit = 0;
        bool add = false;
    };
    [[nodiscard]] bool offloads() const {
        return m_keep == Keep::kSlots && m_owner.placement().offloadsGradients();
    }
    comm::Work reduceToHost(std::size_t index, const comm::SymmetricBuffer& whole, bool add,
                            std::int32_t step);
    void bringOver(Arrival& arrival);
    static void clearPadding(const Slot& slot, const ShardLayout& layout);
    void makeSlot(std::int64_t count, DataType dtype, LayerIndex layer);

    Distributed& m_owner;
    comm::Communicator& m_communicator;
    const Keep m_keep;
    const Shards m_shards;
    std::vector<Unit> m_units;
    std::vector<Slot> m_slots;
    std::array<Arrival, 2> m_arrivals;
    std::size_t m_arriving = 0;
    std::size_t m_turn = 2;  ///< kSlots: of slots 1 and 2 the one used last
    bool m_lastMicroStep = true;
};

}  // namespace shardscope::parallel
