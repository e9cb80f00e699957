// What communicators of CPU ranks have in common. Above all the thread on which one works, behind
// the caller's compute: one operation after another, each timed and reported to the observer.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/comm/operation.h"
#include "storage/model/mutex.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

namespace shardscope::comm {

/// A queued operation; shared by the caller and the communication thread.
class HostWork final : public WorkState {
public:
    [[nodiscard]] bool ready() const override {
        return m_finished.load(std::memory_order_acquire) != 0;
    }
    void wait() override {
        m_finished.wait(0, std::memory_order_acquire);
        if (m_error) std::rethrow_exception(m_error);
    }
    void finish(std::exception_ptr error) {
        m_error = std::move(error);
        m_finished.store(1, std::memory_order_release);
        m_finished.notify_all();
    }

    /// Written by the communication thread; any thread's once the work is ready.
    control::CollectiveReport report;
    std::vector<std::int64_t> arrivals;        ///< by rank; empty where peers cannot be seen
    std::vector<control::LevelReport> levels;  ///< empty on one host
    std::uint32_t meeting = 0;                 ///< the communicator's own number
    Work underlying;                           ///< of the communicator that this one is on top of

private:
    std::atomic<std::uint32_t> m_finished{0};
    std::exception_ptr m_error;  // written before m_finished
};

class CommunicationThread {
public:
    /// Sets startNs and arrivals of the work; may throw.
    using Body = std::function<void(HostWork&)>;

    /// `observer` may be null; called on the thread.
    CommunicationThread(control::Observer* observer, std::uint32_t group);
    /// Works off what is queued.
    ~CommunicationThread();
    CommunicationThread(const CommunicationThread&) = delete;
    CommunicationThread& operator=(const CommunicationThread&) = delete;

    /// Any thread. Algorithm, protocol, operation, dtype, sizeBytes and the tag are taken from
    /// `report`, and its sequence if it has one (MessageNumbers). Once one operation has failed,
    /// those behind it fail alike.
    Work submit(const control::CollectiveReport& report, Body body);
    /// The same for what is no operation of the caller's: not numbered, not reported.
    Work submitUnseen(Body body);

private:
    struct Queued {
        std::shared_ptr<HostWork> work;
        Body body;
        bool seen = true;
    };

    Work enqueue(Queued queued);
    void run();
    void perform(Queued& queued);

    control::Observer* const m_observer;
    const std::uint32_t m_group;
    std::exception_ptr m_failure;  // communication thread
    Mutex m_mutex;
    Condition m_wakeUp;
    std::deque<Queued> m_queue SHARDSCOPE_GUARDED_BY(m_mutex);
    std::uint64_t m_issued SHARDSCOPE_GUARDED_BY(m_mutex) = 0;
    bool m_stopping SHARDSCOPE_GUARDED_BY(m_mutex) = false;
    std::thread m_thread;  // last: uses all of the above
};

/// The part of a report that is known when an operation is asked for.
[[nodiscard]] control::CollectiveReport request(CollectiveOp operation, DataType dtype,
                                                std::size_t bytes, const CollectiveTag& tag,
                                                const char* algorithm, const char* protocol);

/// What its ranks compare and sentences name, of an operation that a communication thread works at.
/// `detail` and `offset`: OperationDescriptor's.
[[nodiscard]] Call callOf(const HostWork& work, std::int32_t detail = OperationDescriptor::kNone,
                          std::uint64_t offset = 0);

/// What an operation is about where ranks bring no buffer of their own.
[[nodiscard]] inline SymmetricBuffer unplaced(std::size_t count, DataType dtype) {
    return {0, count, dtype, nullptr};
}
/// The buffer that shards of all `ranks` make together, for its size.
[[nodiscard]] inline SymmetricBuffer wholeOf(const SymmetricBuffer& shard, std::size_t ranks) {
    return {shard.offset, shard.count * ranks, shard.dtype, shard.local};
}

/// values[i] = value(0, i) + value(1, i) + ... over `count` ranks in that order, or the largest.
template <class Value>
void combine(std::span<double> values, Reduction reduction, int count, const Value& value) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        double result = value(0, i);
        for (int rank = 1; rank < count; ++rank) {
            const double next = value(rank, i);
            result = reduction == Reduction::kSum ? result + next : std::max(result, next);
        }
        values[i] = result;
    }
}

}  // namespace shardscope::comm
