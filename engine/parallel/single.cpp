#include "engine/parallel/partitioning.h"
#include "engine/parallel/shard_layout.h"
#include "engine/parallel/views.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

namespace shardscope::parallel {
namespace {

class Single final : public Partitioning {
public:
    explicit Single(std::vector<UnitReference> units) {
        for (const UnitReference& reference : units) {
            UnitState unit{reference, layOut(reference.parameters, 1), {}, {}, {}, {}, true};
            unit.values =
                zeros(MemoryCategory::kParameterShard, "parameters", unit.layout.padded());
            unit.gradients =
                zeros(MemoryCategory::kGradientShard, "gradients", unit.layout.padded());
            unit.firstMoment =
                zeros(MemoryCategory::kOptimizerState, "first moment", unit.layout.padded());
            unit.secondMoment =
                zeros(MemoryCategory::kOptimizerState, "second moment", unit.layout.padded());
            bindValues(reference.parameters, unit.layout, unit.values);
            bindGradients(reference.parameters, unit.layout, unit.gradients, false);
            m_units.push_back(std::move(unit));
        }
    }

    void load(const ValueSource& source) override {
        for (UnitState& unit : m_units) {
            for (kernels::Parameter& p : unit.reference.parameters) p.value.copy_(source(p));
        }
    }

    void visit(const ValueSink& sink) override {
        for (UnitState& unit : m_units) {
            for (const kernels::Parameter& p : unit.reference.parameters) sink(p, p.value);
        }
    }

    void beginStep(std::int32_t) override {
        for (UnitState& unit : m_units) unit.fresh = true;
    }

    void fetch(std::size_t, Cause) override {}
    void wait(std::size_t) override {}
    void release(std::size_t) override {}

    void beginGradients(std::size_t index) override {
        UnitState& unit = m_units[index];
        for (kernels::Parameter& p : unit.reference.parameters) p.accumulate = !unit.fresh;
        unit.fresh = false;
    }

    void reduce(std::size_t) override {}
    void finishReductions() override {}

    double squaredNorm() const override {
        double sum = 0;
        for (const UnitState& unit : m_units)
            sum += kernels::sumOfSquares(constFloats(unit.gradients));
        return sum;
    }

    void update(const kernels::AdamWStep& step) override {
        for (UnitState& unit : m_units) {
            updateShard(step, unit.layout.decaying, floats(unit.values),
                        constFloats(unit.gradients), floats(unit.firstMoment),
                        floats(unit.secondMoment));
        }
    }

    std::int64_t stateBytes() const override {
        std::int64_t bytes = 0;
        for (const UnitState& unit : m_units) bytes += 16 * unit.layout.padded();
        return bytes;
    }

    void reportPhases(bool) override {}

private:
    struct UnitState {
        UnitReference reference;
        ShardLayout layout;
        at::Tensor values, gradients, firstMoment, secondMoment;  // (padded)
        bool fresh = true;  ///< no gradient written in this step yet
    };

    std::vector<UnitState> m_units;
};

}  // namespace

std::unique_ptr<Partitioning> makeSingle(std::vector<UnitReference> units) {
    return std::make_unique<Single>(std::move(units));
}

}  // namespace shardscope::parallel
