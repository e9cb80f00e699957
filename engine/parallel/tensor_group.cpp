#include "engine/parallel/tensor_group.h"

#include "engine/kernels/operator_scope.h"
#include "engine/parallel/distributed.h"
#include "engine/run/theory/working_sizes.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace shardscope::parallel {
namespace {

using comm::SymmetricBuffer;

/// What peers read of one operation is written again by the next but one: by then all have begun
/// the one between.
class Turns {
public:
    Turns() = default;
    template <class Allocate>
    explicit Turns(const Allocate& allocate) {
        for (SymmetricBuffer& buffer : m_buffers) buffer = allocate();
    }
    [[nodiscard]] SymmetricBuffer next(std::int64_t count) {
        m_turn = 1 - m_turn;
        if (static_cast<std::size_t>(count) > m_buffers[m_turn].count)
            throw std::runtime_error("a tensor group was asked for more rows than it was made for");
        return sliceOf(m_buffers[m_turn], {0, count});
    }
    [[nodiscard]] const SymmetricBuffer& current() const { return m_buffers[m_turn]; }

private:
    std::array<SymmetricBuffer, 2> m_buffers;
    std::size_t m_turn = 0;
};

class RanksOfTensor final : public TensorRanks {
public:
    RanksOfTensor(comm::Communicator& communicator, control::Observer* observer,
                  const TensorGroupOptions& options)
        : m_communicator(communicator), m_observer(observer), m_options(options) {
        const std::int64_t elements = options.rows * options.hidden;
        const DataType dtype = kernels::dataTypeOf(options.compute);
        m_partials = turns(elements, dtype, "partial sums");
        m_small = turns(
            std::max(options.rows * theory::kRowStatistics, options.hidden * theory::kBlockVectors),
            DataType::kFloat32, "statistics");
        if (options.sequence) m_own = turns(elements / size(), dtype, "rows to gather");
    }

    int rank() const override { return m_communicator.rank(); }
    int size() const override { return m_communicator.size(); }
    bool sequence() const override { return m_options.sequence; }

    void setPlace(const comm::CollectiveTag& tag) override { m_tag = tag; }
    void reportPhases(bool report) override { m_reports = report; }

    at::Tensor partial(std::int64_t rows, std::int64_t columns,
                       const at::TensorOptions& options) override {
        return asTensor(m_partials.next(rows * columns), {rows, columns}, options);
    }

    at::Tensor sum(const at::Tensor& partial) override {
        const SymmetricBuffer buffer = sliceOf(m_partials.current(), {0, partial.numel()});
        if (buffer.local != partial.const_data_ptr())
            throw std::runtime_error("a tensor group sums what partial() gave last");
        if (!sequence()) {
            wait(m_communicator.allReduce(buffer, m_tag));
            return partial;
        }
        const at::Tensor own = at::empty({partial.size(0) / size(), partial.size(1)},
                                         partial.options().dtype(at::kFloat));
        wait(m_communicator.reduceScatter(buffer, own.mutable_data_ptr<float>(),
                                          comm::Accumulate::kNo, m_tag));
        return own.to(partial.scalar_type());
    }

    at::Tensor gather(const at::Tensor& x) override {
        if (!sequence()) return x;
        const at::Tensor all = at::empty({x.size(0) * size(), x.size(1)}, x.options());
        gatherInto(all, x, m_own);
        return all;
    }

    at::Tensor gatherAll(const at::Tensor& x) override {
        const at::Tensor all = at::empty({size(), x.size(0), x.size(1)}, x.options());
        gatherInto(all, x, m_small);
        return all;
    }

    void sumInPlace(const std::vector<at::Tensor>& values) override {
        std::int64_t count = 0;
        for (const at::Tensor& each : values) count += each.numel();
        const SymmetricBuffer buffer = m_small.next(count);
        const at::Tensor flat =
            asTensor(buffer, {count}, values.front().options().dtype(at::kFloat));
        const auto forEach = [&](const auto& visit) {
            std::int64_t at = 0;
            for (const at::Tensor& each : values) {
                visit(each, flat.narrow(0, at, each.numel()).view(each.sizes()));
                at += each.numel();
            }
        };
        forEach([](const at::Tensor& each, const at::Tensor& place) { place.copy_(each); });
        wait(m_communicator.allReduce(buffer, m_tag));
        forEach([](const at::Tensor& each, const at::Tensor& place) { each.copy_(place); });
    }

private:
    [[nodiscard]] Turns turns(std::int64_t count, DataType dtype, const char* owner) {
        return Turns([&] {
            return allocate(m_communicator, m_observer, m_options.device, count, dtype,
                            MemoryCategory::kCommunication, kNoLayer, owner);
        });
    }
    static at::Tensor asTensor(const SymmetricBuffer& buffer, at::IntArrayRef shape,
                               const at::TensorOptions& options) {
        const at::DisableRecordFunctionGuard bookkeeping;
        return at::from_blob(buffer.local, shape, options);
    }

    void gatherInto(const at::Tensor& all, const at::Tensor& x, Turns& turns) {
        const SymmetricBuffer own = turns.next(x.numel());
        asTensor(own, x.sizes(), x.options()).copy_(x);
        wait(m_communicator.allGather(own, all.mutable_data_ptr(), m_tag));
    }

    /// Divides its phase even where nothing is waited for: that a step is whole is seen by its
    /// phases.
    void wait(const comm::Work& work) {
        const control::PhaseBreak meanwhile(m_reports ? m_observer : nullptr, Phase::kWaitOther,
                                            m_tag.layer);
        work.wait();
    }

    comm::Communicator& m_communicator;
    control::Observer* const m_observer;
    const TensorGroupOptions m_options;
    Turns m_partials, m_own, m_small;
    comm::CollectiveTag m_tag;
    bool m_reports = true;
};

}  // namespace

std::unique_ptr<TensorRanks> makeTensorGroup(comm::Communicator& communicator,
                                             control::Observer* observer,
                                             const TensorGroupOptions& options) {
    return std::make_unique<RanksOfTensor>(communicator, observer, options);
}

}  // namespace shardscope::parallel
