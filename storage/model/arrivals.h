// When the ranks of a group came to a collective.
//
// A list never changes, and copies share it: 1,024 ranks that were in the same collective have one
// list between them. Safe to copy between threads.
#pragma once

#include "storage/model/members.h"
#include "storage/model/units.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace shardscope {

class Arrivals {
public:
    using value_type = Timestamp;

    /// Not known.
    Arrivals() = default;
    Arrivals(std::initializer_list<Timestamp> times)  // NOLINT(google-explicit-constructor)
        : Arrivals(times.size(), [&](std::size_t place) { return std::data(times)[place]; }) {}
    explicit Arrivals(const std::vector<Timestamp>& times)
        : Arrivals(times.size(), [&](std::size_t place) { return times[place]; }) {}
    /// `at(place)`: when the rank at that place of the group came.
    template <class At>
    Arrivals(std::size_t size, const At& at) : m_size(static_cast<std::uint32_t>(size)) {
        if (size == 0) return;
        auto times = std::make_unique<Timestamp[]>(size);
        for (std::size_t place = 0; place < size; ++place) times[place] = at(place);
        m_times = std::move(times);
        findLast();
    }
    /// `size` of a block's times from `first` on: lists of many collectives are one piece of
    /// memory, which lives as long as any of them.
    Arrivals(const std::shared_ptr<const Timestamp[]>& block, std::size_t first, std::size_t size)
        : m_times(block, block.get() + first), m_size(static_cast<std::uint32_t>(size)) {
        if (size > 0) findLast();
    }

    [[nodiscard]] std::size_t size() const { return m_size; }
    [[nodiscard]] bool empty() const { return m_size == 0; }
    [[nodiscard]] const Timestamp* begin() const { return m_times.get(); }
    [[nodiscard]] const Timestamp* end() const { return begin() + m_size; }
    [[nodiscard]] const Timestamp& operator[](std::size_t place) const { return begin()[place]; }

    // Of a list that is not empty.

    [[nodiscard]] Timestamp first() const { return *std::min_element(begin(), end()); }
    [[nodiscard]] Timestamp last() const { return m_last; }
    /// Of the last to come; the lowest of several at once.
    [[nodiscard]] std::size_t lastPlace() const { return m_lastPlace; }

    /// The same list, not only an equal one.
    [[nodiscard]] bool sharesWith(const Arrivals& other) const { return m_times == other.m_times; }
    friend bool operator==(const Arrivals& a, const Arrivals& b) {
        return a.sharesWith(b) || std::equal(a.begin(), a.end(), b.begin(), b.end());
    }

private:
    void findLast() {
        const Timestamp* last = std::max_element(begin(), end());
        m_last = *last;
        m_lastPlace = static_cast<std::uint32_t>(last - begin());
    }

    std::shared_ptr<const Timestamp[]> m_times;
    std::uint32_t m_size = 0, m_lastPlace = 0;
    Timestamp m_last;  ///< here: analyses ask for nothing else, and of each collective
};

template <>
inline constexpr bool shapes::kIsOpaque<Arrivals> = true;

}  // namespace shardscope
