// Bounded queue of records: any number of producers, one consumer, no locks, no allocation.
//
// Each cell carries the number of the turn it is ready for (D. Vyukov's bounded queue), so that
// threads may share a ring when there are more of them than rings. A full ring drops.
#pragma once

#include "profiler/collectors/nccl/nccl_records.h"

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace shardscope::collectors {

class NcclRing {
public:
    explicit NcclRing(std::size_t capacity) : m_cells(std::bit_ceil(capacity)) {
        for (std::size_t i = 0; i < m_cells.size(); ++i) m_cells[i].turn.store(i);
    }

    bool push(const NcclRecord& record) noexcept {
        std::uint64_t turn = m_head.load(std::memory_order_relaxed);
        while (true) {
            Cell& cell = at(turn);
            const std::uint64_t ready = cell.turn.load(std::memory_order_acquire);
            if (ready < turn) return false;  // not consumed yet: full
            if (ready > turn) {              // another producer was faster
                turn = m_head.load(std::memory_order_relaxed);
            } else if (m_head.compare_exchange_weak(turn, turn + 1, std::memory_order_relaxed)) {
                cell.record = record;
                cell.turn.store(turn + 1, std::memory_order_release);
                return true;
            }
        }
    }

    bool pop(NcclRecord& record) noexcept {
        Cell& cell = at(m_tail);
        if (cell.turn.load(std::memory_order_acquire) != m_tail + 1) return false;
        record = cell.record;
        cell.turn.store(m_tail + m_cells.size(), std::memory_order_release);
        ++m_tail;
        return true;
    }

private:
    struct alignas(64) Cell {
        std::atomic<std::uint64_t> turn{0};
        NcclRecord record;
    };
    Cell& at(std::uint64_t turn) { return m_cells[turn & (m_cells.size() - 1)]; }

    std::vector<Cell> m_cells;
    alignas(64) std::atomic<std::uint64_t> m_head{0};
    alignas(64) std::uint64_t m_tail = 0;  // consumer
};

// Handles that may be used after they were closed or even overwritten, without harm.
//
// A handle is a number that is never given twice; its slot is number modulo capacity. Values are
// kept as atomic words under a sequence lock, so that a late reader gets the value or a plain no.
// No allocation after construction, no lock; any thread.

using NcclHandleId = std::uint64_t;  ///< 0: none

template <class Value>
class HandleRing {
    static_assert(std::is_trivially_copyable_v<Value>);

public:
    explicit HandleRing(std::size_t capacity) : m_slots(std::bit_ceil(capacity)) {}

    /// Opens a handle for `value(handle)`. 0 when its slot is being written this very moment.
    template <class Make>
    NcclHandleId open(const Make& value) noexcept {
        const NcclHandleId handle = m_next.fetch_add(1, std::memory_order_relaxed);
        Slot& slot = at(handle);
        std::uint64_t previous = slot.word.load(std::memory_order_relaxed);
        if (stateOf(previous) == State::kBusy || previous > wordOf(handle, State::kBusy) ||
            !slot.word.compare_exchange_strong(previous, wordOf(handle, State::kBusy),
                                               std::memory_order_acq_rel))
            return 0;
        const Value made = value(handle);
        Words words{};
        std::memcpy(words.data(), &made, sizeof made);
        for (std::size_t i = 0; i < words.size(); ++i)
            slot.data[i].store(words[i], std::memory_order_release);
        slot.note.store(0, std::memory_order_release);
        slot.word.store(wordOf(handle, State::kOpen), std::memory_order_release);
        return handle;
    }

    /// The value, open or closed; false when the slot has gone to another handle.
    bool read(NcclHandleId handle, Value& value) const noexcept {
        const Slot& slot = at(handle);
        if (!holds(slot, handle, std::memory_order_acquire)) return false;
        Words words{};
        for (std::size_t i = 0; i < words.size(); ++i)
            words[i] = slot.data[i].load(std::memory_order_acquire);
        if (!holds(slot, handle, std::memory_order_relaxed)) return false;
        std::memcpy(static_cast<void*>(&value), words.data(), sizeof value);
        return true;
    }

    /// True for the one caller that closed it.
    bool close(NcclHandleId handle) noexcept {
        std::uint64_t open = wordOf(handle, State::kOpen);
        return handle != 0 && at(handle).word.compare_exchange_strong(
                                  open, wordOf(handle, State::kClosed), std::memory_order_acq_rel);
    }

    /// Leaves a later handle's number with an earlier one; a second differing note makes it
    /// kSeveral. A note that lands in a reused slot is older than the slot's handle: see note().
    void setNote(NcclHandleId handle, NcclHandleId note) noexcept {
        Slot& slot = at(handle);
        if (!holds(slot, handle, std::memory_order_acquire)) return;
        std::uint64_t none = 0;
        if (!slot.note.compare_exchange_strong(none, note, std::memory_order_acq_rel) &&
            none != note)
            slot.note.store(kSeveral, std::memory_order_release);
    }
    /// 0 when there is none or several.
    [[nodiscard]] NcclHandleId note(NcclHandleId handle) const noexcept {
        const Slot& slot = at(handle);
        const NcclHandleId note = slot.note.load(std::memory_order_acquire);
        return holds(slot, handle, std::memory_order_relaxed) && note > handle && note != kSeveral
                   ? note
                   : 0;
    }

    /// `visit(handle, value)` for all that are open. Not for hot paths.
    template <class Visit>
    void forEachOpen(const Visit& visit) const {
        for (const Slot& slot : m_slots) {
            const std::uint64_t word = slot.word.load(std::memory_order_acquire);
            Value value;
            if (stateOf(word) == State::kOpen && read(word >> 2, value)) visit(word >> 2, value);
        }
    }

private:
    enum class State : std::uint64_t { kEmpty = 0, kBusy = 1, kOpen = 2, kClosed = 3 };
    static constexpr NcclHandleId kSeveral = ~NcclHandleId{0};
    using Words = std::array<std::uint64_t, (sizeof(Value) + 7) / 8>;
    struct alignas(64) Slot {
        std::atomic<std::uint64_t> word{0};  ///< handle << 2 | state
        std::atomic<NcclHandleId> note{0};
        std::array<std::atomic<std::uint64_t>, (sizeof(Value) + 7) / 8> data{};
    };
    static constexpr std::uint64_t wordOf(NcclHandleId handle, State state) {
        return handle << 2 | static_cast<std::uint64_t>(state);
    }
    static constexpr State stateOf(std::uint64_t word) { return static_cast<State>(word & 3u); }
    static bool holds(const Slot& slot, NcclHandleId handle, std::memory_order order) {
        const std::uint64_t word = slot.word.load(order);
        return handle != 0 && word >> 2 == handle && stateOf(word) >= State::kOpen;
    }
    Slot& at(NcclHandleId handle) { return m_slots[handle & (m_slots.size() - 1)]; }
    const Slot& at(NcclHandleId handle) const { return m_slots[handle & (m_slots.size() - 1)]; }

    std::vector<Slot> m_slots;
    std::atomic<NcclHandleId> m_next{1};
};

}  // namespace shardscope::collectors
