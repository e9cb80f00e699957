// A map that forgets its oldest keys: a lost record must not hold memory for ever. One thread.
#pragma once

#include <cstddef>
#include <deque>
#include <unordered_map>

namespace shardscope::collectors::cupti {

template <class Key, class Value>
class BoundedMap {
public:
    explicit BoundedMap(std::size_t capacity) : m_capacity(capacity) {}

    /// Made when absent. Valid until the next call.
    Value& operator[](const Key& key) {
        const auto [at, fresh] = m_values.try_emplace(key);
        if (!fresh) return at->second;
        m_order.push_back(key);
        if (m_order.size() > m_capacity) {
            m_values.erase(m_order.front());
            m_order.pop_front();
        }
        return at->second;
    }

    [[nodiscard]] const Value* find(const Key& key) const {
        const auto found = m_values.find(key);
        return found == m_values.end() ? nullptr : &found->second;
    }

    [[nodiscard]] std::size_t size() const { return m_values.size(); }

private:
    std::size_t m_capacity;
    std::unordered_map<Key, Value> m_values;
    std::deque<Key> m_order;
};

}  // namespace shardscope::collectors::cupti
