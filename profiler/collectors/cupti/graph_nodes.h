// Which launch context each node of a CUDA graph was captured in.
//
// A replay launches the whole graph under one correlation id, long after the operators that
// were captured; the node's id in a kernel's record leads back to them. Of too many nodes the
// oldest are forgotten: graphs that were captured anew. Any thread.
#pragma once

#include "profiler/capture/device_annotation.h"
#include "storage/model/mutex.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

namespace shardscope::collectors::cupti {

// A map that forgets its oldest keys: a lost record must not hold memory for ever. One thread.

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

struct CapturedLaunch {
    capture::LaunchContext context;
    std::uint64_t ncclLaunch = 0;  ///< 0: none
    friend bool operator==(const CapturedLaunch&, const CapturedLaunch&) = default;
};

class GraphNodes {
public:
    static constexpr std::size_t kMostNodes = std::size_t{1} << 18;

    void add(std::uint64_t node, const CapturedLaunch& launch);
    /// Instantiating a graph gives its nodes new ids.
    void clone(std::uint64_t original, std::uint64_t node);
    [[nodiscard]] std::optional<CapturedLaunch> find(std::uint64_t node) const;

private:
    mutable Mutex m_mutex;
    BoundedMap<std::uint64_t, CapturedLaunch> m_launches SHARDSCOPE_GUARDED_BY(m_mutex){kMostNodes};
};

}  // namespace shardscope::collectors::cupti
