#include "engine/parallel/distributed.h"
#include "engine/parallel/views.h"

namespace shardscope::parallel {
namespace {

class Single final : public Partitioning {
public:
    Single(const std::vector<UnitReference>& units, const Placement& placement)
        : m_placement(placement) {
        for (const UnitReference& reference : units) addUnit(reference);
    }

    void load(const ValueSource& source) override {
        for (UnitState& unit : m_units) {
            const auto& parameters = unit.reference.parameters;
            for (std::size_t i = 0; i < parameters.size(); ++i) {
                unit.state.parameter.narrow(0, unit.layout.offsets[i], parameters[i].count())
                    .copy_(parameters[i].pieceOf(source(parameters[i])).reshape({-1}));
            }
            if (m_placement.copies()) unit.state.compute.copy_(unit.state.parameter);
        }
    }

    void visit(const ValueSink& sink) override {
        for (const UnitState& unit : m_units) {
            visitValues(unit.reference.parameters, unit.layout, unit.state.parameter, sink);
        }
    }

    void visitPieces(Pieces which, const PieceVisitor& visitor) override {
        for (const UnitState& unit : m_units)
            visitPiecesOf(unit.reference, unit.layout, unit.state, 0, {0, unit.layout.padded()},
                          which == Pieces::kAnswered, visitor);
    }

    void piecesChanged() override {
        for (UnitState& unit : m_units)
            if (m_placement.copies()) unit.state.compute.copy_(unit.state.parameter);
    }

    void beginStep(std::int32_t) override {
        for (UnitState& unit : m_units) unit.fresh = true;
    }

    void beginMicroStep(bool) override {}

    void fetch(std::size_t, Cause) override {}
    void wait(std::size_t) override {}
    void release(std::size_t, After) override {}

    void beginGradients(std::size_t index) override {
        UnitState& unit = m_units[index];
        for (kernels::Parameter& p : unit.reference.parameters) p.accumulate = !unit.fresh;
        unit.fresh = false;
    }

    void reduce(std::size_t, Contribution) override {}
    void finishReductions() override {}

    void addSquaredNorm(const at::Tensor& total) const override {
        for (const UnitState& unit : m_units)
            kernels::addSquaredNorm(unit.state.gradient.narrow(0, 0, unit.layout.countedInShard(0)),
                                    total);
    }

    void update(const kernels::StepUpdate* update, bool) override {
        for (const UnitState& unit : m_units) {
            kernels::updateShard(update, unit.layout.decaying, unit.state);
        }
    }

    std::int64_t stateBytes() const override {
        std::int64_t bytes = 0;
        for (const UnitState& unit : m_units)
            bytes += m_placement.stateBytesEach() * unit.layout.padded();
        return bytes;
    }

    void reportPhases(bool) override {}

private:
    struct UnitState {
        UnitReference reference;
        ShardLayout layout;
        kernels::ShardState state;  // (padded); gradients are written in fp32 directly
        bool fresh = true;          ///< no gradient written in this step yet
    };

    void addUnit(const UnitReference& reference) {
        UnitState unit{reference, layOut(reference.parameters, 1, m_placement.answers), {}, true};
        const auto make = [&](MemoryCategory category, const char* owner,
                              const at::TensorOptions& options) {
            return zeros(category, owner, unit.layout.padded(), options);
        };
        const at::TensorOptions master = m_placement.optimizer();
        kernels::ShardState& state = unit.state;
        state.parameter = make(MemoryCategory::kParameterShard, "parameters", master);
        state.compute = m_placement.copies() ? make(MemoryCategory::kParameterShard, "copy in use",
                                                    m_placement.master().dtype(m_placement.compute))
                                             : state.parameter;
        state.gradient = make(MemoryCategory::kGradientShard, "gradients", m_placement.master());
        state.firstMoment = make(MemoryCategory::kOptimizerState, "first moment", master);
        state.secondMoment = make(MemoryCategory::kOptimizerState, "second moment", master);
        bindValues(reference.parameters, unit.layout, state.compute);
        bindGradients(reference.parameters, unit.layout, state.gradient, false);
        m_units.push_back(std::move(unit));
    }

    const Placement m_placement;
    std::vector<UnitState> m_units;
};

}  // namespace

std::unique_ptr<Partitioning> makeSingle(const std::vector<UnitReference>& units,
                                         const Placement& placement) {
    return std::make_unique<Single>(units, placement);
}

}  // namespace shardscope::parallel
