// Rows that copies share until one of them is changed.
// Of a long run there are hundreds of thousands of steps, which the window, its report and its
// comparisons all keep.
//
// Reading is that of a const std::vector. Copies may be used by different threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace shardscope {

template <class T>
class SharedRows {
public:
    using value_type = T;
    using const_iterator = const T*;

    SharedRows() = default;
    SharedRows(std::vector<T> rows)  // NOLINT(google-explicit-constructor)
        : m_rows(std::make_shared<std::vector<T>>(std::move(rows))) {}
    SharedRows(std::initializer_list<T> rows) : SharedRows(std::vector<T>(rows)) {}

    [[nodiscard]] const std::vector<T>& all() const {
        static const std::vector<T> none;
        return m_rows ? *m_rows : none;
    }
    operator const std::vector<T>&() const { return all(); }  // NOLINT(google-explicit-constructor)
    [[nodiscard]] std::size_t size() const { return all().size(); }
    [[nodiscard]] bool empty() const { return all().empty(); }
    [[nodiscard]] const T* data() const { return all().data(); }
    [[nodiscard]] const T* begin() const { return data(); }
    [[nodiscard]] const T* end() const { return data() + size(); }
    [[nodiscard]] const T& operator[](std::size_t place) const { return all()[place]; }
    [[nodiscard]] const T& at(std::size_t place) const { return all().at(place); }
    [[nodiscard]] const T& front() const { return all().front(); }
    [[nodiscard]] const T& back() const { return all().back(); }

    /// To be changed: rows of its own.
    [[nodiscard]] std::vector<T>& own() {
        if (!m_rows) {
            m_rows = std::make_shared<std::vector<T>>();
        } else if (m_rows.use_count() > 1) {
            m_rows = std::make_shared<std::vector<T>>(*m_rows);
        } else {
            // What another thread read through its copy, it read before it gave that up.
            std::atomic_thread_fence(std::memory_order_acquire);
        }
        return *m_rows;
    }
    [[nodiscard]] T* data() { return own().data(); }
    void push_back(T row) { own().push_back(std::move(row)); }
    T& emplace_back() { return own().emplace_back(); }
    void clear() { m_rows.reset(); }
    /// Stays shared where there is none of those.
    template <class Which>
    void eraseIf(const Which& which) {
        if (std::any_of(begin(), end(), which)) std::erase_if(own(), which);
    }
    void resize(std::size_t count) { own().resize(count); }

    [[nodiscard]] bool sharesWith(const SharedRows& other) const { return m_rows == other.m_rows; }
    friend bool operator==(const SharedRows& a, const SharedRows& b) { return a.all() == b.all(); }

private:
    std::shared_ptr<std::vector<T>> m_rows;
};

}  // namespace shardscope
