#include "engine/comm/mesh.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace shardscope::comm {
namespace {

/// The receiver may hang, which holds up no thread for longer.
constexpr std::chrono::seconds kPatience{2};

}  // namespace

struct WaitWatch::Shared {
    std::array<Slot, kSlots> slots;
    std::chrono::milliseconds look{};
    Tell tell;
    std::mutex mutex;
    std::condition_variable stop;
    bool stopped = false;  // guarded by mutex

    /// Until the next look; false: it is over.
    bool sleep() {
        std::unique_lock lock(mutex);
        return !stop.wait_for(lock, look, [this] { return stopped; });
    }
};

WaitWatch::WaitWatch(std::chrono::milliseconds longWait, Tell tell)
    : m_shared(std::make_shared<Shared>()) {
    m_shared->look = std::max(longWait / 2, std::chrono::milliseconds(1));
    m_shared->tell = std::move(tell);
    std::packaged_task<void()> task([shared = m_shared] { run(shared); });
    m_ended = task.get_future();
    std::thread(std::move(task)).detach();
}

WaitWatch::~WaitWatch() {
    {
        const std::lock_guard lock(m_shared->mutex);
        m_shared->stopped = true;
    }
    m_shared->stop.notify_all();
    m_ended.wait_for(kPatience);
}

/// A wait is long when a second look in a row finds the same.
void WaitWatch::run(const std::shared_ptr<Shared>& shared) {
    struct Seen {
        std::uint64_t number = 0;
        int looks = 0;
    };
    std::array<Seen, kSlots> seen{};
    int lastSaid = kNoRank;
    while (shared->sleep()) {
        int longest = kNoRank, most = 2;
        for (std::size_t i = 0; i < kSlots; ++i) {
            const std::uint64_t number = shared->slots[i].number.load(std::memory_order_acquire);
            seen[i] = {number, seen[i].number == number ? seen[i].looks + 1 : 0};
            if (number % 2 == 0 || seen[i].looks < most) continue;
            most = seen[i].looks;
            longest = shared->slots[i].rank.load(std::memory_order_relaxed);
        }
        if (longest != lastSaid) shared->tell(lastSaid = longest);
    }
}

WaitWatch::Waiting WaitWatch::waitsFor(int rank) {
    for (Slot& slot : m_shared->slots) {
        if (slot.taken.exchange(true, std::memory_order_acquire)) continue;
        slot.rank.store(rank, std::memory_order_relaxed);
        slot.number.fetch_add(1, std::memory_order_release);
        return Waiting(&slot);
    }
    return {};
}

WaitWatch::Waiting::~Waiting() {
    if (m_slot == nullptr) return;
    m_slot->number.fetch_add(1, std::memory_order_release);
    m_slot->taken.store(false, std::memory_order_release);
}

}  // namespace shardscope::comm
