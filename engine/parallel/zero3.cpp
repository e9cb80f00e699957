#include "engine/kernels/operator_scope.h"
#include "engine/parallel/gradients.h"
#include "engine/parallel/views.h"
#include "engine/run/config/rank_layout.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace shardscope::parallel {
namespace {

using comm::SymmetricBuffer;
using comm::Work;

struct UnitState {
    UnitReference reference;
    ShardLayout layout;
    SymmetricBuffer shard;      // parameters as they are gathered, (shard)
    kernels::ShardState state;  // the same as `compute`; fp32 master, gradients and moments
    at::Tensor gathered;        // (padded) while fetched
    Work gather;
    bool bound = false;  ///< gathered and waited for
};

/// Communicators of one rank: its group's, and that of the ranks with the same shard in all groups.
class Groups {
public:
    Groups(comm::Communicator& world, int shardRanks) : m_world(world) {
        if (shardRanks == 0 || shardRanks == world.size()) return;
        const int group = world.rank() / shardRanks;
        const int place = world.rank() % shardRanks;
        const int groups = world.size() / shardRanks;
        std::vector<int> shard, replicas;
        for (int i = 0; i < shardRanks; ++i) shard.push_back(group * shardRanks + i);
        for (int i = 0; i < groups; ++i) replicas.push_back(i * shardRanks + place);
        m_shard = world.split(shard, run::neighboursId(shardRanks, world.rank()));
        m_replicas =
            world.split(replicas, run::samePlaceId(world.size(), shardRanks, world.rank()));
    }
    [[nodiscard]] comm::Communicator& shard() const { return m_shard ? *m_shard : m_world; }
    /// Null when there is one group.
    [[nodiscard]] comm::Communicator* replicas() const { return m_replicas.get(); }
    /// One of the ranks that hold the same shard answers for it.
    [[nodiscard]] bool answers() const { return !m_replicas || m_replicas->rank() == 0; }

private:
    comm::Communicator& m_world;
    std::unique_ptr<comm::Communicator> m_shard, m_replicas;
};

class Zero3 final : public Distributed {
public:
    Zero3(const std::vector<UnitReference>& units, const Placement& placement,
          comm::Communicator& communicator, control::Observer* observer,
          const Zero3Options& options)
        : Distributed(placement, communicator, observer),
          m_options(options),
          m_groups(communicator, options.shardRanks),
          m_gradients(*this, m_groups.shard(),
                      options.keepGradients || options.keepGathered ? GradientStore::Keep::kAll
                                                                    : GradientStore::Keep::kSlots,
                      m_groups.replicas() != nullptr ? GradientStore::Shards::kShared
                                                     : GradientStore::Shards::kOwn) {
        for (const UnitReference& reference : units) addUnit(reference);
        m_gradients.finish();
        for (std::size_t i = 0; i < m_units.size(); ++i)
            m_units[i].state.gradient = m_gradients.shard(i);
    }

    ~Zero3() override {
        for (const UnitState& unit : m_units)
            if (unit.gathered.defined() && !unit.bound) settle(unit.gather);
    }

    void load(const ValueSource& source) override {
        // Pieces of one tensor follow each other: it is made once.
        std::string name;
        at::Tensor whole;
        for (UnitState& unit : m_units) {
            const at::Tensor flat = at::zeros({unit.layout.padded()});
            const auto& parameters = unit.reference.parameters;
            for (std::size_t i = 0; i < parameters.size(); ++i) {
                if (parameters[i].name != name) {
                    whole.reset();  // before there is a second one
                    whole = source(parameters[i]);
                }
                name = parameters[i].name;
                flat.narrow(0, unit.layout.offsets[i], parameters[i].count())
                    .copy_(parameters[i].pieceOf(whole).reshape({-1}));
            }
            unit.state.parameter.copy_(flat.narrow(0, ownPart(unit).begin, ownPart(unit).count));
        }
        piecesChanged();
    }

