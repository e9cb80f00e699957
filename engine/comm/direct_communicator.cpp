#include "engine/comm/direct_communicator.h"

#include "engine/comm/reduce.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace shardscope::comm {

namespace {

/// Shared by the caller and the communication thread.
class DirectWork final : public WorkState {
public:
    bool ready() const override { return finished.load(std::memory_order_acquire) != 0; }
    void wait() override {
        finished.wait(0, std::memory_order_acquire);
        if (error) std::rethrow_exception(error);
    }

    std::uint32_t sequence = 0;
    std::atomic<std::uint32_t> finished{0};
    std::exception_ptr error;  // written before `finished` is set
};

constexpr timespec kFutexSlice{0, 200'000'000};  // how often waiting ranks look for an abort

void wake(std::atomic<std::uint32_t>& word) {
    ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

/// Whether sequence `a` is at or past `b`, across the wrap of 32 bits.
bool reached(std::uint32_t a, std::uint32_t b) {
    return static_cast<std::int32_t>(a - b) >= 0;
}

class DirectCommunicator final : public Communicator {
public:
    DirectCommunicator(std::shared_ptr<Segment> segment, int rank, control::Observer* observer,
                       const char* protocol)
        : m_segment(std::move(segment)),
          m_rank(rank),
          m_observer(observer),
          m_protocol(protocol),
          m_arrivals(static_cast<std::size_t>(m_segment->worldSize())),
          m_thread([this] { run(); }) {
        pthread_setname_np(m_thread.native_handle(), "communication");
    }

    ~DirectCommunicator() override {
        {
            const std::lock_guard lock(m_mutex);
            m_stopping = true;
        }
        m_wakeUp.notify_one();
        m_thread.join();
    }

    int rank() const override { return m_rank; }
    int size() const override { return m_segment->worldSize(); }

    SymmetricBuffer allocate(std::size_t count, DataType dtype) override {
        const std::size_t bytes = (count * elementBytes(dtype) + 63) / 64 * 64;
        if (m_allocated + bytes > m_segment->arenaBytes()) {
            throw CommunicationError(fmt::format(
                "the shared-memory arena of rank {} ({} bytes) has no room for another {} bytes",
                m_rank, m_segment->arenaBytes(), bytes));
        }
        const std::size_t offset = std::exchange(m_allocated, m_allocated + bytes);
        return {offset, count, dtype, peer<std::byte>(offset, m_rank)};
    }

    Work allGather(const SymmetricBuffer& shard, void* out, CollectiveTag tag) override {
        const std::size_t bytes = shard.bytes() * static_cast<std::size_t>(size());
        return submit(CollectiveOp::kAllGather, shard.dtype, bytes, tag, [=, this] {
            auto* to = static_cast<std::byte*>(out);
            for (int p = 0; p < size(); ++p, to += shard.bytes()) {
                std::memcpy(to, peer<std::byte>(shard.offset, p), shard.bytes());
            }
        });
    }

    Work allGatherInPlace(const SymmetricBuffer& whole, CollectiveTag tag) override {
        return submit(CollectiveOp::kAllGather, whole.dtype, whole.bytes(), tag, [=, this] {
            const std::size_t bytes = whole.bytes() / static_cast<std::size_t>(size());
            auto* local = static_cast<std::byte*>(whole.local);
            for (int p = 0; p < size(); ++p) {
                const std::size_t begin = static_cast<std::size_t>(p) * bytes;
                if (p == m_rank) continue;
                std::memcpy(local + begin, peer<std::byte>(whole.offset, p) + begin, bytes);
            }
        });
    }

    Work reduceScatter(const SymmetricBuffer& full, float* out, Accumulate accumulate,
                       CollectiveTag tag) override {
        return submit(CollectiveOp::kReduceScatter, full.dtype, full.bytes(), tag, [=, this] {
            const std::size_t n = full.count / static_cast<std::size_t>(size());
            const std::size_t begin = static_cast<std::size_t>(m_rank) * n;
            const bool add = accumulate == Accumulate::kYes;
            if (full.dtype == DataType::kBFloat16) {
                sumPeers<std::uint16_t>(full.offset, begin, n, out, add);
            } else {
                sumPeers<float>(full.offset, begin, n, out, add);
            }
        });
    }

    Work allReduce(const SymmetricBuffer& buffer, CollectiveTag tag) override {
        if (buffer.dtype != DataType::kFloat32) {
            throw CommunicationError("an all-reduce over shared memory takes fp32 only");
        }
        return submit(CollectiveOp::kAllReduce, DataType::kFloat32, buffer.bytes(), tag,
                      [=, this] { allReduceInPlace(buffer); });
    }

    Work allReduceSmall(std::span<double> values, Reduction reduction, CollectiveTag tag) override {
        if (values.size() > RankSlot::kScratch) {
            throw CommunicationError(
                fmt::format("a small all-reduce takes at most {} values, got {}",
                            RankSlot::kScratch, values.size()));
        }
        const auto publish = [=, this](std::uint32_t sequence) {
            std::copy(values.begin(), values.end(),
                      m_segment->slot(m_rank).scratch[sequence % 2].begin());
        };
        return submit(
            CollectiveOp::kAllReduce, DataType::kFloat64, values.size_bytes(), tag,
            [=, this] { reduceScratch(values, reduction); }, publish);
    }

    Work broadcast(const SymmetricBuffer& buffer, int root, CollectiveTag tag) override {
        return submit(CollectiveOp::kBroadcast, buffer.dtype, buffer.bytes(), tag, [=, this] {
            if (root == m_rank) return;
            std::memcpy(buffer.local, peer<std::byte>(buffer.offset, root), buffer.bytes());
        });
    }

    Work barrier(CollectiveTag tag) override {
        return submit(CollectiveOp::kBarrier, DataType::kByte, 0, tag, [] {});
    }

    void waitPeers(const Work& work) override {
        work.wait();
        const std::uint32_t sequence = static_cast<DirectWork&>(stateOf(work)).sequence;
        for (int p = 0; p < size(); ++p) await(m_segment->slot(p).done, sequence, p);
    }

    void abort() override {
        m_segment->aborted().store(1 + static_cast<std::uint32_t>(m_rank));
        wake(m_segment->slot(m_rank).arrived);
        wake(m_segment->slot(m_rank).done);
    }

private:
    using Publish = std::function<void(std::uint32_t)>;

    struct Operation {
        control::CollectiveReport report;
        std::shared_ptr<DirectWork> state;
        Publish publish;  ///< before the arrival is announced
        std::function<void()> move;
    };

    template <class T>
    T* peer(std::size_t offset, int rank) const {
        return reinterpret_cast<T*>(m_segment->arena(rank) + offset);
    }

    Work submit(CollectiveOp kind, DataType dtype, std::size_t bytes, CollectiveTag tag,
                std::function<void()> move, Publish publish = {}) {
        Operation operation;
        operation.report.operation = kind;
        operation.report.dtype = dtype;
        operation.report.cause = tag.cause;
        operation.report.layer = tag.layer;
        operation.report.step = tag.step;
        operation.report.sizeBytes = static_cast<std::int64_t>(bytes);
        operation.report.algorithm = "direct";
        operation.report.protocol = m_protocol;
        operation.report.issueNs = control::now();
        operation.state = std::make_shared<DirectWork>();
        operation.move = std::move(move);
        operation.publish = std::move(publish);
        Work work(operation.state);
        {
            const std::lock_guard lock(m_mutex);
            operation.report.sequence = ++m_issued;
            m_queue.push_back(std::move(operation));
        }
        m_wakeUp.notify_one();
        return work;
    }

    void run() {
        for (;;) {
            Operation operation;
            {
                std::unique_lock lock(m_mutex);
                m_wakeUp.wait(lock, [this] { return m_stopping || !m_queue.empty(); });
                if (m_queue.empty()) return;
                operation = std::move(m_queue.front());
                m_queue.pop_front();
            }
            perform(operation);
        }
    }

    void perform(Operation& operation) {
        try {
            operation.state->sequence = m_meeting + 1;
            if (operation.publish) operation.publish(m_meeting + 1);
            operation.report.startNs = meet(operation.report);
            operation.move();
            announceDone();
            operation.report.endNs = control::now();
            operation.report.arrivalsNs = m_arrivals;
            if (m_observer != nullptr) m_observer->collective(operation.report);
        } catch (...) {
            operation.state->error = std::current_exception();
        }
        operation.state->finished.store(1, std::memory_order_release);
        operation.state->finished.notify_all();
    }

    /// Announces this rank, waits for all others; returns when this rank arrived.
    std::int64_t meet(const control::CollectiveReport& report) {
        const std::uint32_t sequence = ++m_meeting;
        RankSlot& own = m_segment->slot(m_rank);
        const std::size_t at = sequence % RankSlot::kRing;
        const OperationDescriptor wanted{static_cast<std::uint8_t>(report.operation),
                                         static_cast<std::uint64_t>(report.sizeBytes)};
        own.operations[at] = wanted;
        const std::int64_t arrival = control::now();
        own.arrivalNs[at] = arrival;
        own.arrived.store(sequence, std::memory_order_release);
        wake(own.arrived);
        for (int p = 0; p < size(); ++p) {
            await(m_segment->slot(p).arrived, sequence, p);
            requireSame(wanted, m_segment->slot(p).operations[at], p, sequence);
            m_arrivals[static_cast<std::size_t>(p)] = m_segment->slot(p).arrivalNs[at];
        }
        return arrival;
    }

    void announceDone() {
        RankSlot& own = m_segment->slot(m_rank);
        own.done.store(m_meeting, std::memory_order_release);
        wake(own.done);
    }

    void await(std::atomic<std::uint32_t>& word, std::uint32_t sequence, int peerRank) const {
        for (;;) {
            const std::uint32_t seen = word.load(std::memory_order_acquire);
            if (reached(seen, sequence)) return;
            if (const std::uint32_t aborter = m_segment->aborted().load(); aborter != 0) {
                throw CommunicationError(
                    fmt::format("rank {} gave up while rank {} waited for rank {}", aborter - 1,
                                m_rank, peerRank));
            }
            ::syscall(SYS_futex, &word, FUTEX_WAIT, seen, &kFutexSlice, nullptr, 0);
        }
    }

    void requireSame(const OperationDescriptor& mine, const OperationDescriptor& theirs, int p,
                     std::uint32_t sequence) const {
        if (mine == theirs) return;
        throw CommunicationError(fmt::format(
            "collective {}: rank {} asks for {} of {} bytes, rank {} for {} of {} bytes", sequence,
            m_rank, toWord(static_cast<CollectiveOp>(mine.operation)), mine.bytes, p,
            toWord(static_cast<CollectiveOp>(theirs.operation)), theirs.bytes));
    }

    template <class T>
    void sumPeers(std::size_t offset, std::size_t begin, std::size_t n, float* out,
                  bool accumulate) const {
        std::vector<const T*> sources;
        for (int p = 0; p < size(); ++p) sources.push_back(peer<T>(offset, p) + begin);
        sumSources(std::span<const T* const>(sources), out, n, accumulate);
    }

    /// Rank r sums slice r into its own buffer, which nobody else reads there; after all have,
    /// everybody copies the other slices.
    void allReduceInPlace(const SymmetricBuffer& buffer) {
        const auto world = static_cast<std::size_t>(size());
        const auto sliceBegin = [&](std::size_t p) { return buffer.count * p / world; };
        const auto own = static_cast<std::size_t>(m_rank);
        auto* local = static_cast<float*>(buffer.local);
        sumPeers<float>(buffer.offset, sliceBegin(own), sliceBegin(own + 1) - sliceBegin(own),
                        local + sliceBegin(own), false);
        control::CollectiveReport second;
        second.operation = CollectiveOp::kAllGather;
        second.sizeBytes = static_cast<std::int64_t>(buffer.bytes());
        const std::vector<std::int64_t> firstArrivals = m_arrivals;
        meet(second);
        m_arrivals = firstArrivals;
        for (std::size_t p = 0; p < world; ++p) {
            if (p == own) continue;
            std::memcpy(local + sliceBegin(p),
                        peer<float>(buffer.offset, static_cast<int>(p)) + sliceBegin(p),
                        (sliceBegin(p + 1) - sliceBegin(p)) * sizeof(float));
        }
    }

    void reduceScratch(std::span<double> values, Reduction reduction) const {
        for (std::size_t i = 0; i < values.size(); ++i) {
            double result = 0;
            for (int p = 0; p < size(); ++p) {
                const double value = m_segment->slot(p).scratch[m_meeting % 2][i];
                if (p == 0) {
                    result = value;
                } else {
                    result =
                        reduction == Reduction::kSum ? result + value : std::max(result, value);
                }
            }
            values[i] = result;
        }
    }

    const std::shared_ptr<Segment> m_segment;
    const int m_rank;
    control::Observer* const m_observer;
    const char* const m_protocol;
    std::size_t m_allocated = 0;  // step thread

    // Communication thread.
    std::uint32_t m_meeting = 0;
    std::vector<std::int64_t> m_arrivals;

    std::mutex m_mutex;
    std::condition_variable m_wakeUp;
    std::deque<Operation> m_queue;  // guarded by m_mutex
    std::uint64_t m_issued = 0;     // guarded by m_mutex
    bool m_stopping = false;        // guarded by m_mutex
    std::thread m_thread;           // last: uses all of the above
};

}  // namespace

std::unique_ptr<Communicator> makeDirectCommunicator(std::shared_ptr<Segment> segment, int rank,
                                                     control::Observer* observer,
                                                     const char* protocol) {
    return std::make_unique<DirectCommunicator>(std::move(segment), rank, observer, protocol);
}

}  // namespace shardscope::comm
