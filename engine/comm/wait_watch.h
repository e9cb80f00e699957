// Reports which rank this process waits for, once that takes long.
//
// Ranks that wait for each other in a chain give up at the same moment. Who gives up looks along
// the chain, which is known from what each rank reported while it still waited (Mesh::blame()), and
// names the rank at its end.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <utility>

namespace shardscope::comm {

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

}  // namespace shardscope::comm
