// Bounded queue of records: any number of producers, one consumer, no locks, no allocation.
//
// Each cell carries the number of the turn it is ready for (D. Vyukov's bounded queue), so that
// threads may share a ring when there are more of them than rings. A full ring drops.
#pragma once

#include "profiler/collectors/nccl/nccl_records.h"

#include <atomic>
#include <bit>
#include <cstddef>
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

}  // namespace shardscope::collectors
