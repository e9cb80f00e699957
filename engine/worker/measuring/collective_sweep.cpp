#include "engine/worker/measuring/collective_sweep.h"

#include "storage/model/host_clock.h"
#include "storage/model/quantity_text.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace shardscope::worker {
namespace {

/// Elements that are written or looked at together.
constexpr std::int64_t kChunk = 1 << 20;
constexpr float kNothing = -1;  ///< that no operation gives

/// Below 1024, and unlike its neighbours'.
float hashOf(std::int64_t index) {
    return static_cast<float>((static_cast<std::uint32_t>(index) * 2'654'435'761U) >> 22);
}
/// What a rank brings as element `index` of the whole payload.
float broughtBy(std::int64_t rank, std::int64_t index) {
    return hashOf(index) + static_cast<float>(1 + 3 * rank);
}
float sumOverRanks(std::int64_t ranks, std::int64_t index) {
    const std::int64_t pairs = ranks * (ranks - 1) / 2;
    return static_cast<float>(ranks) * hashOf(index) + static_cast<float>(ranks + 3 * pairs);
}

/// Where an operation's result lies: rows of one rank each, or one row.
struct Layout {
    bool inPlace = false;
    std::int64_t elements = 0, rowLength = 0;
};

/// Calls `use` with the layout and with what gives an element: its row, its place in that. A
/// template, so that a gigabyte is looked at as fast as it is read.
template <class Use>
auto withExpected(CollectiveOp operation, std::int64_t whole, std::int64_t rank, std::int64_t ranks,
                  Use use) {
    const std::int64_t part = whole / ranks;
    switch (operation) {
        case CollectiveOp::kAllGather:
            return use(Layout{false, whole, part}, [=](std::int64_t row, std::int64_t i) {
                return broughtBy(row, row * part + i);
            });
        case CollectiveOp::kReduceScatter:
            return use(Layout{false, part, part}, [=](std::int64_t, std::int64_t i) {
                return sumOverRanks(ranks, rank * part + i);
            });
        case CollectiveOp::kBroadcast:
            return use(Layout{true, whole, whole},
                       [](std::int64_t, std::int64_t i) { return broughtBy(0, i); });
        case CollectiveOp::kAllToAll:
            return use(Layout{false, whole, part}, [=](std::int64_t row, std::int64_t i) {
                return broughtBy(row, rank * part + i);
            });
        default:
            return use(Layout{true, whole, whole},
                       [=](std::int64_t, std::int64_t i) { return sumOverRanks(ranks, i); });
    }
}

/// Of memory of the host or a device, through a buffer here.
template <class Value>
void write(const at::Tensor& to, Value value) {
    std::vector<float> chunk(static_cast<std::size_t>(std::min(kChunk, to.numel())));
    for (std::int64_t begin = 0; begin < to.numel(); begin += kChunk) {
        const std::int64_t count = std::min(kChunk, to.numel() - begin);
        for (std::int64_t i = 0; i < count; ++i)
            chunk[static_cast<std::size_t>(i)] = value(begin + i);
        to.narrow(0, begin, count).copy_(at::from_blob(chunk.data(), {count}));
    }
}

struct Difference {
    std::int64_t element = 0;
    float found = 0, expected = 0;
};

/// In one row.
template <class Value>
std::optional<Difference> firstDifference(const at::Tensor& row, Value value) {
    std::vector<float> chunk(static_cast<std::size_t>(std::min(kChunk, row.numel())));
    for (std::int64_t begin = 0; begin < row.numel(); begin += kChunk) {
        const std::int64_t count = std::min(kChunk, row.numel() - begin);
        at::from_blob(chunk.data(), {count}).copy_(row.narrow(0, begin, count));
        std::int64_t wrong = 0;
        for (std::int64_t i = 0; i < count; ++i)
            wrong += chunk[static_cast<std::size_t>(i)] != value(begin + i);
        for (std::int64_t i = 0; i < count && wrong > 0; ++i) {
            const float found = chunk[static_cast<std::size_t>(i)];
            if (found != value(begin + i)) return Difference{begin + i, found, value(begin + i)};
        }
    }
    return std::nullopt;
}

template <class Value>
std::optional<Difference> firstDifference(const at::Tensor& result, const Layout& layout,
                                          Value value) {
    for (std::int64_t row = 0; row * layout.rowLength < layout.elements; ++row) {
        const std::int64_t first = row * layout.rowLength;
        auto found = firstDifference(result.narrow(0, first, layout.rowLength),
                                     [&](std::int64_t i) { return value(row, i); });
        if (!found) continue;
        found->element += first;
        return found;
    }
    return std::nullopt;
}

}  // namespace

CollectiveSweep::CollectiveSweep(SweepParts parts, run::MeasurementPlan plan)
    : m_parts(std::move(parts)), m_plan(std::move(plan)) {}

Result<SweepOutcome> CollectiveSweep::run() {
    if (m_plan.operations.empty()) return m_outcome;
    takeMemory();
    const std::int32_t first = m_plan.machine ? 1 : 0;
    for (std::int32_t i = first; i < m_plan.steps() && !m_outcome.stopped; ++i)
        if (auto done = step(i, *m_plan.itemOf(i)); !done) return failure(done);
    return m_outcome;
}

/// Once for all: what a communicator allocated stays. Ranks on hosts with unlike memory agree.
void CollectiveSweep::takeMemory() {
    std::array<double, 1> least{-static_cast<double>(m_parts.freeBytes)};
    m_parts.communicator.allReduceSmall(least, comm::Reduction::kMax, {Cause::kStart}).wait();
    m_outcome.leastFreeBytes = static_cast<std::int64_t>(-least[0]);
    std::int64_t elements = 0;
    for (const Bytes size : m_plan.sizes)
        if (fits(size)) elements = std::max(elements, elementsOf({CollectiveOp::kAllReduce, size}));
    if (elements == 0) return;
    const control::MemoryScope memory(MemoryCategory::kCommunication, "measured payload");
    m_buffer =
        m_parts.communicator.allocate(static_cast<std::size_t>(elements), DataType::kFloat32);
    m_result = at::empty({elements}, at::TensorOptions().dtype(at::kFloat).device(m_parts.device));
}

bool CollectiveSweep::fits(Bytes size) const {
    return kPayloadCopies * size.count <= m_outcome.leastFreeBytes;
}

/// Of a size that does not fit too, so that steps are numbered alike whatever fits.
Result<void> CollectiveSweep::step(std::int32_t step, const Item& item) {
    m_parts.beforeStep(step);
    m_parts.observer.stepBegin(step);
    const std::int64_t start = m_clockNs = hostNow();
    m_roundsDone = 0;
    Result<void> done;
    if (fits(item.size))
        done = rounds(step, item);
    else
        m_outcome.skipped.push_back(item);
    m_parts.observer.stepEnd({step, start, hostNow(), 0, false});
    return done;
}

Result<void> CollectiveSweep::rounds(std::int32_t step, const Item& item) {
    for (std::int32_t number = -m_plan.warmup; !m_outcome.stopped; ++number) {
        const Meeting met = meet(step);
        m_outcome.stopped = met.stop;
        if (met.stop) break;
        if (met.timeUp) number = std::max(number, 0);
        const auto last = round(step, item, number, met);
        if (!last) return failure(last);
        if (*last) break;
    }
    m_outcome.cutShort += !m_outcome.stopped && m_roundsDone < m_plan.rounds;
    return {};
}

/// Whether it was the last.
Result<bool> CollectiveSweep::round(std::int32_t step, const Item& item, std::int32_t number,
                                    Meeting met) {
    const bool counts = number >= 0;
    const bool last = counts && (met.timeUp || number + 1 >= m_plan.rounds);
    const bool looks = last || (number == -m_plan.warmup && m_roundsDone == 0);
    if (looks) {
        const std::int64_t start = hostNow();
        fill(item);
        m_clockNs += hostNow() - start;
        static_cast<void>(meet(step));
    }
    launch(item, {counts ? Cause::kNone : Cause::kStart, kNoLayer, step}).wait();
    m_roundsDone += counts;
    if (!looks) return last;
    const std::int64_t start = hostNow();
    if (auto right = check(item); !right) return failure(right);
    m_clockNs += hostNow() - start;
    return last;
}

/// Peers have read what they wanted of this rank's payload when it returns.
CollectiveSweep::Meeting CollectiveSweep::meet(std::int32_t step) {
    const double seconds = static_cast<double>(hostNow() - m_clockNs) * 1e-9;
    const bool timeUp = m_plan.seconds > 0 && seconds > m_plan.seconds;
    std::array<double, 2> votes{m_parts.stopWanted() ? 1.0 : 0.0, timeUp ? 1.0 : 0.0};
    m_parts.communicator
        .allReduceSmall(votes, comm::Reduction::kMax, {Cause::kStart, kNoLayer, step})
        .wait();
    return {votes[0] > 0, votes[1] > 0};
}

comm::Work CollectiveSweep::launch(const Item& item, comm::CollectiveTag tag) {
    comm::Communicator& ranks = m_parts.communicator;
    const std::int64_t whole = elementsOf(item);
    void* const result = m_result.mutable_data_ptr();
    switch (item.operation) {
        case CollectiveOp::kAllGather:
            return ranks.allGather(payload(whole / ranks.size()), result, tag);
        case CollectiveOp::kReduceScatter:
            return ranks.reduceScatter(payload(whole), static_cast<float*>(result),
                                       comm::Accumulate::kNo, tag);
        case CollectiveOp::kBroadcast:
            return ranks.broadcast(payload(whole), 0, tag);
        case CollectiveOp::kAllToAll:
            return ranks.allToAll(payload(whole), result, tag);
        default:
            return ranks.allReduce(payload(whole), tag);
    }
}

void CollectiveSweep::fill(const Item& item) {
    const std::int64_t whole = elementsOf(item), rank = m_parts.communicator.rank();
    const bool gathers = item.operation == CollectiveOp::kAllGather;
    const std::int64_t elements = gathers ? whole / m_parts.communicator.size() : whole;
    const std::int64_t first = gathers ? rank * elements : 0;
    const bool receives = item.operation == CollectiveOp::kBroadcast && rank != 0;
    m_result.narrow(0, 0, whole).fill_(kNothing);
    at::Tensor given = tensorAt(m_buffer.local, elements);
    if (receives)
        given.fill_(kNothing);
    else
        write(given, [=](std::int64_t i) { return broughtBy(rank, first + i); });
}

Result<void> CollectiveSweep::check(const Item& item) const {
    const int rank = m_parts.communicator.rank();
    const auto wrong = withExpected(
        item.operation, elementsOf(item), rank, m_parts.communicator.size(),
        [&](const Layout& layout, auto value) {
            const at::Tensor found = layout.inPlace ? tensorAt(m_buffer.local, layout.elements)
                                                    : m_result.narrow(0, 0, layout.elements);
            return firstDifference(found, layout, value);
        });
    if (!wrong) return {};
    return failure(
        ErrorCode::kRank,
        fmt::format("{} of {} gave rank {} a wrong result: element {} is {} and should be {}; "
                    "memory, network or the communicator is at fault, so do not train on it",
                    toWord(item.operation),
                    sizeText(run::payloadOf(item.size, m_parts.communicator.size())), rank,
                    wrong->element, wrong->found, wrong->expected));
}

std::int64_t CollectiveSweep::elementsOf(const Item& item) const {
    return run::payloadOf(item.size, m_parts.communicator.size()).count /
           bytesOf(DataType::kFloat32);
}

/// The front of the buffer that was allocated for the largest.
comm::SymmetricBuffer CollectiveSweep::payload(std::int64_t elements) const {
    comm::SymmetricBuffer part = m_buffer;
    part.count = static_cast<std::size_t>(elements);
    return part;
}

at::Tensor CollectiveSweep::tensorAt(void* memory, std::int64_t elements) const {
    return at::from_blob(memory, {elements},
                         at::TensorOptions().dtype(at::kFloat).device(m_parts.device));
}

}  // namespace shardscope::worker
