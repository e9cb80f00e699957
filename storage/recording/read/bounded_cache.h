// Keeps the values used last, up to a number of bytes. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <utility>

namespace shardscope::storage {

template <class Value>
class BoundedCache {
public:
    explicit BoundedCache(std::size_t budget) : m_budget(budget) {}

    /// Valid until the next put() or clear().
    [[nodiscard]] const Value* find(std::int64_t id) {
        const auto at = m_index.find(id);
        if (at == m_index.end()) return nullptr;
        m_items.splice(m_items.begin(), m_items, at->second);
        return &m_items.front().value;
    }
    /// `id` must not be there yet.
    const Value& put(std::int64_t id, Value value, std::size_t size) {
        while (!m_items.empty() && m_used + size > m_budget) {
            m_used -= m_items.back().size;
            m_index.erase(m_items.back().id);
            m_items.pop_back();
        }
        m_items.push_front({id, size, std::move(value)});
        m_index[id] = m_items.begin();
        m_used += size;
        return m_items.front().value;
    }
    void clear() {
        m_items.clear();
        m_index.clear();
        m_used = 0;
    }

private:
    struct Item {
        std::int64_t id;
        std::size_t size;
        Value value;
    };
    std::size_t m_budget;
    std::size_t m_used = 0;
    std::list<Item> m_items;  ///< used last first
    std::unordered_map<std::int64_t, typename std::list<Item>::iterator> m_index;
};

}  // namespace shardscope::storage
