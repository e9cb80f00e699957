// Messages between ranks that need not share a host: what a ring is built on.
//
// Messages of one pair and tag arrive in the order in which they were sent; a receive must name
// the size that was sent. Any thread may call any function.
#pragma once

#include "engine/comm/communicator.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>

namespace shardscope::comm {

/// Reports which rank this process waits for, once that takes long.
///
/// Ranks that wait for each other in a chain give up at the same moment. Who gives up looks along
/// the chain, which is known from what each rank reported while it still waited (Mesh::blame()),
/// and names the rank at its end.
class WaitWatch {
public:
    static constexpr int kNoRank = -1;
    /// Called on a thread of the watch, with a rank or kNoRank. May take long, and outlive it.
    using Tell = std::function<void(int rank)>;

    /// Waits that last between `longWait` and one and a half of it are reported, and when they end,
    /// by half of it later.
    WaitWatch(std::chrono::milliseconds longWait, Tell tell);
    ~WaitWatch();
    WaitWatch(const WaitWatch&) = delete;
    WaitWatch& operator=(const WaitWatch&) = delete;

private:
    /// A wait that is going on. Its number, which changes with each, is odd while it does.
    struct Slot {
        std::atomic<bool> taken{false};
        std::atomic<int> rank{kNoRank};
        std::atomic<std::uint64_t> number{0};
    };
    /// A rank waits in a few threads at once; of more than these some are not reported.
    static constexpr std::size_t kSlots = 16;
    struct Shared;

public:
    /// A wait, from when it is made until it goes.
    class Waiting {
    public:
        Waiting() = default;
        ~Waiting();
        Waiting(Waiting&& other) noexcept : m_slot(std::exchange(other.m_slot, nullptr)) {}
        Waiting& operator=(Waiting&& other) noexcept {
            std::swap(m_slot, other.m_slot);
            return *this;
        }

        explicit operator bool() const { return m_slot != nullptr; }

    private:
        friend class WaitWatch;
        explicit Waiting(Slot* slot) : m_slot(slot) {}
        Slot* m_slot = nullptr;
    };
    /// Any thread; a few ns. The watch outlives it.
    [[nodiscard]] Waiting waitsFor(int rank);

private:
    static void run(const std::shared_ptr<Shared>& shared);

    const std::shared_ptr<Shared> m_shared;
    std::future<void> m_ended;
};

/// Why a transfer came to nothing.
class TransferError : public std::runtime_error {
public:
    enum class Kind : std::uint8_t { kTimeout, kLost, kAltered };
    TransferError(Kind kind, const std::string& what) : std::runtime_error(what), m_kind(kind) {}
    [[nodiscard]] Kind kind() const { return m_kind; }

private:
    const Kind m_kind;
};

/// A message on its way; its memory stays alive until wait() has returned.
class Transfer {
public:
    virtual ~Transfer() = default;
    /// Throws TransferError. After a timeout the mesh is of no more use.
    virtual void wait(std::chrono::milliseconds timeout) = 0;
};

class Mesh {
public:
    virtual ~Mesh() = default;
    [[nodiscard]] virtual int rank() const = 0;
    [[nodiscard]] virtual int size() const = 0;
    virtual std::unique_ptr<Transfer> send(const void* from, std::size_t bytes, int to,
                                           std::uint32_t tag) = 0;
    virtual std::unique_ptr<Transfer> receive(void* to, std::size_t bytes, int from,
                                              std::uint32_t tag) = 0;
    /// Says to all ranks why this one gives up: for `late`, which did not come in time, or for
    /// whom that one waits in the end. Returns what the first of them said, which is `why` where
    /// the others cannot be asked any more. May take a few seconds.
    virtual std::string blame(const std::string& why, int late) {
        static_cast<void>(late);
        return why;
    }
    /// This rank waits for another by other means than messages. The mesh outlives what it returns.
    [[nodiscard]] virtual WaitWatch::Waiting waitsFor(int rank) {
        static_cast<void>(rank);
        return {};
    }
    /// Ends all transfers, here and at the peers.
    virtual void close() = 0;
};

}  // namespace shardscope::comm
