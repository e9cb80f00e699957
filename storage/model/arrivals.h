// When the ranks of a group came to a collective.
//
// A list never changes, and copies share it: 1,024 ranks that were in the same collective have one
// list between them. Safe to copy between threads.
#pragma once

#include "storage/model/units.h"

#include <algorithm>
#include <cstddef>
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
    Arrivals(std::size_t size, const At& at) : m_size(size) {
        if (size == 0) return;
        auto shared = std::make_shared<Shared>();
        shared->times = std::make_unique<Timestamp[]>(size);
        for (std::size_t place = 0; place < size; ++place) {
            shared->times[place] = at(place);
            if (shared->times[place] < shared->times[shared->first]) shared->first = place;
            if (shared->times[place] > shared->times[shared->last]) shared->last = place;
        }
        m_shared = std::move(shared);
    }

    [[nodiscard]] std::size_t size() const { return m_size; }
    [[nodiscard]] bool empty() const { return m_size == 0; }
    [[nodiscard]] const Timestamp* begin() const {
        return m_shared ? m_shared->times.get() : nullptr;
    }
    [[nodiscard]] const Timestamp* end() const { return begin() + m_size; }
    [[nodiscard]] const Timestamp& operator[](std::size_t place) const { return begin()[place]; }

    // Of a list that is not empty.

    [[nodiscard]] Timestamp first() const { return begin()[m_shared->first]; }
    [[nodiscard]] Timestamp last() const { return begin()[m_shared->last]; }
    /// Of the last to come; the lowest of several at once.
    [[nodiscard]] std::size_t lastPlace() const { return m_shared->last; }

    /// The same list, not only an equal one.
    [[nodiscard]] bool sharesWith(const Arrivals& other) const {
        return m_shared == other.m_shared;
    }
    friend bool operator==(const Arrivals& a, const Arrivals& b) {
        return a.sharesWith(b) || std::equal(a.begin(), a.end(), b.begin(), b.end());
    }

private:
    struct Shared {
        std::unique_ptr<Timestamp[]> times;
        std::size_t first = 0, last = 0;  ///< places
    };
    std::shared_ptr<const Shared> m_shared;
    std::size_t m_size = 0;
};

}  // namespace shardscope