    void visit(const ValueSink& sink) override {
        for (const UnitState& unit : m_units) {
            const comm::CollectiveTag tag{Cause::kStart, unit.reference.layer, m_step};
            at::Tensor whole;
            if (m_placement.copies()) {
                whole = gatherMaster(m_groups.shard(), unit.state.parameter, tag);
            } else {
                whole = at::empty({unit.layout.padded()}, m_placement.master());
                m_groups.shard().allGather(unit.shard, whole.mutable_data_ptr(), tag).wait();
            }
            visitValues(unit.reference.parameters, unit.layout, whole, sink);
        }
    }

    void visitPieces(Pieces which, const PieceVisitor& visitor) override {
        if (which == Pieces::kAnswered && !m_groups.answers()) return;
        for (const UnitState& unit : m_units)
            visitPiecesOf(unit.reference, unit.layout, unit.state, ownPart(unit).begin,
                          ownPart(unit), which == Pieces::kAnswered, visitor);
    }

    void piecesChanged() override {
        for (UnitState& unit : m_units)
            if (m_placement.copies()) unit.state.compute.copy_(unit.state.parameter);
        m_communicator.barrier({Cause::kStart}).wait();
    }

    void beginStep(std::int32_t step) override {
        m_step = step;
        m_gradients.beginStep();
    }

    void beginMicroStep(bool last) override {
        m_lastMicroStep = last;
        m_gradients.beginMicroStep(last);
    }

    void fetch(std::size_t index, Cause cause) override { fetchFor(index, cause, m_step); }

    void wait(std::size_t index) override {
        UnitState& unit = m_units[index];
        if (unit.bound) return;
        block(unit.gather, Phase::kWaitGather, unit.reference.layer);
        bindValues(unit.reference.parameters, unit.layout, unit.gathered);
        unit.bound = true;
    }

    void release(std::size_t index, After use) override {
        const bool again =
            use == After::kForward
                ? !m_options.reshardAfterForward || m_options.keepGathered
                : use == After::kBackward && m_options.keepGathered && !m_lastMicroStep;
        if (!again) free(m_units[index]);
    }

    void beginGradients(std::size_t index) override {
        m_gradients.begin(index);
        reduceAcross(1);
    }

    void reduce(std::size_t index, Contribution more) override {
        const Work work = m_gradients.reduce(index, m_step);
        if (!work.valid()) return;
        m_lastReduction = work;
        const bool complete = m_lastMicroStep && more == Contribution::kLast;
        if (m_groups.replicas() != nullptr && complete) m_reduced.push_back({index, work});
    }

    void finishReductions() override {
        // In order: when the last one is done, all are.
        block(m_lastReduction, Phase::kWaitReduction, kRootLayer);
        m_gradients.finishStep();
        reduceAcross(0);
        block(m_lastAcross, Phase::kWaitReduction, kRootLayer);
    }

    void addSquaredNorm(const at::Tensor& total) const override {
        if (!m_groups.answers()) return;
        const std::int64_t rank = m_groups.shard().rank();
        for (const UnitState& unit : m_units)
            kernels::addSquaredNorm(
                unit.state.gradient.narrow(0, 0, unit.layout.countedInShard(rank)), total);
    }

    void update(const kernels::StepUpdate* update, bool another) override {
        const auto first = static_cast<std::size_t>(another ? 1 + m_options.prefetch : 0);
        for (std::size_t i = 0; i < m_units.size(); ++i) {
            UnitState& unit = m_units[i];
            kernels::updateShard(update, unit.layout.decayingInShard(m_groups.shard().rank()),
                                 unit.state);
            // What the next forward starts with is gathered behind the rest of the update.
            if (i < first) fetchFor(i, Cause::kPrefetch, m_step + 1);
        }
    }

