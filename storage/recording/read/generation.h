// Which request counts: a newer one of its kind makes the older ones stop.
//
//   Generations views;                       // of the asking side, one a kind of question
//   View view{range, pixel, views.next()};   // those asked before end with kCancelled
//
// Both may be used from any thread; a Generation outlives its Generations.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace shardscope::storage {

/// The stamp of a request. One made by default belongs to no kind and is never superseded.
class Generation {
public:
    Generation() = default;

    [[nodiscard]] bool superseded() const {
        return m_newest && m_newest->load(std::memory_order_relaxed) != m_number;
    }

private:
    friend class Generations;
    using Newest = std::shared_ptr<const std::atomic<std::uint64_t>>;
    Generation(Newest newest, std::uint64_t number)
        : m_newest(std::move(newest)), m_number(number) {}

    Newest m_newest;
    std::uint64_t m_number = 0;
};

class Generations {
public:
    /// Stamps a new request and supersedes those before it.
    [[nodiscard]] Generation next() { return {m_newest, m_newest->fetch_add(1) + 1}; }
    /// Supersedes them without a new one.
    void supersede() { m_newest->fetch_add(1); }

private:
    std::shared_ptr<std::atomic<std::uint64_t>> m_newest =
        std::make_shared<std::atomic<std::uint64_t>>(0);
};

}  // namespace shardscope::storage
