// Distributed data parallel: everything whole on every rank, gradients summed by all-reduce.
//
// Gradients of all units lie in one buffer in the order in which backward completes them (last
// block first, the root last), so that whatever is complete is a prefix of it. The four forms
// differ only in how that buffer is cut and when a piece is sent.
#include "engine/parallel/compression.h"
#include "engine/parallel/replicated.h"
#include "engine/parallel/views.h"

#include <algorithm>
#include <optional>

namespace shardscope::parallel {
namespace {

using comm::SymmetricBuffer;
using comm::Work;

class Ddp final : public Replicated {
public:
    Ddp(const std::vector<UnitReference>& units, const Placement& placement,
        comm::Communicator& communicator, control::Observer* observer, const DdpOptions& options)
        : Replicated(units, placement, communicator, observer, Optimizer::kWhole),
          m_options(options),
          m_begins(m_units.size()) {
        for (std::size_t i = 1; i <= m_units.size(); ++i) {
            // Blocks from the last to the first, then the root, which is unit 0.
            const std::size_t index = m_units.size() - i;
            m_begins[index] = m_total;
            m_total += m_units[index].layout.padded();
        }
        m_buffer =
            allocate(m_total, DataType::kFloat32, MemoryCategory::kGradient, kNoLayer, "gradients");
        m_gradients = asTensor(m_buffer);
        if (options.compression != GradientCompression::kNone)
            m_compressor.emplace(*this, options.compression, options.keptFraction, m_gradients);
        for (std::size_t i = 0; i < m_units.size(); ++i) {
            Unit& unit = m_units[i];
            unit.state.gradient = gradientOf(i);
            bindGradients(unit.reference.parameters, unit.layout, unit.state.gradient, false);
        }
    }

    ~Ddp() override {
        for (const Work& work : m_works) settle(work);
    }

    void beginStep(std::int32_t step) override {
        Replicated::beginStep(step);
        m_complete = m_sent = 0;
        m_works.clear();
    }

    void beginGradients(std::size_t index) override {
        Unit& unit = m_units[index];
        for (kernels::Parameter& p : unit.reference.parameters) p.accumulate = !unit.fresh;
        unit.fresh = false;
    }

    void reduce(std::size_t index, Contribution) override {
        if (!m_lastMicroStep) return;  // not summed over ranks until all micro-steps are in
        m_complete = m_begins[index] + m_units[index].layout.padded();
        if (m_options.exchange == GradientExchange::kOverlapped) sendParameters(index);
        if (m_options.exchange == GradientExchange::kBucketed) sendBuckets();
    }

    void finishReductions() override {
        if (m_options.exchange == GradientExchange::kNaive) sendOneByOne();
        if (m_options.exchange == GradientExchange::kFlat) send({0, m_total}, kNoLayer);
        if (m_options.exchange == GradientExchange::kBucketed)
            send({m_sent, m_total - m_sent}, kNoLayer);
        for (const Work& work : m_works) block(work, Phase::kWaitReduction, kRootLayer);
        if (m_compressor) m_compressor->finish();
    }

    void update(const kernels::StepUpdate* update, bool) override {
        for (const Unit& unit : m_units)
            kernels::updateShard(update, unit.layout.decaying, unit.state);
    }

protected:
    at::Tensor shareOfGradient(const Unit& unit) const override {
        const Slice own = share(unit);
        return unit.state.gradient.narrow(0, own.begin, own.count);
    }
    std::int64_t gradientBytes() const override {
        return 4 * m_total + (m_compressor ? m_compressor->stateBytes() : 0);
    }

private:
    at::Tensor gradientOf(std::size_t index) const {
        return m_gradients.narrow(0, m_begins[index], m_units[index].layout.padded());
    }
    Slice parameterSlice(std::size_t unit, std::size_t parameter) const {
        return {m_begins[unit] + m_units[unit].layout.offsets[parameter],
                m_units[unit].reference.parameters[parameter].count()};
    }

    Work send(Slice slice, LayerIndex layer) {
        if (slice.count == 0) return {};
        const comm::CollectiveTag tag{Cause::kGradient, layer, m_step};
        const Work work = m_compressor ? m_compressor->send(slice, tag)
                                       : m_communicator.allReduce(sliceOf(m_buffer, slice), tag);
        m_works.push_back(work);
        return work;
    }

    void sendParameters(std::size_t index) {
        const Unit& unit = m_units[index];
        for (std::size_t p = 0; p < unit.reference.parameters.size(); ++p)
            send(parameterSlice(index, p), unit.reference.layer);
    }

    void sendBuckets() {
        while (m_complete - m_sent >= m_options.bucketElements) {
            send({m_sent, m_options.bucketElements}, kNoLayer);
            m_sent += m_options.bucketElements;
        }
    }

    /// One parameter after the other, each waited for: nothing computes meanwhile.
    void sendOneByOne() {
        for (std::size_t i = m_units.size(); i-- > 0;)
            for (std::size_t p = 0; p < m_units[i].reference.parameters.size(); ++p)
                block(send(parameterSlice(i, p), m_units[i].reference.layer), Phase::kWaitReduction,
                      m_units[i].reference.layer);
    }

    const DdpOptions m_options;
    std::vector<std::int64_t> m_begins;  ///< of each unit in the buffer
    std::int64_t m_total = 0;
    SymmetricBuffer m_buffer;
    at::Tensor m_gradients;
    std::int64_t m_complete = 0;  ///< elements that backward is done with
    std::int64_t m_sent = 0;
    std::vector<Work> m_works;
    std::optional<Compressor> m_compressor;
};

}  // namespace

std::unique_ptr<Partitioning> makeDdp(const std::vector<UnitReference>& units,
                                      const Placement& placement, comm::Communicator& communicator,
                                      control::Observer* observer, const DdpOptions& options) {
    return std::make_unique<Ddp>(units, placement, communicator, observer, options);
}

}  // namespace shardscope::parallel
