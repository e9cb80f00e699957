#include "profiler/planning/partition_schedule.h"

#include "engine/run/config/model_tensors.h"
#include "engine/run/theory/theory.h"
#include "engine/run/theory/working_sizes.h"

#include <deque>
#include <utility>

namespace shardscope::planning {
namespace {

using run::RunConfig;
using run::Strategy;

std::vector<Unit> unitsOf(const RunConfig& config) {
    const std::int64_t ranks = theory::shardRanks(config);
    std::vector<Unit> units;
    for (const run::ModelUnit& each : run::modelUnits(config)) {
        Unit unit;
        if (each.part == run::ModelUnit::Part::kBlock)
            unit.layer = {static_cast<std::int16_t>(each.index)};
        unit.padded = theory::padded(each.count(), ranks);
        for (const run::ModelTensor& tensor : each.tensors) unit.tensors.push_back(tensor.count());
        units.push_back(std::move(unit));
    }
    return units;
}

class Ddp final : public Partition {
public:
    using Partition::Partition;

    void beginStep() override { m_complete = m_sent = 0, m_works.clear(); }
    void reduce(std::size_t index, bool) override {
        if (!m_last) return;
        m_complete += m_units[index].padded;
        if (m_config.strategy == Strategy::kDdpOverlap) sendTensors(index);
        if (m_config.strategy == Strategy::kDdpBucket) sendBuckets();
    }
    void finishReductions() override {
        if (m_config.strategy == Strategy::kDdpNaive) return sendOneByOne();
        if (m_config.strategy != Strategy::kDdpOverlap) send(wholeElements() - m_sent, kNoLayer);
        for (const Collective& work : m_works)
            m_script.wait(work, Phase::kWaitReduction, kRootLayer);
    }

private:
    void send(std::int64_t elements, LayerIndex layer) {
        if (elements == 0) return;
        m_sent += elements;
        if (m_config.compression == run::Compression::kTopK) {
            const std::int64_t kept = theory::keptElements(m_config.keptFraction, elements);
            m_works.push_back(m_script.ask(CollectiveOp::kAllGather, Among::kShard,
                                           2 * theory::kFloatBytes * kept * m_config.ranks,
                                           Cause::kGradient, layer));
            return;
        }
        const bool narrow = m_config.compression == run::Compression::kBFloat16;
        m_works.push_back(m_script.ask(CollectiveOp::kAllReduce, Among::kShard,
                                       (narrow ? 2 : theory::kFloatBytes) * elements,
                                       Cause::kGradient, layer));
    }
    void sendTensors(std::size_t index) {
        for (const std::int64_t count : m_units[index].tensors) send(count, m_units[index].layer);
    }
    void sendBuckets() {
        const std::int64_t bucket = theory::bucketElements(m_config);
        while (m_complete - m_sent >= bucket) send(bucket, kNoLayer);
    }
    void sendOneByOne() {
        for (std::size_t i = m_units.size(); i-- > 0;)
            for (const std::int64_t count : m_units[i].tensors) {
                send(count, m_units[i].layer);
                m_script.wait(m_works.back(), Phase::kWaitReduction, m_units[i].layer);
            }
    }

    std::int64_t m_complete = 0, m_sent = 0;
    std::vector<Collective> m_works;
};

/// GradientStore of the engine: two slots that blocks take turns in, or a place for every unit.
class Gradients {
public:
    Gradients(const RunConfig& config, Script& script, bool all)
        : m_config(config), m_script(script), m_all(all) {}

    void begin(std::size_t index, const Unit& unit) {
        if (!m_all && index > 0) m_turn = 3 - m_turn;
        Collective& before = workIn(index);
        m_script.wait(before, Phase::kWaitReduction, unit.layer);
        before.reset();
    }
    Collective reduce(std::size_t index, const Unit& unit, bool lastMicroStep) {
        if (m_all && !lastMicroStep) return {};
        const std::int64_t each = m_all ? theory::kFloatBytes : theory::gradientBytes(m_config);
        Collective& work = workIn(index);
        work = m_script.ask(CollectiveOp::kReduceScatter, Among::kShard, each * unit.padded,
                            Cause::kGradient, unit.layer);
        return work;
    }

private:
    Collective& workIn(std::size_t index) {
        const std::size_t slot = m_all ? index : index == 0 ? 0 : m_turn;
        if (m_works.size() <= slot) m_works.resize(slot + 1);
        return m_works[slot];
    }

    const RunConfig& m_config;
    Script& m_script;
    bool m_all;
    std::size_t m_turn = 1;
    std::vector<Collective> m_works;
};

/// ZeRO stages 1 and 2.
class ShardedOptimizer final : public Partition {
public:
    ShardedOptimizer(const RunConfig& config, Script& script)
        : Partition(config, script),
          m_gradients(config, script, config.strategy == Strategy::kZero1),
          m_gathers(m_units.size()) {}

