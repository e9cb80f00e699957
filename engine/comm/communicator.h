// Collectives between ranks. Every rank calls the same operations in the same order.
//
// Operations are queued and run in order on the communicator's own thread (on a GPU: its own
// stream), so that they proceed behind the caller's compute. Each is reported to the observer
// with issue, start, end and, where peers can be seen, every peer's arrival. Errors (a peer that
// asks for something else, a lost peer) surface as CommunicationError from Work::wait().
//
// Sizes are in elements; `n` counts one rank's shard, W the ranks. Gathers, broadcasts, all-to-all,
// send and receive move any dtype; sums take fp32, bf16 and fp16 and are made in fp32.
#pragma once

#include "engine/control/observer.h"
#include "storage/model/events.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

namespace shardscope::comm {

class CommunicationError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// This rank waited for another one, in vain.
class PeerError : public CommunicationError {
public:
    /// `rank`: of the run; -1: one of the others.
    PeerError(const std::string& what, int rank) : CommunicationError(what), m_rank(rank) {}
    [[nodiscard]] int rank() const { return m_rank; }

private:
    int m_rank;
};

/// It is gone or has given up, and another rank may know why.
class PeerGone : public PeerError {
public:
    using PeerError::PeerError;
};

/// Why and for whom; copied into the report.
struct CollectiveTag {
    Cause cause = Cause::kNone;
    LayerIndex layer = kNoLayer;
    std::int32_t step = -1;
    const char* algorithm = nullptr;  ///< reported instead of the communicator's own; static
};

[[nodiscard]] constexpr std::size_t elementBytes(DataType dtype) {
    switch (dtype) {
        case DataType::kByte:
        case DataType::kUnknown:  // of imported traces only
            return 1;
        case DataType::kBFloat16:
        case DataType::kFloat16:
            return 2;
        case DataType::kFloat32:
            return 4;
        case DataType::kInt64:
        case DataType::kFloat64:
            return 8;
    }
    return 1;
}

/// Memory at the same place of every rank's arena, readable by all peers; on a GPU any device
/// memory. Owned by the communicator and released with it.
struct SymmetricBuffer {
    std::size_t offset = 0;
    std::size_t count = 0;
    DataType dtype = DataType::kFloat32;
    void* local = nullptr;
    [[nodiscard]] std::size_t bytes() const { return count * elementBytes(dtype); }
};

/// What a communicator knows of a queued collective.
class WorkState {
public:
    virtual ~WorkState() = default;
    [[nodiscard]] virtual bool ready() const = 0;
    virtual void wait() = 0;
};

/// A queued collective. Copies share it.
class Work {
public:
    Work() = default;
    explicit Work(std::shared_ptr<WorkState> state) : m_state(std::move(state)) {}
    [[nodiscard]] bool valid() const { return m_state != nullptr; }
    [[nodiscard]] bool ready() const { return m_state->ready(); }
    /// What follows sees this rank's part done: blocks the thread, or on a GPU the current
    /// stream. Rethrows what went wrong.
    void wait() const { m_state->wait(); }

private:
    std::shared_ptr<WorkState> m_state;
    friend class Communicator;
};

inline constexpr std::size_t kSmallValues = 32;

enum class Accumulate : bool { kNo = false, kYes = true };
enum class Reduction : std::uint8_t { kSum, kMax };

class Communicator {
public:
    virtual ~Communicator() = default;
    [[nodiscard]] virtual int rank() const = 0;
    [[nodiscard]] virtual int size() const = 0;

    /// Same calls in the same order on every rank. Zero-filled, 64-byte aligned.
    /// Throws CommunicationError when the arena is exhausted.
    virtual SymmetricBuffer allocate(std::size_t count, DataType dtype) = 0;

    /// out[p * n + i] = shard of rank p, in the shard's type. `shard` may be rewritten once any
    /// later collective of this communicator has completed.
    virtual Work allGather(const SymmetricBuffer& shard, void* out, CollectiveTag tag) = 0;

    /// Every rank's part of `whole`, n elements from rank() * n on, goes to all ranks. The own part
    /// may be rewritten once any later collective of this communicator has completed.
    virtual Work allGatherInPlace(const SymmetricBuffer& whole, CollectiveTag tag) = 0;

    /// out[i] (+)= sum over ranks of full[rank() * n + i]; full has W * n elements of fp32, bf16 or
    /// fp16. Shared memory sums in fp32 and in rank order, a ring in fp32 and in the order of the
    /// ring, hosts joined by rails in fp32 and host by host (host_ring_communicator.h), NCCL in
    /// full's type and in its own order.
    /// `full` may be rewritten once waitPeers(work) has returned.
    virtual Work reduceScatter(const SymmetricBuffer& full, float* out, Accumulate accumulate,
                               CollectiveTag tag) = 0;

    /// Every rank's buffer, fp32, bf16 or fp16, becomes the sum over ranks, taken in fp32.
    virtual Work allReduce(const SymmetricBuffer& buffer, CollectiveTag tag) = 0;

    /// At most kSmallValues, in place; the same bits on every rank; `values` stays alive until the
    /// work is done.
    virtual Work allReduceSmall(std::span<double> values, Reduction reduction,
                                CollectiveTag tag) = 0;

    /// As many values that lie where this rank computes, on a GPU in its memory: become the sum
    /// over ranks, and the host does not wait. CPU ranks: allReduceSmall().
    virtual Work sumInPlace(std::span<double> values, CollectiveTag tag) {
        return allReduceSmall(values, Reduction::kSum, tag);
    }

    virtual Work broadcast(const SymmetricBuffer& buffer, int root, CollectiveTag tag) = 0;

    /// out[p * n + i] = send of rank p [rank() * n + i]; both have W * n elements. `send` may be
    /// rewritten once any later collective of this communicator has completed.
    virtual Work allToAll(const SymmetricBuffer& send, void* out, CollectiveTag tag) = 0;

    /// To one rank, which receives as many of the same type; no other rank takes part. A send ends
    /// when its receiver has it, and operations of a communicator take turns: of two ranks that
    /// exchange something one sends first, the other receives first.
    virtual Work send(const SymmetricBuffer& buffer, int to, CollectiveTag tag) = 0;
    virtual Work receive(const SymmetricBuffer& buffer, int from, CollectiveTag tag) = 0;

    virtual Work barrier(CollectiveTag tag) = 0;

    /// Blocks until every peer has finished reading this rank's input of `work`.
    virtual void waitPeers(const Work& work) = 0;

    /// A communicator of `members`: ascending ranks of this one, this rank among them. Reported
    /// as `group` (CollectiveReport::group; 0 is all ranks), an id for each set of members. Every
    /// rank calls it as often and in the same order, members of one set with the same list; blocks
    /// until they have. Buffers that all ranks allocated alike, here or there, may be used in both.
    /// Its operations run beside this one's (NCCL: in turn). Must go before this one.
    virtual std::unique_ptr<Communicator> split(std::span<const int> members,
                                                std::uint32_t group) = 0;

    /// Makes every waiting peer fail instead of waiting for this rank, here and in every
    /// communicator that this one was split from or into.
    virtual void abort() = 0;

    /// For device graphs with operations of this communicator and of those that it was split from
    /// or into, which share it. Null: their operations cannot be part of a graph. In one there are
    /// no values of the host (allReduceSmall, barrier) and no messages.
    [[nodiscard]] virtual control::GraphRecorder* graphs() { return nullptr; }

protected:
    static WorkState& stateOf(const Work& work) { return *work.m_state; }
};

}  // namespace shardscope::comm