    std::int64_t stateBytes() const override {
        std::int64_t bytes = m_gradients.stateBytes();
        const std::int64_t each = m_placement.stateBytesEach() - 4;  // gradients are counted above
        for (const UnitState& unit : m_units) bytes += each * unit.layout.shard;
        return bytes;
    }

private:
    [[nodiscard]] Slice ownPart(const UnitState& unit) const {
        return {m_groups.shard().rank() * unit.layout.shard, unit.layout.shard};
    }

    void addUnit(const UnitReference& reference) {
        UnitState unit;
        unit.reference = reference;
        unit.layout = layOut(reference.parameters, m_groups.shard().size(), m_placement.answers);
        const std::int64_t n = unit.layout.shard;
        const bool copies = m_placement.copies();
        unit.shard =
            allocate(n, kernels::dataTypeOf(m_placement.compute), MemoryCategory::kParameterShard,
                     reference.layer, copies ? "copy in use" : "parameter shard");
        unit.state.compute = asTensor(unit.shard);
        const at::TensorOptions options = m_placement.optimizer();
        const auto make = [&](MemoryCategory category, const char* owner) {
            return zeros(category, owner, n, options);
        };
        unit.state.parameter =
            copies ? make(MemoryCategory::kParameterShard, "fp32 master") : unit.state.compute;
        unit.state.firstMoment = make(MemoryCategory::kOptimizerState, "first moment");
        unit.state.secondMoment = make(MemoryCategory::kOptimizerState, "second moment");
        m_gradients.add(reference, unit.layout);
        m_units.push_back(std::move(unit));
    }

    void fetchFor(std::size_t index, Cause cause, std::int32_t step) {
        UnitState& unit = m_units[index];
        if (unit.gathered.defined()) return;
        const control::MemoryScope scope(MemoryCategory::kGatheredParameter, "gathered parameters");
        unit.gathered =
            at::empty({unit.layout.padded()}, m_placement.master().dtype(m_placement.compute));
        unit.gather = m_groups.shard().allGather(unit.shard, unit.gathered.mutable_data_ptr(),
                                                 {cause, unit.reference.layer, step});
    }

    /// Sums shards over the groups, all but the last `kept`. A shard is only handed on when it is
    /// there, since groups may have threads of their own; and at the same place of the schedule on
    /// every rank, since they may share a stream. The last but one was reduced two blocks ago and
    /// is there, as its slot is about to be used again.
    void reduceAcross(std::size_t kept) {
        for (; m_reduced.size() > kept; m_reduced.pop_front()) {
            const auto& [index, work] = m_reduced.front();
            block(work, Phase::kWaitReduction, m_units[index].reference.layer);
            m_lastAcross = m_groups.replicas()->allReduce(
                m_gradients.shardBuffer(index),
                {Cause::kGradient, m_units[index].reference.layer, m_step});
        }
    }

    static void free(UnitState& unit) {
        // On a device the memory is reused in the order of the current stream: it may only go
        // back once that stream has waited for the gather that writes it.
        if (unit.gathered.defined() && !unit.bound) unit.gather.wait();
        unbindValues(unit.reference.parameters);
        unit.gathered = at::Tensor();
        unit.bound = false;
    }

    const Zero3Options m_options;
    const Groups m_groups;
    std::vector<UnitState> m_units;
    GradientStore m_gradients;
    Work m_lastReduction;
    struct Reduced {
        std::size_t unit = 0;
        Work work;
    };
    std::deque<Reduced> m_reduced;  ///< of the last micro-step, not yet summed over groups
    Work m_lastAcross;
    bool m_lastMicroStep = true;
    std::int32_t m_step = -1;
};

}  // namespace

std::unique_ptr<Partitioning> makeZero3(const std::vector<UnitReference>& units,
                                        const Placement& placement,
                                        comm::Communicator& communicator,
                                        control::Observer* observer, const Zero3Options& options) {
    return std::make_unique<Zero3>(units, placement, communicator, observer, options);
}

}  // namespace shardscope::parallel