    void wait(std::size_t index) override {
        m_script.wait(m_gathers[index], Phase::kWaitGather, m_units[index].layer);
        m_gathers[index].reset();
    }
    void beginGradients(std::size_t index) override { m_gradients.begin(index, m_units[index]); }
    void reduce(std::size_t index, bool) override {
        if (const auto work = m_gradients.reduce(index, m_units[index], m_last)) m_reduction = work;
    }
    void finishReductions() override {
        m_script.wait(m_reduction, Phase::kWaitReduction, kRootLayer);
    }
    void update() override {
        const std::int64_t each = theory::computeBytes(m_config);
        for (std::size_t i = 0; i < m_units.size(); ++i) {
            const Unit& unit = m_units[i];
            m_script.compute(Phase::kOptimizer, kNoLayer, shardOf(unit), i > 0);
            m_gathers[i] = m_script.ask(CollectiveOp::kAllGather, Among::kShard, each * unit.padded,
                                        Cause::kUpdate, unit.layer);
        }
    }

private:
    Gradients m_gradients;
    std::vector<Collective> m_gathers;
    Collective m_reduction;
};

/// ZeRO stage 3 and hybrid sharding.
class Zero3 final : public Partition {
public:
    Zero3(const RunConfig& config, Script& script)
        : Partition(config, script),
          m_gradients(config, script, config.keepGradients || config.keepGathered),
          m_gathered(m_units.size()) {}

    void beginMicroStep(bool last) override { m_last = last; }
    void fetch(std::size_t index, Cause cause) override {
        Gathered& unit = m_gathered[index];
        if (std::exchange(unit.there, true)) return;
        unit.work = m_script.ask(CollectiveOp::kAllGather, Among::kShard,
                                 theory::computeBytes(m_config) * m_units[index].padded, cause,
                                 m_units[index].layer);
    }
    void wait(std::size_t index) override {
        m_script.wait(m_gathered[index].work, Phase::kWaitGather, m_units[index].layer);
        m_gathered[index].work.reset();
    }
    void release(std::size_t index, After use) override {
        const bool again = use == After::kForward
                               ? !m_config.reshardAfterForward || m_config.keepGathered
                               : m_config.keepGathered && !m_last;
        if (again) return;
        wait(index);
        m_gathered[index].there = false;
    }
    void beginGradients(std::size_t index) override {
        m_gradients.begin(index, m_units[index]);
        reduceAcross(1);
    }
    void reduce(std::size_t index, bool lastContribution) override {
        const auto work = m_gradients.reduce(index, m_units[index], m_last);
        if (!work) return;
        m_reduction = work;
        if (hasGroups() && m_last && lastContribution) m_reduced.emplace_back(index, *work);
    }
    void finishReductions() override {
        m_script.wait(m_reduction, Phase::kWaitReduction, kRootLayer);
        reduceAcross(0);
        m_script.wait(m_across, Phase::kWaitReduction, kRootLayer);
    }
    void update() override {
        const auto ahead = static_cast<std::size_t>(m_config.prefetch) + 1;
        for (std::size_t i = 0; i < m_units.size(); ++i) {
            m_script.compute(Phase::kOptimizer, kNoLayer, shardOf(m_units[i]), i > 0);
            if (i < ahead && !m_config.graphs) fetch(i, Cause::kPrefetch);
        }
    }

private:
    struct Gathered {
        bool there = false;
        Collective work;
    };

    [[nodiscard]] bool hasGroups() const { return theory::shardRanks(m_config) < m_config.ranks; }
    void reduceAcross(std::size_t kept) {
        for (; m_reduced.size() > kept; m_reduced.pop_front()) {
            const auto& [index, work] = m_reduced.front();
            m_script.wait(work, Phase::kWaitReduction, m_units[index].layer);
            m_across = m_script.ask(CollectiveOp::kAllReduce, Among::kAcross,
                                    theory::kFloatBytes * shardOf(m_units[index]), Cause::kGradient,
                                    m_units[index].layer);
        }
    }

    Gradients m_gradients;
    std::vector<Gathered> m_gathered;
    std::deque<std::pair<std::size_t, std::uint32_t>> m_reduced;
    Collective m_reduction, m_across;
};

}  // namespace

Partition::Partition(const RunConfig& config, Script& script)
    : m_config(config), m_script(script), m_units(unitsOf(config)) {}

std::int64_t Partition::ownElements() const {
    std::int64_t count = 0;
    for (const Unit& unit : m_units) count += shardOf(unit);
    return count;
}

void Partition::update() {
    m_script.compute(Phase::kOptimizer, kNoLayer, wholeElements());
}

std::int64_t Partition::shardOf(const Unit& unit) const {
    return unit.padded / theory::shardRanks(m_config);
}

std::int64_t Partition::wholeElements() const {
    std::int64_t count = 0;
    for (const Unit& unit : m_units) count += unit.padded;
    return count;
}

std::unique_ptr<Partition> partitionOf(const RunConfig& config, Script& script) {
    switch (config.strategy) {
        case Strategy::kSingle:
            return std::make_unique<Partition>(config, script);
        case Strategy::kZero1:
        case Strategy::kZero2:
            return std::make_unique<ShardedOptimizer>(config, script);
        case Strategy::kZero3:
        case Strategy::kHsdp:
            return std::make_unique<Zero3>(config, script);
        default:
            return std::make_unique<Ddp>(config, script);
    }
}

}  // namespace shardscope::planning
