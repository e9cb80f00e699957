// ZeRO stages 1 and 2 (Rajbhandari et al., arXiv 1910.02054): parameters whole on every rank, the
// optimizer's state sharded; stage 2 shards the gradients as well. Each rank updates its part of
// every unit, then parts are gathered; the next forward waits for a unit when it needs it.
#include "engine/parallel/gradients.h"
#include "engine/parallel/replicated.h"

namespace shardscope::parallel {
namespace {

using comm::Work;

class ShardedOptimizer final : public Replicated {
public:
    ShardedOptimizer(const std::vector<UnitReference>& units, const Placement& placement,
                     comm::Communicator& communicator, control::Observer* observer,
                     GradientStore::Keep keep)
        : Replicated(units, placement, communicator, observer, Optimizer::kSharded),
          m_gradients(*this, communicator, keep),
          m_gathers(m_units.size()) {
        for (const Unit& unit : m_units) m_gradients.add(unit.reference, unit.layout);
        m_gradients.finish();
        for (std::size_t i = 0; i < m_units.size(); ++i)
            m_units[i].state.gradient = m_gradients.shard(i);
    }

    void beginStep(std::int32_t step) override {
        Replicated::beginStep(step);
        m_gradients.beginStep();
    }

    void beginMicroStep(bool last) override { m_gradients.beginMicroStep(last); }

    void wait(std::size_t index) override {
        block(m_gathers[index], Phase::kWaitGather, m_units[index].reference.layer);
        m_gathers[index] = {};
    }

    void beginGradients(std::size_t index) override { m_gradients.begin(index); }

    void reduce(std::size_t index, Contribution) override {
        const Work work = m_gradients.reduce(index, m_step);
        if (work.valid()) m_lastReduction = work;
    }

    void finishReductions() override {
        // In order: when the last one is done, all are.
        block(m_lastReduction, Phase::kWaitReduction, kRootLayer);
        m_gradients.finishStep();
    }

    void update(const kernels::StepUpdate* update, bool) override {
        // In the order in which the next forward needs them: each gather runs behind the update
        // of the units after it.
        for (std::size_t i = 0; i < m_units.size(); ++i) {
            Unit& unit = m_units[i];
            kernels::updateShard(update, unit.layout.decayingInShard(rank()), unit.state);
            m_gathers[i] = m_communicator.allGatherInPlace(
                unit.whole, {Cause::kUpdate, unit.reference.layer, m_step});
        }
    }

protected:
    at::Tensor shareOfGradient(const Unit& unit) const override { return unit.state.gradient; }
    std::int64_t gradientBytes() const override { return m_gradients.stateBytes(); }

private:
    GradientStore m_gradients;
    Work m_lastReduction;
    std::vector<Work> m_gathers;
};

}  // namespace

std::unique_ptr<Partitioning> makeZero1(const std::vector<UnitReference>& units,
                                        const Placement& placement,
                                        comm::Communicator& communicator,
                                        control::Observer* observer) {
    return std::make_unique<ShardedOptimizer>(units, placement, communicator, observer,
                                              GradientStore::Keep::kAll);
}

std::unique_ptr<Partitioning> makeZero2(const std::vector<UnitReference>& units,
                                        const Placement& placement,
                                        comm::Communicator& communicator,
                                        control::Observer* observer) {
    return std::make_unique<ShardedOptimizer>(units, placement, communicator, observer,
                                              GradientStore::Keep::kSlots);
}

}  // namespace shardscope::parallel
